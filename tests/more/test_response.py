"""Response surfaces: exact for polynomials, an honest error where a model scatters, bad points refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from inversion import response_surface

rng = np.random.default_rng(0)
POINTS = jnp.asarray(rng.uniform([1.0, -2.0, 1e6], [2.0, 3.0, 5e6], (120, 3)))


def quadratic(x):
    a, b, c = x[0], x[1], x[2] * 1e-6
    return jnp.stack([1 + 2 * a - b + 0.3 * a * b + 0.2 * c**2 - 0.1 * b * c, c - a**2])


def test_a_quadratic_is_found_with_its_derivatives():
    surface = response_surface(POINTS, jax.vmap(quadratic)(POINTS))
    at = jnp.array([1.3, 0.4, 2e6])
    np.testing.assert_allclose(surface(at), quadratic(at), rtol=1e-11)
    np.testing.assert_allclose(jax.jacfwd(surface)(at), jax.jacfwd(quadratic)(at), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(jax.jacrev(surface)(at), jax.jacfwd(quadratic)(at), rtol=1e-9, atol=1e-14)
    assert np.all(surface.error < 1e-10) and bool(surface.is_inside(at))
    assert not surface.is_inside(jnp.array([1.3, 0.4, 6e6]))


def test_the_error_is_that_of_a_new_point():
    values = jax.vmap(quadratic)(POINTS) + jnp.asarray(rng.normal(0, [0.1, 0.5], (120, 2)))
    surface = response_surface(POINTS, values.at[7, 1].set(jnp.nan))
    assert not surface.ok[7] and surface.ok.sum() == 119
    fresh = jnp.asarray(rng.uniform([1.1, -1.5, 1.5e6], [1.9, 2.5, 4.5e6], (2000, 3)))
    off = jax.vmap(surface)(fresh) - jax.vmap(quadratic)(fresh) + rng.normal(0, [0.1, 0.5], (2000, 2))
    np.testing.assert_allclose(surface.error, jnp.sqrt(jnp.mean(off**2, axis=0)), rtol=0.15)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (POINTS[:12], "too few for 10 terms"),
        (POINTS.at[:, 1].set(1.0), "cannot be determined"),
        (jnp.stack([jnp.cos(0.1 * jnp.arange(60.0)), jnp.sin(0.1 * jnp.arange(60.0))], axis=1), "conic section"),
    ],
)
def test_points_that_do_not_tell_are_refused(points, message):
    with pytest.raises(ValueError, match=message):
        response_surface(points, jnp.ones((points.shape[0], 1)))
