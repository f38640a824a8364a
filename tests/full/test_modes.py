"""Derivatives in a mode that a run has are right, of second order too; those that it has not are refused by name."""

import jax
import jax.numpy as jnp

from difsim import FixedSteps, Unrolled
from tests.helpers import approx
from tests.more.test_modes import END, ONE, E, G, height_after_a_bounce, slide


def test_second_derivative_through_an_impact_closed_form():
    def closed_form(release):
        fall, speed = jnp.sqrt(2 * release / G), jnp.sqrt(2 * G * release)
        return E * speed * (END - fall) - G / 2 * (END - fall) ** 2

    found, right = (jax.jit(jax.jacfwd(jax.jacfwd(f)))(ONE) for f in (height_after_a_bounce, closed_form))
    assert found == approx(right, rel=1e-8) and right == approx(-1.28)


def test_unrolled_grains_have_two_derivatives_in_both_modes():
    """Two grains that slide: the way is a smooth function of the gravity, and differences of it are the measure."""
    way = {"solver": FixedSteps(200), "derivative": Unrolled()}
    moved = jax.jit(lambda x: slide(0.1, x, **way))
    h = 1e-3
    first, second = (moved(1 + h) - moved(1 - h)) / (2 * h), (moved(1 + h) - 2 * moved(1.0) + moved(1 - h)) / h**2
    for derivative in (jax.jacfwd, jax.grad):
        assert jax.jit(derivative(moved))(ONE) == approx(float(first), rel=1e-4)
    for derivative in (jax.hessian, lambda f: jax.jacfwd(jax.jacfwd(f))):
        assert jax.jit(derivative(moved))(ONE) == approx(float(second), rel=1e-2, abs=1e-6)
