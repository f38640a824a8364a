"""Boxes that collide, a bullet that meets a thin layer, and a free body with a wheel: what tests of models share."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import safe, simulate
from difsim.body import Flywheel, RigidBody, RigidState, Stone
from difsim.contact import Newton
from difsim.declarations import quantity
from difsim.dynamics import AbstractModel, Approach, HardPair, Pair, PairState, PointState
from difsim.mesh import box
from difsim.rotation import Rotation
from difsim.shape import Box
from difsim.typing import Scalar

SIDE = 0.1  # m
TIMES = np.linspace(0.0, 1.0, 11)  # s


def stone(side=SIDE) -> Stone:
    """A cube of 1 kg."""
    return Stone.from_mesh(box((side,) * 3), mass=1.0, shape=Box((side / 2,) * 3))


def boxes(restitution=0.6, friction=0.0) -> Pair:
    """Two cubes. Frictionless or not, along one line or not: the same shapes, and so one compilation."""
    return Pair(stone(), stone(), HardPair(Newton(restitution, friction, turns=0)))


def turn_by(*axis_angle) -> jax.Array:
    return Rotation.from_rotation_vector(jnp.array(axis_angle, float))


def ridge(along) -> jax.Array:
    """The attitude of a box with an edge on top, parallel to x or y."""
    return turn_by(np.pi / 4, 0, 0) if along == "x" else turn_by(0, np.pi / 4, 0)


def body(position, velocity, attitude=(1.0, 0, 0, 0), spin=(0.0, 0, 0)) -> RigidState:
    return RigidState(position, velocity, attitude, spin)


def cross_boxes(height=0.3, speed=1.0, aside=(0.003, 0.004)) -> PairState:
    """The lower edge of the second box comes down across the upper edge of the first, far from all corners."""
    return PairState(
        body((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), ridge("x")),
        body((*aside, height), (0.0, 0.0, -speed), ridge("y")),
    )


class Bullet(AbstractModel):
    """A unit mass on a line that meets a thin elastic layer, or a spring that ends nowhere: both smooth."""

    stiffness: Scalar = quantity("", "a number of a toy")
    layer: Scalar = quantity("", "a number of a toy", default=1e-3)
    gravity: Scalar = quantity("", "a number of a toy", default=0.0)

    def _push(self, z):
        # A bump over the layer -δ < z < δ: a particle that stepped over it would feel nothing afterwards.
        return self.stiffness * self.layer * jnp.exp(-0.5 * (z / self.layer) ** 2)

    def vector_field(self, t, state):
        return PointState(
            position=state.velocity,
            velocity=jnp.array([0.0, 0.0, 1.0]) * (self._push(state.position[2]) - self.gravity),
        )

    def approach(self, t, state):
        speed = safe.norm(state.velocity)
        return Approach(
            gap=jnp.abs(state.position[2]) - 6 * self.layer,
            speed=speed,
            resolution=0.1 * self.layer,
            acceleration=self.gravity,
        )

    def energy(self, t, state):
        z, w = state.position[2], self.layer
        bump = self.stiffness * w**2 * np.sqrt(np.pi / 2) * jax.scipy.special.erfc(z / w / np.sqrt(2))
        return {"kinetic": 0.5 * state.velocity @ state.velocity, "potential": bump + self.gravity * z}


def rebound(p, method):
    """A ball thrown on a soft floor, twice: velocity and position at the end."""
    model = Bullet(p[0], 0.05, gravity=p[1])
    start = PointState(jnp.stack([0.0 * p[2], 0.0 * p[2], p[2]]))
    solution = simulate(model, start, jnp.array([0.0, 0.4, 0.8]), **method, throw=False)
    return jnp.stack([solution.states.position[-1, 2], solution.states.velocity[-1, 2]]), solution.status


P = jnp.array([6e3, 9.81, 0.6])


class FreeBody(AbstractModel):
    """A body with a wheel inside, far from everything."""

    body: RigidBody
    wheel: Flywheel
    force: jax.Array = quantity("", "a number of a toy", default=(0.0, 0.0, 0.0))

    def vector_field(self, t, state):
        return self.body.derivative(state, self.force, self.wheel.torque(t), self.wheel.momentum_at(t))

    def approach(self, t, state):
        return Approach(gap=jnp.array(jnp.inf), speed=jnp.array(1.0), resolution=jnp.array(1.0))

    def angular_momentum(self, t, state):
        spin = self.body.inertia @ state.spin + self.wheel.momentum_at(t)
        return state.rotation @ spin


def at(spin, velocity=(0.0, 0.0, 0.0)) -> RigidState:
    return RigidState((0.0, 0.0, 0.0), velocity, (1.0, 0.0, 0.0, 0.0), spin)


def free(inertia, momentum=0.0, rundown=1.0, mass=1.0) -> FreeBody:
    return FreeBody(RigidBody(mass, jnp.diag(jnp.array(inertia))), Flywheel(momentum, rundown))
