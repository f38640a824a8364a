"""The fast field against the exact field that it was fitted to, and what makes it safe for long runs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.gravity import Gridded, Polyhedron, error_map
from difsim.gravity.sampling import field_at, sample_above_surface
from difsim.mesh import load, surface_points
from difsim.units import G
from tests.helpers import check_finite, check_gradients, directions, find_published
from tests.more.test_gridded import AXES, BODY, CENTRE, SEMI_AXES, SPACING, mesh


@pytest.fixture(scope="module")
def fast():
    return Gridded.fit(BODY, mesh(), SPACING)


def ellipsoid_points(n):
    return directions(n) * SEMI_AXES @ AXES + CENTRE


def test_derivatives(fast):
    """Near, in the blend and far; U by the place, and g by the place."""
    d = directions(3) * np.array([[1.0], [1.42], [4.0]])
    x = jnp.asarray(CENTRE + d)
    check_gradients(jax.vmap(fast.potential), x, step=1e-5, rtol=1e-6, unit=1.0)
    check_gradients(jax.vmap(fast.acceleration), x, step=1e-5, rtol=1e-5, unit=1.0)


def test_batches_equal_single_points(fast):
    """All near, all far, in blocks of each kind; and a last block that is not full."""
    draw = np.random.default_rng(1).uniform
    near, far, mixed = draw(0.5, 1.2, 300), draw(1.6, 9.0, 300), draw(0.5, 9.0, 300)
    for r in (near, far, np.concatenate([near[:256], far[:256], mixed]), draw(1.3, 1.6, 3)):
        x = jnp.asarray(CENTRE + r[:, None] * directions(len(r)))
        U, g = jax.jit(lambda field, x: field.evaluate(x))(fast, x)
        one, by_one = jax.jit(jax.vmap(jax.value_and_grad(fast.potential)))(x)
        np.testing.assert_allclose(U, one, rtol=1e-13)
        np.testing.assert_allclose(g, by_one, atol=1e-12)


def test_inside_it_is_finite_and_near(fast):
    x = np.concatenate([CENTRE[None], CENTRE + 0.6 * (ellipsoid_points(50) - CENTRE)])
    check_finite(jax.vmap(fast.potential), jnp.asarray(x))
    check_finite(jax.vmap(fast.acceleration), jnp.asarray(x))
    U, U0 = field_at(fast, x)[0], field_at(BODY, x)[0]
    np.testing.assert_allclose(U, U0, rtol=0.01)


@pytest.fixture(scope="module")
def comet():
    """67P, its polyhedron, and the fast field on a table of 100 m."""
    shape = load(find_published("67P/67p_shap5_cheops_2000f.obj"), "km")
    exact = Polyhedron(shape, 666.2 / G / shape.volume)
    return shape, exact, Gridded.fit(exact, shape, 100.0)


def test_67p_above_the_surface(comet):
    shape, exact, fast = comet
    assert error_map(fast, exact, sample_above_surface(shape, 2000, 500.0, seed=9))["worst"] < 1e-4
    assert error_map(fast, exact, np.asarray(shape.centroid) + 5300.0 * directions(500))["worst"] < 1e-5


def test_67p_at_the_surface(comet):
    """The goal of 0.2 % rms and 1 % worst, on 40 m (measured 0.15 and 0.77 %; on 50 m 0.21 and 1.2 %)."""
    shape, exact, _ = comet
    fast = Gridded.fit(exact, shape, 40.0)
    surface = error_map(fast, exact, surface_points(shape, 2000, seed=9).points)
    assert surface["rms"] < 2e-3 and surface["worst"] < 1e-2
