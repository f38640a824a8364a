"""A ball that slides, rolls and spins under its weight, and a block on four corners, against closed forms."""

import pytest

from tests.helpers import approx
from tests.hoppers import follow, state
from tests.more.test_hopper_rolling import G, block


@pytest.mark.parametrize("law", ["each point", "effective point"])
def test_a_sliding_block_stops(law):
    """x = v₀²/(2 μ g)."""
    model, height = block(0.3, law=law)
    last = follow(model, state((0, 0, height), (1.0, 0, 0)), 0.5).last.body
    assert last.position[0] == approx(1 / (2 * 0.3 * G), rel=5e-3)
    assert abs(last.velocity[0]) < 1e-3
