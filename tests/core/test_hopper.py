"""Hoppers: impacts against closed forms, energies, grounds, derivatives, what is refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact import AtEachPoint, RegularisedCoulomb
from tests.hoppers import (
    IMPACT,
    MASS,
    RADIUS,
    STIFFNESS,
    account,
    ball,
    follow,
    friction_law,
    normal,
    state,
)

G = 9.81

SMOOTH = AtEachPoint(RegularisedCoulomb(0.0, 1e-3))


def elastic_depth(name, speed):
    """The depth at which a law without damping stops the ball."""
    p = 1.0 if name.startswith("linear") else 1.5
    return ((p + 1) * MASS * speed**2 / (2 * STIFFNESS)) ** (1 / (p + 1))


def realised_restitution(name, e, width=0.0, speed=IMPACT):
    """Restitution of an impact in free flight, `width` in units of the undamped depth; and its solution."""
    depth = elastic_depth(name, speed)
    height = 0.01 + 21 * width * depth
    model = ball(normal(name, e, width * depth), SMOOTH)
    end = (2 * height / e + 20 * depth / e) / speed
    solution = follow(model, state((0.0, 0.0, RADIUS + height), (0.0, 0.0, -speed)), end)
    return float(solution.last.body.velocity[2]) / speed, solution


@pytest.mark.parametrize("name", ["power 1.5 clipped", "hunt-crossley"])
def test_a_free_impact_realises_the_restitution_of_the_law(name):
    for e in (0.3, 0.6, 0.9):
        got, solution = realised_restitution(name, e)
        assert got == pytest.approx(e, abs=1e-5)
        total, parts = account(solution)
        np.testing.assert_allclose(total, total[0], rtol=5e-5)  # at 1e-9: steps across a force that jumps
        assert parts["damping"][-1] == pytest.approx(0.5 * MASS * 0.1**2 * (1 - got**2), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "deviations"),
    [
        ("linear clipped", [(0.01, 2.2e-3), (0.03, 6.5e-3), (0.1, 2.6e-2)]),
        ("linear compressive", [(0.01, 4.9e-3), (0.03, 1.46e-2), (0.1, 4.8e-2)]),
        ("power 1.5 clipped", [(0.01, 0.8e-3), (0.03, 3.1e-3), (0.1, 1.54e-2)]),
    ],
)
def test_smooth_onset_raises_the_restitution_as_predicted(name, deviations):
    for width, deviation in deviations:
        got, solution = realised_restitution(name, 0.6, width)
        assert got - 0.6 == pytest.approx(deviation, rel=0.05)
        total, _ = account(solution)
        np.testing.assert_allclose(total, total[0], rtol=5e-6)


def test_springs_far_from_the_ground_have_finite_derivatives():
    """There a smoothed force is 1e-300 N: the derivative of what is divided by it would be 0 times infinity."""
    model, width = ball(normal("power 1.5 clipped", 0.6, 1e-3), friction_law("spring", 0.4)), 1e-3

    def derivative(height):
        moving = model.start(state((0.0, 0.0, 0.0), (0.1, 0.0, -0.1), (0.3, 0.0, 0.0)))
        moving = eqx.tree_at(lambda s: s.body.position, moving, jnp.stack([0.0, 0.0, RADIUS + height]))
        return jax.jacfwd(lambda s: model.rates(0.0, s)[0])(moving)

    found = jax.jit(lambda heights: jax.lax.map(derivative, heights))(width * jnp.linspace(100.0, 800.0, 1401))
    assert all(jnp.isfinite(x).all() for x in jax.tree.leaves(found))
