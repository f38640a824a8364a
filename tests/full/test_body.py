"""The rigid body against closed forms, the gear and the flywheel by hand."""

import jax
import jax.numpy as jnp

from difsim import simulate
from tests.bodies import at, free
from tests.helpers import approx


def test_the_rundown_time_has_the_right_derivative():
    """After the run-down the spin does not know how long it took: the jump of the torque must not be lost."""

    def spin(rundown, t):
        model = free((21.6, 21.6, 31.7), 5.17, rundown, 96.3)
        return simulate(model, at((0.0, 0.0, 0.1)), jnp.array([0.0, t])).states.spin[-1, 2]

    assert abs(float(jax.jacfwd(spin)(jnp.array(2.0), 3.0))) < 1e-6
    during = jax.jacfwd(spin)(jnp.array(2.0), 1.0)
    assert during == approx(-5.17 * 1.0 / 2.0**2 / 31.7, rel=1e-6)
