"""Uniform tensor-product B-splines on 3-D grids: smooth functions that are tabulated once and evaluated often.

s(x) = Σ cᵢⱼₖ β(t₁-i) β(t₂-j) β(t₃-k),  t = (x - origin)/spacing, with the centred B-spline β of degree 2 (C1, 27
coefficients contribute at a point) or 3 (C2, 64 coefficients). Values, gradients and Hessians come from one
formula, so a field that is the gradient of a spline is exactly conservative.

M. Unser, Splines: a perfect fit for signal and image processing, IEEE Signal Process. Mag. 16 (1999) 22-38.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.checks import host_numbers, numbers
from difsim.declarations import count, quantity, rule
from difsim.typing import Scalar, Vec3, require

AnyArray = Array | np.ndarray

# The pieces of β at the place f after the first point of the cell; each row is a polynomial in f, highest power
# first. f lies in [-½, ½] around the nearest grid point for degree 2, in [0, 1] after the last one for degree 3.
_PIECES = {
    2: np.array([[1, -1, 1 / 4], [-2, 0, 3 / 2], [1, 1, 1 / 4]]) / 2,
    3: np.array([[-1, 3, -3, 1], [3, -6, 0, 4], [-3, 3, 3, 1], [1, 0, 0, 0]]) / 6,
}


FEWEST = 4  # points along an axis
DEGREES, SIZES = "give 2 (C1) or 3 (C2)", "give at least 4 points along each of three axes"


class GridSpline(eqx.Module):
    """A tensor-product B-spline at one point.

    The domain reaches from the second coefficient to the last but one, `lower` to `upper`. A point outside is
    clipped to it, so the spline is constant along the axes on which the point is outside. Derivatives by
    coordinates and coefficients are continuous up to order degree - 1 within the domain. A spline of float32
    arrays is evaluated in float32.
    """

    origin: Vec3 = quantity("m", "place of the coefficient [0, 0, 0]")
    spacing: Float[Array, ""] | Vec3 = quantity("m", "spacing of the grid, one number or three", gt=0)
    coefficients: Float[Array, "nx ny nz"] = quantity("", "coefficients c, in the unit of the function")
    degree: int = count("degree, 2 or 3", default=3)

    @rule("degree = {degree}: " + DEGREES)
    def _has_known_degree(self):
        return self.degree in _PIECES

    @rule("coefficients have shape {coefficients.shape}: " + SIZES)
    def _has_enough_coefficients(self):
        return min(self.coefficients.shape) >= FEWEST

    @property
    def lower(self) -> Vec3:
        """Lower corner of the domain [3], m."""
        return self.origin + self.spacing

    @property
    def upper(self) -> Vec3:
        """Upper corner of the domain [3], m."""
        return self.origin + self.spacing * (jnp.array(self.coefficients.shape) - 2)

    def __call__(self, x: Vec3) -> Scalar:
        """The value at `x` [3], m.

        Differentiate it with `jax.grad`: no hand-written derivative was as fast. In batches most time goes into
        reading the table: `jax.lax.map(f, points, batch_size=256)` keeps the coefficients in the cache, which a
        `vmap` over many thousand points does not.
        """
        return _evaluate(self, x)


@eqx.filter_jit  # traced once for a motion, which asks for it in dozens of places
def _evaluate(spline: GridSpline, x: Vec3) -> Scalar:
    last = jnp.array(spline.coefficients.shape) - 2
    t = jnp.clip((x - spline.origin) / spline.spacing, 1, last)
    cell, f = _cell(t, last, spline.degree, jnp)
    n = spline.degree + 1
    near = jax.lax.dynamic_slice(spline.coefficients, tuple(cell.astype(jnp.int32)), (n, n, n))
    X, Y, Z = (jnp.stack(_weights(f[axis], spline.degree)) for axis in range(3))
    return jnp.dot((X @ near.reshape(n, n * n)).reshape(n, n) @ Z, Y)


def interpolate(values: Float[AnyArray, "nx ny nz"], origin: Any, spacing: Any, degree: int) -> GridSpline:
    """On the host: the spline that takes given values at the points of a grid, which is its domain.

    The not-a-knot rule closes the ends (the two outermost pieces are one polynomial), so that polynomials up to
    `degree` in each coordinate are reproduced exactly. The error falls as spacing^(degree + 1), and in the
    gradient as spacing^degree.

    **Arguments:** `values` [nx,ny,nz], at least degree + 1 along each axis; `origin` [3], the place of
    values[0,0,0], m; `spacing`, a number or [3], m; `degree`, 2 or 3.
    **Returns:** the spline. **Raises:** `ValueError` for fewer values, values that are not finite, and as
    `GridSpline`.
    """
    import scipy.sparse
    import scipy.sparse.linalg

    values = host_numbers("interpolate: values", values, is_finite=False)
    if values.ndim != 3 or min(values.shape) < degree + 1:
        raise ValueError(f"values {values.shape}: a spline of degree {degree} needs {degree + 1} along each axis")
    if not np.isfinite(values).all():
        raise ValueError(
            f"{np.sum(~np.isfinite(values))} of the values are not finite: repair them, or fit (`design`)"
        )
    _check_grid(spacing, values.shape, degree)
    coefficients = values
    for axis in range(3):
        solve = scipy.sparse.linalg.splu(_collocation(values.shape[axis], degree)).solve
        lines = np.moveaxis(coefficients, axis, 0)
        right = np.pad(lines.reshape(len(lines), -1), ((1, 1), (0, 0)))
        coefficients = np.moveaxis(solve(right).reshape(-1, *lines.shape[1:]), 0, axis)
    corner = jnp.asarray(np.asarray(origin) - np.asarray(spacing))
    return GridSpline(corner, spacing, jnp.asarray(coefficients), degree)


def design(
    points: Float[AnyArray, "P 3"],
    origin: object,
    spacing: object,
    shape: Sequence[int],
    degree: int,
    derivative: Sequence[int] = (0, 0, 0),
) -> Any:  # scipy.sparse.csr_array
    """On the host: the sparse matrix from coefficients to values at points, for least-squares fits to samples.

    **Arguments:** `points` [P,3], m, within the domain; `origin`, `spacing`, `shape` [3] and `degree` of the
    `GridSpline` to be fitted; `derivative` [3], its order along each axis, (1, 0, 0) for the rows of ∂s/∂x.
    **Returns:** the matrix [P, nx·ny·nz], coefficients in C order.
    **Raises:** `ValueError` for points outside the domain, and as `GridSpline`.
    """
    import scipy.sparse
    import scipy.sparse.linalg

    _check_grid(spacing, shape, degree)
    spacing = np.broadcast_to(np.asarray(spacing, float), 3)
    last = np.asarray(shape) - 2
    t = (np.asarray(points) - np.asarray(origin)) / spacing
    rounding = 1e-9  # of a cell: a corner of the domain that was computed in another way still counts as inside
    outside = ~((t >= 1 - rounding) & (t <= last + rounding)).all(axis=1)
    if outside.any():
        raise ValueError(
            f"{outside.sum()} of {len(points)} points lie outside the domain of the spline; the first is "
            f"{np.asarray(points)[outside][0]}: enlarge the grid, or drop them"
        )
    cell, f = _cell(t, last, degree, np)
    X, Y, Z = (
        np.stack(_weights(f[:, axis], degree, derivative[axis]), axis=1) / spacing[axis] ** derivative[axis]
        for axis in range(3)
    )
    n = degree + 1
    data = X[:, :, None, None] * Y[:, None, :, None] * Z[:, None, None, :]
    i, j, k = (cell[:, axis].astype(np.int64)[:, None] + np.arange(n) for axis in range(3))
    columns = (i[:, :, None, None] * shape[1] + j[:, None, :, None]) * shape[2] + k[:, None, None, :]
    rows = np.arange(len(points) + 1) * n**3
    return scipy.sparse.csr_array((data.ravel(), columns.ravel(), rows), shape=(len(points), int(np.prod(shape))))


def _cell(t: AnyArray, last: AnyArray, degree: int, xp: Any) -> tuple[AnyArray, AnyArray]:
    """The index of the first coefficient that contributes at t (in grid units), and f, t relative to that cell."""
    if degree == 2:
        nearest = xp.floor(t + 0.5)
        return nearest - 1, t - nearest
    # The upper end of the domain belongs to the last cell.
    before = xp.clip(xp.floor(t), 1, last - 1)
    return before - 1, t - before


def _weights(f: AnyArray, degree: int, derivative: int = 0) -> list[AnyArray]:
    """The derivatives of the degree + 1 pieces of β at f, each of the shape of f."""
    weights = []
    for piece in _PIECES[degree]:
        first, *rest = np.polyder(piece, derivative).tolist()
        weight = first + 0 * f
        for coefficient in rest:
            weight = weight * f + coefficient
        weights.append(weight)
    return weights


def _collocation(n: int, degree: int) -> Any:  # scipy.sparse.csc_array
    """The matrix [n + 2, n + 2] from the coefficients along a line to n values and two end conditions."""
    import scipy.sparse
    import scipy.sparse.linalg

    matrix = scipy.sparse.lil_array((n + 2, n + 2))
    for row in range(n):
        matrix[row + 1, row : row + 3] = np.concatenate(_weights(np.zeros(1), degree)[:3])
    # Not-a-knot: no jump of the highest derivative at the knot next to the end.
    jump = np.diff(np.eye(degree + 2), n=degree + 1, axis=0)[0]
    matrix[0, : degree + 2] = jump
    matrix[n + 1, n - degree :] = jump
    return matrix.tocsc()


def _check_grid(spacing: object, shape: Sequence[int], degree: int) -> None:
    if degree not in _PIECES:
        raise ValueError(f"degree {degree}: {DEGREES}")
    if len(shape) != 3 or min(shape) < FEWEST:
        raise ValueError(f"a grid of {tuple(shape)}: {SIZES}")
    require(numbers("GridSpline: spacing", spacing) > 0, f"spacing {spacing} m: give positive numbers")
