"""Impulses at one point: closed forms of balls, energy in any impact, slip that reverses, what holds a point."""

import jax.numpy as jnp
import pytest

from difsim.contact import Newton, Stronge
from tests.core.test_impact import BALL, ROD, UP
from tests.helpers import check_gradients

SLIDES, STICKS = (BALL, [4.0, 0.5, -2.0], 0.3), (BALL, [1.0, 0.5, -2.0], 0.3)

REVERSES = (ROD, [0.6, 0.0, -1.0], 0.35)


@pytest.mark.parametrize(
    "Law, W, u, μ",
    [
        pytest.param(Stronge, *REVERSES, id="Stronge, reverses"),
        pytest.param(Newton, *SLIDES, id="Newton, slides"),
        pytest.param(Newton, *STICKS, id="Newton, sticks"),
        pytest.param(Newton, *REVERSES, id="Newton, reverses"),
        pytest.param(Stronge, *SLIDES, id="Stronge, slides"),
        pytest.param(Stronge, *STICKS, id="Stronge, sticks"),
    ],
)
def test_derivatives_of_an_impact(Law, W, u, μ):
    def end_velocity(law, u):
        return u + W @ law.impulse(jnp.asarray(W), jnp.asarray(UP), u).total

    # Along y the rod's slip is at rest and its path has a kink in y: only x and z.
    def in_plane(law, u):
        return end_velocity(law, jnp.array([1.0, 0.0, 0.0]) * u[0] + jnp.asarray(UP) * u[1])

    if W is ROD:
        check_gradients(in_plane, Law(0.7, μ, 0), jnp.array(u)[::2], rtol=1e-6)
    else:
        check_gradients(end_velocity, Law(0.7, μ, 0), jnp.array(u), rtol=1e-6)
