"""One wrench from many points: sums, potentials, what acts when, friction over points and its memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact import (
    MindlinSpring,
    TangentialSpring,
)
from tests.core.test_surface_contact import SPRINGS, cycle, spring_point
from tests.helpers import approx, check_finite


@pytest.mark.parametrize("law", SPRINGS, ids=["constant", "Mindlin"])
@pytest.mark.parametrize("lag", [0.0, 1.0, 2.5, 4.0])
def test_closed_loops_of_load_and_slip_lose(law, lag):
    """Loops of depth and slip, in and out of phase: a total-form spring gains in half of them."""
    phase = jnp.linspace(0.0, 4 * jnp.pi, 16001)
    depths = 3e-3 + 1.5e-3 * jnp.sin(phase + lag)
    slips = 2e-4 * jnp.sin(phase)
    _, _, work, advanced = cycle(law, depths, slips)
    assert work > -1e-9
    if isinstance(law, MindlinSpring):
        assert work > 1e-5 and work == approx(advanced, rel=0.2)


@pytest.mark.parametrize("law", SPRINGS, ids=["constant", "Mindlin"])
def test_springs_have_derivatives_at_touch_and_at_rest(law):
    heights = jnp.array([0.0, -1e-3, -1e-3])
    velocities = jnp.array([[0.0, 0, 0], [0.0, 0, 0], [0.1, 0, 0]])
    stretches = jnp.array([[0.0, 0, 0], [0.0, 0, 0], [1e-4, 0, 0]])

    def all_of(*state):
        found = jax.vmap(spring_point(law))(*state)
        return found.force, found.memory_rate

    slopes = check_finite(all_of, heights, velocities, stretches)
    if isinstance(law, TangentialSpring):
        # Not stretched yet, it resists the first stretch with its whole stiffness.
        np.testing.assert_allclose(slopes[3, 3 + 9 + 3], 5e4, rtol=1e-12)
