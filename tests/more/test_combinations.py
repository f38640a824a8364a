"""The table of what can be run with what: every combination runs, or is refused with what can be run."""

import jax.numpy as jnp
import numpy as np

from difsim import Adaptive, MaxImpacts, simulate
from tests.core.test_combinations import bouncer


def test_a_bouncer_flies_with_steps_of_order_5_too():
    """By default they are of order 8. After two bounces of restitution 0.6 it is where the closed form says."""
    model, state = bouncer()
    solver, end = Adaptive(1e-10, 1e-10, order=5), 0.6
    found = simulate(model, state, jnp.array([0.0, end]), solver=solver, until=MaxImpacts(3)).last.position
    fall = np.sqrt(2 * 0.3 / 9.81)
    since, speed = end - fall * (1 + 2 * 0.6), 0.6**2 * 9.81 * fall
    np.testing.assert_allclose(found, [0.0, 0.0, speed * since - 9.81 * since**2 / 2], atol=1e-8)
