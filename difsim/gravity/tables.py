"""On the host: the tables of the fast field (`Gridded`), made from a field that is exact and slow."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from difsim.gravity.field import AbstractField
from difsim.gravity.sampling import Points, field_at, is_near_surface, is_outside
from difsim.mesh import TriMesh, surface_points
from difsim.spline import GridSpline, design, interpolate
from difsim.typing import Scalar, Vec3

Place = Float[np.ndarray, "3"]

FAR_POINTS = 49  # along each axis of the far table; odd, so that infinity is one of them

# The fit near the surface; lengths in cells of the table.
FREE = 3.0  # coefficients are fitted up to this distance from the surface, on either side ...
SEEN = 5.0  # ... and grid points outside are samples up to this one, so that each coefficient has samples
PLACES = 4.0  # further samples per cell area of the surface, at these heights:
HEIGHTS = (0.0, 0.0, 0.35, 0.8)
# Weight of the interpolated coefficients against one sample: it fixes those that no sample depends on, deep inside.
TETHER = 0.01


def kelvin(table: GridSpline, inner: Scalar, d: Vec3) -> Scalar:
    """The potential (a/r) V(a² d/r²) outside a sphere, by the table of its Kelvin image V.

    **Arguments:** `table` of V, m²/s²; `inner` a, m; `d` [3], m, r = |d| ≥ a. **Returns:** the potential, m²/s².
    """
    # For r < a, where the result is not used, the place is clipped: the image of d = 0 is at infinity.
    shrink = inner**2 / jnp.maximum(jnp.sum(d * d), inner**2)
    return jnp.sqrt(shrink) * table(shrink * d)


def far_table(field: AbstractField, centre: Place, inner: float) -> GridSpline:
    """The Kelvin image V(y) = (a/|y|) U(centre + a² y/|y|²) on the cube |yᵢ| ≤ a, with V(0) = GM/a.

    In the corners the image continues towards the body, where U is less smooth; the influence on a spline decays
    within a few points and does not reach the ball |y| ≤ a.

    **Arguments:** `field`; `centre` [3], m; `inner` a, m. **Returns:** the spline of V.
    """
    GM = _mass(field, centre, inner)
    image = _cube(inner, FAR_POINTS)
    middle = len(image) // 2
    stretch = inner**2 / np.sum(np.delete(image, middle, axis=0) ** 2, axis=1)
    U = field_at(field, centre + stretch[:, None] * np.delete(image, middle, axis=0))[0]
    V = np.insert(np.sqrt(stretch) * U, middle, GM / inner)
    return interpolate(V.reshape((FAR_POINTS,) * 3), (-inner,) * 3, 2 * inner / (FAR_POINTS - 1), 3)


def _mass(field: AbstractField, centre: Place, inner: float) -> float:
    """GM from the mean of r U over a sphere, which is the same for all spheres around the body."""
    heights, weights = np.polynomial.legendre.leggauss(16)
    z, angle = np.meshgrid(heights, np.arange(32) * np.pi / 16, indexing="ij")
    across = np.sqrt(1 - z**2)
    directions = np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=-1).reshape(-1, 3)
    radii = (3 * inner, 6 * inner)
    means = [
        r * weights @ field_at(field, centre + r * directions)[0].reshape(z.shape).mean(axis=1) / 2 for r in radii
    ]
    if not (means[0] > 0 and abs(means[1] - means[0]) < 1e-8 * means[0]):
        raise ValueError(
            f"the mean of r U is {means[0]:.9g} m³/s² at {radii[0]:.6g} m from the mesh's centroid and "
            f"{means[1]:.9g} at {radii[1]:.6g} m, so the field does not fall off as GM/r: fit the body's gravity "
            "alone and add Uniform or Rotating to the result; is the mesh in metres?"
        )
    return means[0]


def near_table(
    field: AbstractField,
    centre: Place,
    spacing: float,
    far: GridSpline,
    inner: float,
    outer: float,
) -> GridSpline:
    """U on the cube |dᵢ| ≤ outer, interpolated; beyond `inner` it is taken from the far table.

    **Arguments:** `field`; `centre` [3], m; `spacing`, m; `far`, the far table; `inner`, `outer`, m.
    **Returns:** the spline of U, m²/s².
    """
    half = spacing * np.ceil(outer / spacing)
    n = 2 * round(half / spacing) + 1
    d = _cube(half, n)
    own = np.sum(d**2, axis=1) < inner**2
    U = np.empty(len(d))
    U[own] = field_at(field, centre + d[own])[0]
    U[~own] = jax.lax.map(lambda d: kelvin(far, jnp.asarray(inner), d), jnp.asarray(d[~own]), batch_size=256)
    return interpolate(U.reshape(n, n, n), (-half,) * 3, spacing, 3)


def fit_outside(table: GridSpline, field: AbstractField, mesh: TriMesh, centre: Place) -> GridSpline:
    """The near table with its coefficients around the surface fitted to potentials and accelerations outside.

    Second derivatives of U jump at the surface, and an interpolating spline smears the jump over some two cells on
    either side. This is the least-squares solution for the coefficients that contribute outside.

    **Arguments:** `table`, the interpolated one; `field`; `mesh`; `centre` [3], m.
    **Returns:** the fitted spline.
    """
    import scipy.sparse
    from scipy.sparse.linalg import lsmr

    h = float(table.spacing)
    shape = table.coefficients.shape
    points = _samples(table, mesh, centre, h)
    U, g = field_at(field, points)
    orders = (1, 0, 0), (0, 1, 0), (0, 0, 1)
    # Accelerations times h have the size of differences in potential.
    rows = [design(points - centre, table.origin, h, shape, 3)]
    rows += [h * design(points - centre, table.origin, h, shape, 3, order) for order in orders]
    matrix = scipy.sparse.vstack(rows).tocsc()
    c = np.array(table.coefficients).ravel()
    nodes = centre + np.asarray(table.origin) + h * np.indices(shape).reshape(3, -1).T
    free = np.flatnonzero(is_near_surface(mesh, nodes, FREE * h))
    system = scipy.sparse.vstack([matrix[:, free], TETHER * scipy.sparse.eye_array(len(free))]).tocsr()
    misfit = np.concatenate([np.concatenate([U, *(h * g).T]) - matrix @ c, np.zeros(len(free))])
    c[free] += lsmr(system, misfit, atol=1e-4, btol=1e-12, maxiter=120)[0]
    return eqx.tree_at(lambda table: table.coefficients, table, jnp.asarray(c.reshape(shape)))


def _samples(table: GridSpline, mesh: TriMesh, centre: Place, h: float) -> Points:
    """Places on the surface, close above it, and the points of the grid outside."""
    places, normals, _ = surface_points(mesh, int(PLACES * mesh.area / h**2))
    heights = np.random.default_rng(0).permutation(np.resize(HEIGHTS, len(places)))
    places = places + h * heights[:, None] * normals
    domain = (
        centre
        + np.asarray(table.lower)
        + h * np.indices([n - 2 for n in table.coefficients.shape]).reshape(3, -1).T
    )
    grid = domain[is_near_surface(mesh, domain, SEEN * h)]
    raised = np.concatenate([places[heights > 0], grid])
    return np.concatenate([places[heights == 0], raised[is_outside(mesh, raised)]])


def _cube(half: float, n: int) -> Points:
    axis = np.linspace(-half, half, n)
    return np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
