"""Two balls that fly, meet head on at a known time, and fly on: a motion with derivatives that costs nothing."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim.body import RigidBody, Stone
from difsim.dynamics import PairState
from difsim.shape import Sphere
from experiments.cobbles.arcs import coast, to_state, to_vector
from experiments.cobbles.paper import FRICTION, INERTIA, MASS, RESTITUTION
from experiments.cobbles.scene import release
from experiments.cobbles.through import Sensitivity

RADIUS, TOUCH = 0.05, 0.8  # m, s


def ball() -> Stone:
    return Stone(RigidBody(MASS, np.diag(INERTIA)), RADIUS * np.eye(3), Sphere(np.zeros(3), RADIUS))


def theta():
    """The paper's release at 60°, with spins."""
    state = release(60.0)
    x = np.concatenate([to_vector(state.first), to_vector(state.second), [RESTITUTION, FRICTION]])
    x[9:12], x[21:24] = (0.3, -0.5, 0.8), (-0.4, 0.2, 0.6)
    return jnp.asarray(x)


def fly(x, times):
    """States at `times`, and some CoR_E: at TOUCH the velocities along x become -e times what they were."""
    first, second = (coast(ball().body, to_state(s), times) for s in (x[:12], x[12:24]))
    closing = 0.5 * (x[3] - x[15])
    kick = (1 + x[24]) * closing * jnp.maximum(times - TOUCH, 0.0)[:, None] * jnp.array([[1.0, 0.0, 0.0]])
    moved = lambda path, way: type(path)(path.position + way, path.velocity, path.attitude, path.spin)  # noqa: E731
    return PairState(moved(first, -kick), moved(second, kick)), x[24] ** 2


def motion_sensitivity(x, times) -> Sensitivity:
    """The motion and its derivatives."""
    by_theta, by_ratio = jax.tree.map(lambda d: jnp.moveaxis(d, -1, 0), jax.jacfwd(lambda x: fly(x, times))(x))
    return Sensitivity(*(fly(x, times)[0], by_theta, x[24] ** 2, by_ratio), jnp.array(TOUCH), jnp.array(1))
