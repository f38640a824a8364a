"""Splines on grids: reproduction, smoothness, derivatives and the matrix for fits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.interpolate

from difsim.spline import GridSpline, design, interpolate
from tests.helpers import check_gradients, rows, to_single

ORIGIN, SPACING = np.array([-1.0, 2.0, 0.5]), np.array([0.3, 0.2, 0.5])

SHAPE = (6, 9, 7)

DEGREES = pytest.mark.parametrize("degree", [2, 3])


def grid():
    axes = [ORIGIN[a] + SPACING[a] * np.arange(SHAPE[a]) for a in range(3)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


def rough_table(degree):
    return GridSpline(ORIGIN, SPACING, jax.random.normal(jax.random.PRNGKey(5), SHAPE), degree)


def inner_points(spline, n, seed=1):
    u = np.random.default_rng(seed).uniform(size=(n, 3))
    return spline.lower[None] + jnp.asarray(u) * (spline.upper - spline.lower)[None]


@DEGREES
def test_samples_are_reproduced(degree):
    values = np.random.default_rng(2).normal(size=SHAPE)
    spline = interpolate(values, ORIGIN, SPACING, degree)
    read = rows(spline, jnp.asarray(grid().reshape(-1, 3)))
    np.testing.assert_allclose(read, values.ravel(), atol=1e-12)


def test_one_dimension_equals_scipy():
    """Not-a-knot is scipy's rule for cubic splines too."""
    z = np.linspace(0, 3, 12)
    values = np.broadcast_to(np.sin(2 * z), (4, 4, 12))
    spline = interpolate(values, (0, 0, 0), (1.0, 1.0, z[1]), 3)
    reference = scipy.interpolate.CubicSpline(z, np.sin(2 * z))
    at = np.linspace(0, 3, 50)
    read = jax.jit(jax.vmap(lambda z: spline(jnp.stack([jnp.array(1.3), jnp.array(0.4), z]))))(jnp.asarray(at))
    np.testing.assert_allclose(read, reference(at), atol=1e-13)


@pytest.mark.parametrize(("degree", "spacing"), [(2, 0.1), (3, (0.1, 0.15, 0.2))])
def test_error_of_the_gradient_falls_with_the_degree(degree, spacing):
    def f(x):
        return jnp.sin(x[0] + 2 * x[1]) * jnp.cos(x[2])

    errors = []
    for refine in (1, 2):
        h = np.broadcast_to(np.asarray(spacing), 3) / refine
        nodes = np.stack(np.meshgrid(*(np.arange(12 * refine) * step for step in h), indexing="ij"), axis=-1)
        values = jax.vmap(f)(jnp.asarray(nodes.reshape(-1, 3))).reshape(nodes.shape[:3])
        spline = interpolate(np.asarray(values), (0, 0, 0), h, degree)
        x = jnp.asarray(np.random.default_rng(3).uniform(0.4, 0.6, size=(300, 3)))
        difference = jax.jit(jax.vmap(lambda x, of=spline: jax.grad(of)(x) - jax.grad(f)(x)))(x)
        errors.append(float(jnp.abs(difference).max()))
    assert np.log2(errors[0] / errors[1]) > degree - 0.5


@DEGREES
def test_derivatives(degree):
    x = inner_points(rough_table(degree), 3)
    check_gradients(lambda spline, x: jax.vmap(spline)(x), rough_table(degree), x, step=1e-5, unit=0.1, rtol=1e-5)


@DEGREES
def test_design_equals_the_spline(degree):
    spline = rough_table(degree)
    x = jnp.concatenate([inner_points(spline, 50), jnp.stack([spline.lower, spline.upper])])
    c = np.asarray(spline.coefficients).ravel()
    grid = (spline.origin, spline.spacing, SHAPE, degree)
    np.testing.assert_allclose(design(x, *grid) @ c, rows(spline, x), atol=1e-12)
    gradient, hessian = (jax.jit(jax.vmap(derivative(spline)))(x) for derivative in (jax.grad, jax.hessian))
    np.testing.assert_allclose(design(x, *grid, (0, 1, 0))[:50] @ c, gradient[:50, 1], atol=1e-11)
    np.testing.assert_allclose(design(x, *grid, (0, 1, 1))[:50] @ c, hessian[:50, 1, 2], atol=1e-10)
    np.testing.assert_allclose(design(x, *grid, (2, 0, 0))[:50] @ c, hessian[:50, 0, 0], atol=1e-10)


@DEGREES
def test_outside_it_is_the_value_of_the_nearest_point(degree):
    spline = rough_table(degree)
    x = spline.upper + jnp.array([5.0, -0.3, 1e9])
    edge = jnp.minimum(x, spline.upper)
    np.testing.assert_allclose(spline(x), spline(edge), rtol=1e-14)
    gradient = jax.grad(spline)(x)
    assert gradient[0] == 0 and gradient[2] == 0 and gradient[1] != 0


@DEGREES
def test_float32(degree):
    spline = rough_table(degree)
    x = inner_points(spline, 20)
    values = rows(to_single(spline), to_single(x))
    assert values.dtype == jnp.float32
    np.testing.assert_allclose(values, rows(spline, x), atol=2e-5)
