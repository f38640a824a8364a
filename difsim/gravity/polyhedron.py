"""The homogeneous polyhedron of triangles, in closed form."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim import safe
from difsim.declarations import quantity
from difsim.gravity.elementary import arctan2, log_ratio
from difsim.gravity.field import AbstractField, as_points
from difsim.mesh import TriMesh
from difsim.mesh.surface import require_mesh
from difsim.session import compile_with_matrix_library
from difsim.typing import Mat3, Scalar, Vec3, is_known
from difsim.units import G
from difsim.wide import TERMS, by_platform, put

# Points side by side, and facets (or edges) times points of a block. On a CPU a block's dozen temporary arrays stay in
# the cache of a core. A GPU needs large blocks: each is a few kernels, which take 2 µs to start.
CPU, GPU = (64, 2**14), (2**13, 2**25)


# U [P], g [P,3], ∇g [P,3,3]
Field = tuple[Float[Array, " P"], Float[Array, "P 3"], Float[Array, "P 3 3"]]

# x, y and z, each an array: XLA would compute a stacked array again for each use of one component.
Vector = list[Array]


class Polyhedron(AbstractField):
    """A homogeneous body bounded by triangles.

    U = ½Gρ (Σₑ rₑ·Eₑ·rₑ Lₑ - Σ_f r_f·F_f·r_f ω_f),  g = -Gρ (Σₑ Eₑ rₑ Lₑ - Σ_f F_f r_f ω_f), ∇g = Gρ (Σₑ Eₑ Lₑ -
    Σ_f F_f ω_f),  ∇²U = -Gρ Σ_f ω_f, with r from the point to the edge or facet, F = n̂n̂, E = n̂m̂ of one side of
    the edge plus n̂'m̂' of the other (n̂ normal of the facet, m̂ in its plane, normal to the edge, outwards), L
    the logarithm of an edge (the potential of a wire) and ω the signed solid angle of a facet.

    It is right everywhere, also on facets, edges and vertices, where ∇g is the mean over the outward directions (a
    half inside on a facet, an eighth on a cube's vertex); on an edge, where ∇g diverges as the logarithm of the
    distance, it is finite and large. At a distance the sums cancel: with R the size of the body, the relative
    error of all three is 1e-14 nearby and 1e-15 (r/R)² far away, in float32 1e-6 (r/R)². Beyond some 20 radii (10
    in float32) use a point mass or a series. At a distance d from an edge or vertex ∇g errs by 1e-16/d times the
    edge.

    Derivatives by position use g and ∇g themselves; those by vertices and density go through the sums, in bounded
    memory in reverse mode too.

    **Arguments:** `mesh`, m; `density` ρ, kg/m³.
    **Source:** Werner and Scheeres, Celest. Mech. Dyn. Astron. 65 (1997) 313-344; ω by Van Oosterom and Strackee,
    IEEE Trans. Biomed. Eng. 30 (1983) 125-126.

    **Example:**

    ```python
    import numpy as np

    from difsim.gravity import Polyhedron
    from difsim.mesh import box

    asteroid = Polyhedron(box((800.0, 500.0, 400.0)), 1300.0)
    print(asteroid.acceleration(np.array([0.0, 0.0, 300.0])))
    ```
    """

    tag = "polyhedron"
    faces: Int[Array, "F 3"]
    edges: Int[Array, "E 4"]  # from, to, the third vertex of the facet on its left, and of the one on its right
    vertices: Float[Array, "V 3"] = quantity("m", "corners of the surface")
    density: Scalar = quantity("kg/m³", "density ρ", ge=0, usual=(100, 1e4), slip="g/cm³")

    def __init__(self, mesh: TriMesh, density: Any):
        require_mesh("Polyhedron", mesh)
        self.vertices = jnp.asarray(mesh.vertices)
        self.faces = jnp.asarray(mesh.faces, jnp.int32)
        self.edges = jnp.asarray(_edges(mesh.faces), jnp.int32)
        self.density = density

    def potential(self, x: Vec3) -> Scalar:
        return _evaluate_at(x[None], self, CPU[1])[0][0]

    def acceleration(self, x: Vec3) -> Vec3:
        """g = +∇U [3] in m/s² at `x` [3] in m."""
        return _evaluate_at(x[None], self, CPU[1])[1][0]

    def gradient(self, x: Vec3) -> Mat3:
        """∇g [3,3] in 1/s² at `x` [3] in m, symmetric."""
        return _evaluate_at(x[None], self, CPU[1])[2][0]

    def laplacian(self, x: Vec3) -> Scalar:
        """∇²U in 1/s² at `x` [3] in m: -4πGρ inside, 0 outside, in proportion to the solid angle on the surface."""
        return jnp.trace(self.gradient(x))

    def evaluate(self, points: Any) -> Field:
        """U [P], g [P,3] and ∇g [P,3,3] at many points [P,3] in m, in bounded memory and faster than `vmap`.

        One point at a time costs eight to twenty times as much per facet, in a loop or in `lax.map`; and U, g and ∇g
        asked for one after the other cost three times as much as all of them.

        **Raises:** `ValueError` for points of another shape, none, or not finite.
        """
        points = as_points(points)
        if not is_known((self, points)):
            return _evaluate(self, points)
        return _compiled(self, put(points, len(points) * len(self.faces) >= TERMS))


def _evaluate(body: Polyhedron, points: Float[Array, "P 3"]) -> Field:
    return by_platform(
        body, points, cpu=partial(_evaluate_in_tiles, CPU), default=partial(_evaluate_in_tiles, GPU)
    )


def _evaluate_in_tiles(tile: tuple[int, int], body: Polyhedron, points: Float[Array, "P 3"]) -> Field:
    n = points.shape[0]
    width = min(n, tile[0])
    chunks = jnp.pad(points, ((0, -n % width), (0, 0)), mode="edge").reshape(-1, width, 3)
    # Checkpointed, or reverse mode would keep the blocks of every chunk of points.
    results = jax.lax.map(jax.checkpoint(lambda x: _evaluate_at(x, body, tile[1]), prevent_cse=False), chunks)
    return jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:])[:n], results)


_compiled = compile_with_matrix_library(_evaluate)


def _edges(faces: Int[np.ndarray, "F 3"]) -> Int[np.ndarray, "E 4"]:
    """Each edge once, from its lower to its higher vertex, with the third vertices on both sides."""
    half = np.concatenate([np.roll(faces, shift, axis=1) for shift in range(3)])
    left, right = half[half[:, 0] < half[:, 1]], half[half[:, 0] > half[:, 1]]
    left = left[np.lexsort((left[:, 1], left[:, 0]))]
    right = right[np.lexsort((right[:, 0], right[:, 1]))]
    return np.column_stack([left, right[:, 2]])


@eqx.filter_custom_jvp
def _evaluate_at(x: Float[Array, "P 3"], body: Polyhedron, block: int) -> Field:
    return _sums(x, body, block)


@_evaluate_at.def_jvp
def _(primals, tangents):
    """∂U/∂x is g and ∂g/∂x is ∇g; only derivatives by other variables go through the sums."""
    (x, body, block), (dx, dbody, _) = primals, tangents
    U, g, gradient = _evaluate_at(x, body, block)
    change = [jnp.zeros_like(part) for part in (U, g, gradient)]
    if dx is not None:
        third = eqx.filter_jvp(lambda x: _sums(x, body, block)[2], (x,), (dx,))[1]
        change = [jnp.sum(g * dx, axis=1), jnp.einsum("pij,pj->pi", gradient, dx), third]
    if jax.tree.leaves(dbody):
        by_body = eqx.filter_jvp(lambda body: _sums(x, body, block), (body,), (dbody,))[1]
        change = [a + b for a, b in zip(change, by_body, strict=True)]
    return (U, g, gradient), tuple(change)


@eqx.filter_jit  # a flight evaluates it in a dozen places: traced once
def _sums(x: Float[Array, "P 3"], body: Polyhedron, block: int) -> Field:
    """U, g and ∇g from sums over blocks of edges and of facets, `block` of them times points.

    With r = a - x and a fixed point a of each edge or facet all three follow from ten sums that do not contain x:
    of E L, E a L and a·E a L, and likewise of -F ω. So the points enter by one matrix product each.
    """
    # Near the origin the products with a lose the fewest digits; the result does not depend on it.
    centre = jax.lax.stop_gradient(jnp.mean(body.vertices, axis=0, keepdims=True))
    vertices, x = body.vertices - centre, (x - centre).T
    size = jax.lax.stop_gradient(jnp.sqrt(jnp.max(jnp.sum(vertices**2, axis=1))))
    sums = _sum_blocks(_edge_sums, x, size, vertices, body.edges, block)
    sums += _sum_blocks(_facet_sums, x, size, vertices, body.faces, block)
    xx, yy, zz, xy, yz, zx, *first, second = G * body.density * sums
    tensor = [[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]
    places = list(x)
    g = [_dot(row, places) - part for row, part in zip(tensor, first, strict=True)]
    U = 0.5 * (second - _dot(first, places) + _dot(g, places))
    return U, jnp.stack(g, axis=-1), jnp.stack([jnp.stack(row, axis=-1) for row in tensor], axis=-1)


def _sum_blocks(
    sums: Callable,
    x: Float[Array, "3 P"],
    size: Scalar,
    vertices: Float[Array, "V 3"],
    index: Int[Array, "n m"],
    block: int,
) -> Float[Array, "10 P"]:
    """Σ sums(x, size, corners [m,3,B], weights [B]) over blocks of B rows of `index`, the last one filled up."""
    n, m = index.shape
    block = min(n, block // x.shape[1])
    count = -(-n // block)
    rows = jnp.arange(count * block)
    weights = (rows < n).astype(vertices.dtype).reshape(count, block)
    index = index[jnp.minimum(rows, n - 1)]
    # Gather before the scan, so that reverse mode scatters into the vertices once, not once per block.
    corners = vertices[index].reshape(count, block, m, 3)

    # Checkpointed: reverse mode stores only a block's corners, and recomputes the rest.
    @partial(jax.checkpoint, prevent_cse=False)
    def add(total, block):
        corners, weights = block
        return total + sums(x, size, corners.transpose(1, 2, 0), weights), None

    return jax.lax.scan(add, jnp.zeros((10, x.shape[1]), vertices.dtype), (corners, weights))[0]


def _edge_sums(
    x: Float[Array, "3 P"], size: Scalar, corners: Float[Array, "4 3 B"], weights: Float[Array, " B"]
) -> Float[Array, "10 P"]:
    a, b, left, right = map(list, corners)
    edge = _minus(b, a)
    length, along = _unit(edge)
    _, normal_left = _unit(_cross(edge, _minus(left, a)))
    _, normal_right = _unit(_cross(_minus(right, a), edge))
    sides = _outer(normal_left, _cross(along, normal_left)), _outer(normal_right, _cross(normal_right, along))
    terms = weights[None] * _terms(a, [p + q for p, q in zip(*sides, strict=True)])

    along, length = _columns(along), length[:, None]
    r1, r2 = _minus(_columns(a), _rows(x)), _minus(_columns(b), _rows(x))
    length1, length2 = _length(r1), _length(r2)
    # (r1 + r2 + e)/(r1 + r2 - e): its lower term loses all digits next to the edge. There, with s1 and s2 the
    # distances of the ends from the foot of the perpendicular d, it is also (r1 + s1)(r2 + s2)/d².
    s1 = -_dot(r1, along)
    s2 = length - s1
    d = [p + s1 * q for p, q in zip(r1, along, strict=True)]
    lower, square = length1 + length2 - length, _dot(d, d)
    near = (s1 > 0) & (s2 > 0) & (lower < 0.1 * length)
    # On the edge itself L is infinite, and E r = 0 in U and g: the value within rounding of it serves there.
    rounding = jnp.finfo(x.dtype).eps * length
    square, lower = jnp.maximum(square, rounding**2), jnp.maximum(lower, rounding)
    difference = jnp.where(near, (length1 + s1) * (length2 + s2) - square, 2 * length)
    return terms @ log_ratio(difference, jnp.where(near, square, lower))


def _facet_sums(
    x: Float[Array, "3 P"], size: Scalar, corners: Float[Array, "3 3 B"], weights: Float[Array, " B"]
) -> Float[Array, "10 P"]:
    a, b, c = map(list, corners)
    double_area = _cross(_minus(b, a), _minus(c, a))
    area, normal = _unit(double_area)
    terms = -weights[None] * _terms(a, _outer(normal, normal))

    ra, rb, rc = (_minus(_columns(corner), _rows(x)) for corner in (a, b, c))
    r1, r2, r3 = _length(ra), _length(rb), _length(rc)
    triple = _dot(ra, _columns(double_area))
    # r1 r2 r3 + r1 (r2·r3) + r2 (r3·r1) + r3 (r1·r2), the products from the law of cosines
    q12, q23, q31 = (
        (r + s) ** 2 - _dot(edge, edge)[:, None]
        for r, s, edge in ((r1, r2, _minus(b, a)), (r2, r3, _minus(c, b)), (r3, r1, _minus(a, c)))
    )
    bottom = 0.5 * (r1 * q23 + r2 * q31 + r3 * q12) - 2 * r1 * r2 * r3
    # A point closer to the plane than rounding counts as in the plane, with ω = 0: otherwise its side, and with
    # it ±2π, would be random. The derivative by the distance from the plane is kept.
    flat = jnp.abs(triple) <= (8 * jnp.finfo(x.dtype).eps * size * area)[:, None]
    triple -= jax.lax.stop_gradient(jnp.where(flat, triple, 0.0))
    return terms @ (2 * arctan2(triple, jnp.where(flat, jnp.abs(bottom), bottom)))


def _terms(a: Vector, M: list[Array]) -> Float[Array, "10 B"]:
    """M, M a and a·M a of symmetric M, given as xx, yy, zz, xy, yz, zx."""
    xx, yy, zz, xy, yz, zx = M
    Ma = [_dot(row, a) for row in ([xx, xy, zx], [xy, yy, yz], [zx, yz, zz])]
    return jnp.stack([*M, *Ma, _dot(Ma, a)])


def _outer(u: Vector, v: Vector) -> list[Array]:
    """The symmetric part of u v: xx, yy, zz, xy, yz, zx."""
    (ux, uy, uz), (vx, vy, vz) = u, v
    mixed = (ux * vy + uy * vx) / 2, (uy * vz + uz * vy) / 2, (uz * vx + ux * vz) / 2
    return [ux * vx, uy * vy, uz * vz, *mixed]


def _cross(u: Vector, v: Vector) -> Vector:
    (ux, uy, uz), (vx, vy, vz) = u, v
    return [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx]


def _minus(u: Vector, v: Vector) -> Vector:
    return [p - q for p, q in zip(u, v, strict=True)]


def _dot(u: Vector, v: Vector) -> Array:
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def _length(v: Vector) -> Array:
    return safe.sqrt_floored(_dot(v, v))


def _unit(v: Vector) -> tuple[Array, Vector]:
    """|v| and v/|v|."""
    length = _length(v)
    return length, [p / length for p in v]


def _columns(v: Vector) -> Vector:
    """One column for each edge or facet, to broadcast with `_rows`."""
    return [p[:, None] for p in v]


def _rows(x: Float[Array, "3 P"]) -> Vector:
    return [p[None] for p in x]
