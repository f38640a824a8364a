"""A ball that slides, rolls and spins under its weight, and a block on four corners, against closed forms."""

import jax
import numpy as np
import pytest

from tests.helpers import approx
from tests.hoppers import (
    EDGE,
    MASS,
    RADIUS,
    account,
    ball,
    cube,
    follow,
    friction_law,
    normal,
    state,
    static_depth,
)

G = 9.81


def rolling_ball(friction, law="each point"):
    """A ball at rest in its static depth, on a plane."""
    model = ball(normal("linear clipped", 0.5), friction_law(law, friction, 1e-3), gravity=(0.0, 0.0, -G))
    return model, RADIUS - static_depth(MASS * G)


@pytest.mark.parametrize("law", ["each point", "effective point", "spring"])
def test_slip_to_roll(law):
    """v = 5/7 v₀ from t = 2 v₀/(7 μ g) on, reached at x = 12 v₀²/(49 μ g)."""
    v0, mu = 1.0, 0.2
    model, height = rolling_ball(mu, law=law)
    t = 2 * v0 / (7 * mu * G)
    solution = follow(model, state((0, 0, height), (v0, 0, 0)), 2 * t)
    at_roll, last = jax.tree.map(lambda x: x[2], solution.states).body, solution.last.body
    assert at_roll.position[0] == approx(12 * v0**2 / (49 * mu * G), rel=5e-3)
    assert at_roll.velocity[0] == approx(5 / 7 * v0, rel=1e-2)
    # A spring swings for ever after (its energy has nowhere to go); the mean is right.
    assert last.velocity[0] == approx(5 / 7 * v0, rel=1e-2 if law == "spring" else 1e-4)
    total, _ = account(solution)
    np.testing.assert_allclose(total, total[0], atol=1e-6)


def test_a_start_with_the_centre_in_the_ground_is_a_status():
    model, _ = rolling_ball(0.2)
    with pytest.raises(RuntimeError, match="INSIDE"):
        follow(model, state((0, 0, -0.01), (1.0, 0, 0)), 1.0)


def block(friction, tangent=0.0, law="effective point", pull_off=0.0):
    theta = np.arctan(tangent)
    gravity = G * np.array([np.sin(theta), 0.0, -np.cos(theta)])
    model = cube(
        normal("linear clipped", 0.3, 1e-5, MASS / 4),
        friction_law(law, friction, 1e-3),
        gravity=gravity,
        pull_off=pull_off,
    )
    return model, EDGE / 2 - static_depth(MASS * G * np.cos(theta) + 4 * pull_off, 4)


@pytest.mark.parametrize("law", ["each point", "effective point", "spring"])
def test_block_sticks_on_gentle_slopes_and_slides_on_steep_ones(law):
    """Below atan μ it drifts at less than the regularisation speed; the cap of sticking lets it go above."""
    model, height = block(0.4, 0.25, law)
    assert abs(follow(model, state((0, 0, height)), 0.5).last.body.velocity[0]) < (
        1e-2 if law == "spring" else 1e-3
    )
    tangent = 0.6
    model, height = block(0.4, tangent, law)
    theta = np.arctan(tangent)
    last = follow(model, state((0, 0, height)), 0.5).last.body
    assert last.velocity[0] == approx(0.5 * G * (np.sin(theta) - 0.4 * np.cos(theta)), rel=2e-2)


def test_cohesion_holds_a_block_on_a_steep_slope():
    """It sticks while sin θ < μ (cos θ + n F_c/(m g))."""
    tangent, mu = 0.6, 0.4
    needed = MASS * G * (np.sin(np.arctan(tangent)) / mu - np.cos(np.arctan(tangent))) / 4
    for share, sticks in ((0.8, False), (1.3, True)):
        model, height = block(mu, tangent, pull_off=share * needed)
        speed = abs(follow(model, state((0, 0, height)), 0.5).last.body.velocity[0])
        assert (speed < 1e-3) == sticks


@pytest.mark.parametrize("law", ["each point", "effective point"])
def test_a_sliding_block_stops(law):
    """x = v₀²/(2 μ g)."""
    model, height = block(0.3, law=law)
    last = follow(model, state((0, 0, height), (1.0, 0, 0)), 0.5).last.body
    assert last.position[0] == approx(1 / (2 * 0.3 * G), rel=5e-3)
    assert abs(last.velocity[0]) < 1e-3
