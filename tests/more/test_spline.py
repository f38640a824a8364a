"""Splines on grids: reproduction, smoothness, derivatives and the matrix for fits."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim.spline import interpolate
from tests.core.test_spline import DEGREES, ORIGIN, SPACING, grid, inner_points, rough_table


def polynomial(x, degree):
    """Of the spline's degree in each of the coordinates."""
    px, py, pz = x[..., 0], x[..., 1], x[..., 2]
    low = 1 + px - 2 * py * pz + px**2 * py**2 * pz**2
    return low if degree == 2 else low + px**3 * py - 0.3 * pz**3 * py**3


@DEGREES
def test_polynomials_are_exact(degree):
    spline = interpolate(polynomial(grid(), degree), ORIGIN, SPACING, degree)
    np.testing.assert_allclose(spline.lower, ORIGIN, rtol=1e-14)
    np.testing.assert_allclose(spline.upper, grid()[-1, -1, -1], rtol=1e-14)
    x = inner_points(spline, 200)

    def exact(x):
        return polynomial(x, degree)

    for derivative in (lambda f: f, jax.grad, jax.hessian):
        values, expected = (jax.jit(jax.vmap(derivative(f)))(x) for f in (spline, exact))
        np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@DEGREES
def test_derivatives_are_continuous_across_knots(degree):
    """Order degree - 1 on both sides of a face between cells, an edge and a corner; the next order jumps."""
    spline = rough_table(degree)
    knot = 2.5 if degree == 2 else 3.0
    derivative = spline.__call__
    for order in range(degree + 1):
        read = jax.jit(derivative)
        for axes in ([0], [1, 2], [0, 1, 2]):
            t = np.array([2.8, 3.3, 2.2])
            t[axes] = knot
            sides = [ORIGIN + SPACING * (t + s * 1e-9 * np.isin(range(3), axes)) for s in (-1, 1)]
            before, after = (np.asarray(read(jnp.asarray(x))) for x in sides)
            jump = np.abs(after - before).max() / np.abs(before).max()
            assert (jump < 1e-6) == (order < degree), (axes, order, jump)
        derivative = jax.jacfwd(derivative)
