"""Impulses at one point: closed forms of balls, energy in any impact, slip that reverses, what holds a point."""

import jax
import jax.numpy as jnp
import pytest

from difsim.contact import Newton, Stronge
from tests.core.test_impact import BALL, UP
from tests.helpers import approx


@pytest.mark.parametrize("μ", [0.0, 0.3])
@pytest.mark.parametrize("Law", [Newton, Stronge])
def test_a_plastic_impact_has_its_derivative_by_restitution(Law, μ):
    """At e = 0 the energetic law has the root of an energy: the speed of rebound is e times that of approach."""
    W, n, u = jnp.asarray(BALL), jnp.asarray(UP), jnp.array([1.0, 0.5, -2.0])

    def rebound(e):
        return n @ W @ Law(e, μ, 0).impulse(W, n, u).total

    e = jnp.zeros(())
    assert rebound(e) == approx(2.0, rel=1e-12)
    assert jax.jacfwd(rebound)(e) == approx(2.0, rel=1e-12) and jax.jacrev(rebound)(e) == approx(2.0, rel=1e-12)
