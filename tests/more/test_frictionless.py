"""Points on frictionless ground: slips that nothing stops, as values and as derivatives, and friction's limit of 0."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from difsim import Status, simulate
from difsim.dynamics import Bouncer, PointState
from difsim.dynamics.hard import Phase
from difsim.gravity import Uniform
from difsim.shape import Complement, Sphere
from tests.helpers import approx
from tests.ways import impacts

DOWN = Uniform((0.0, 0.0, -1.0))


def pendulum(angle, time):
    """The angle of a pendulum of length 1 under g = 1 that starts at rest."""
    way = {"rtol": 1e-12, "atol": 1e-12}
    return solve_ivp(lambda _, y: [y[1], -np.sin(y[0])], (0, time), [angle, 0.0], "DOP853", **way).y[0, -1]


def test_a_bead_in_a_bowl_is_a_pendulum():
    """A frictionless bowl of 1 m: also at rest at its bottom, where the derivative is that of small oscillations."""
    bowl = Bouncer(DOWN, Complement(Sphere((0.0, 0.0, 1.0), 1.0)), 0.5)

    @jax.jit
    def swings(angle, time):
        def angle_then(angle):
            start = PointState(jnp.stack([jnp.sin(angle), 0.0 * angle, 1 - jnp.cos(angle)]))
            solution = simulate(bowl, start, jnp.stack([0.0 * time, time]), **impacts(5), throw=False)
            x = solution.last.position
            return jnp.arctan2(x[0], 1 - x[2]), (x, solution)

        return jax.jacfwd(angle_then, has_aux=True)(angle)

    for angle in (0.0, 1.0):
        by_angle, (x, solution) = swings(jnp.array(angle), jnp.array(20.0))
        step = 1e-4
        expected = (pendulum(angle + step, 20.0) - pendulum(angle - step, 20.0)) / (2 * step)
        assert solution.status == Status.OK and solution.last.phase == Phase.SLIDING
        assert np.arctan2(x[0], 1 - x[2]) == approx(pendulum(angle, 20.0), abs=1e-7)
        assert by_angle == approx(expected, abs=2e-6)
