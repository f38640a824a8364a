"""A ball that slides, rolls and spins under its weight, and a block on four corners, against closed forms."""

import numpy as np
import pytest

from tests.helpers import approx
from tests.hoppers import EDGE, MASS, cube, follow, friction_law, normal, state, static_depth

G = 9.81


def block(friction, tangent=0.0, law="effective point", sticking=None, pull_off=0.0):
    theta = np.arctan(tangent)
    gravity = G * np.array([np.sin(theta), 0.0, -np.cos(theta)])
    model = cube(
        normal("linear clipped", 0.3, 1e-5, MASS / 4),
        friction_law(law, friction, 1e-3, sticking=sticking),
        gravity=gravity,
        pull_off=pull_off,
    )
    return model, EDGE / 2 - static_depth(MASS * G * np.cos(theta) + 4 * pull_off, 4)


@pytest.mark.parametrize("law", ["each point", "effective point"])
def test_a_sliding_block_stops(law):
    """x = v₀²/(2 μ g)."""
    model, height = block(0.3, law=law)
    last = follow(model, state((0, 0, height), (1.0, 0, 0)), 0.5).last.body
    assert last.position[0] == approx(1 / (2 * 0.3 * G), rel=5e-3)
    assert abs(last.velocity[0]) < 1e-3
