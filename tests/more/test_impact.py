"""Impulses at one point: closed forms of balls, energy in any impact, slip that reverses, what holds a point."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact import Newton, Stronge
from tests.helpers import approx

UP = np.array([0.0, 0.0, 1.0])


def response(mass, inertia, arm):
    """1/m - [r]×I⁻¹[r]×."""
    x, y, z = arm
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) / mass - cross @ np.linalg.solve(inertia, cross)


BALL = response(2.0, 0.4 * 2.0 * 0.1**2 * np.eye(3), [0, 0, -0.1])  # 1/m along n, 7/2 of it across


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
