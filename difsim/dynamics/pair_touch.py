"""Contact features of two stones: points of each near the surface of the other, and edges that cross edges.

Each contact feature has a gap (negative inside), the gradient n̂ of the gap from the first stone to the second, and a
position. The rate of the gap is n̂·u, with the relative velocity u of the bodies' material at that position.
"""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from difsim import rotation, safe
from difsim.body import RigidState, Stone
from difsim.conditional import compute_if
from difsim.typing import Scalar, Vec3

POINTS, EDGES = 32, 12  # the number of nearest points and edges of each stone that a contact follows
_ANGLE = 1e-9  # tolerance, rad: edges of faces that lie on each other cross within both faces


class ContactFeatures(eqx.Module):
    """The contact features of two stones.

    `gap` [M] m; `slope` [M, 3], the gradient of the gap, from the first stone to the second; `point` [M, 3] m.
    """

    gap: Float[Array, " M"]
    slope: Float[Array, "M 3"]
    point: Float[Array, "M 3"]

    @property
    def normal(self) -> Float[Array, "M 3"]:
        """The unit normals n̂ [M, 3]; the slope of a tabulated distance is only nearly of unit length."""
        return safe.unit(self.slope)


class NearestFeatures(eqx.Module):
    """The points and edges of each stone that may take part in a contact, as indices."""

    points: tuple[Int[Array, " K"], Int[Array, " K"]]
    edges: tuple[Int[Array, " J"], Int[Array, " J"]]


class _Placed(eqx.Module):
    """A stone in its state."""

    stone: Stone
    state: RigidState

    def place(self, points: Float[Array, "N 3"]) -> Float[Array, "N 3"]:
        """The points [N, 3] m of the stone in the inertial frame."""
        return self.state.position[None] + self.rotate(points)

    def rotate(self, vectors: Float[Array, "N 3"]) -> Float[Array, "N 3"]:
        """The vectors [N, 3] of the stone's frame in the inertial frame."""
        return rotation.product3(vectors, self.state.rotation.as_matrix().T)

    def local(self, points: Float[Array, "N 3"]) -> Float[Array, "N 3"]:
        """The points [N, 3] m of the inertial frame in the frame of the stone."""
        turn = self.state.rotation.as_matrix()
        return rotation.product3(points - self.state.position[None], turn)

    def distances(self, points: Float[Array, "N 3"]) -> Float[Array, " N"]:
        """The signed distances [N] m of points of the inertial frame."""
        return jax.vmap(self.stone.shape.distance)(self.local(points))


def _place_both(pair, state) -> tuple[_Placed, _Placed]:
    return _Placed(pair.first, state.first), _Placed(pair.second, state.second)


def _gaps(pair, state):
    """The gaps, m, of all nodes of each stone to the surface of the other."""
    a, b = _place_both(pair, state)
    return b.distances(a.place(a.stone.nodes)), a.distances(b.place(b.stone.nodes))


def _edge_bounds(stone: Stone, gaps: Float[Array, " P"]) -> Float[Array, " E"]:
    """A lower bound of the gap of each edge, m: along an edge the gap changes by at most the distance."""
    ends = gaps[stone.edges.nodes]
    return 0.5 * (ends[:, 0] + ends[:, 1] - stone.edges.lengths)


def _smallest(values: Sequence[Float[Array, "_"]], count: int) -> list[Int[Array, "_"]]:
    """The indices of the `count` smallest values of each array, or of all values if there are fewer.

    The N values are arranged in rows of length √N, and the smallest value of each row is kept, so that each pick
    reads 2 √N numbers; `top_k` would sort all of them. The arrays are padded to one size, since one search for all
    of them compiles faster than several.
    """
    longest = max(x.shape[0] for x in values)
    width = math.isqrt(max(longest - 1, 0)) + 1
    padded = [jnp.pad(x, (0, width**2 - x.shape[0]), constant_values=jnp.inf) for x in values]
    rows = jnp.stack(padded).reshape(-1, width, width)

    def pick(rows, least):
        row = jnp.argmin(least)
        rest = rows[row]
        one = jnp.argmin(rest)
        rest = rest.at[one].set(jnp.inf)
        return (rows.at[row].set(rest), least.at[row].set(jnp.min(rest))), row * width + one

    start = rows, jnp.min(rows, axis=2)
    _, found = jax.lax.scan(lambda now, _: jax.vmap(pick)(*now), start, length=min(count, longest))
    return [found[: x.shape[0], i] for i, x in enumerate(values)]


def nearest_features(pair, state) -> NearestFeatures:
    """The points and edges of each stone that are nearest to the other stone."""
    stones, gaps = (pair.first, pair.second), _gaps(pair, state)
    points = [of[: stone.points.shape[0]] for stone, of in zip(stones, gaps, strict=True)]
    edges = [_edge_bounds(*of) for of in zip(stones, gaps, strict=True)]
    first, second, one, other = _smallest(points + edges, POINTS)
    return NearestFeatures((first, second), (one[:EDGES], other[:EDGES]))


def separation(pair, state, axis: Vec3) -> Scalar:
    """A lower bound of the gap of two stones with edges, from their extents along two axes.

    It is much cheaper than `least_gap`, and it becomes positive soon after a contact with the normal `axis`. It is
    not meant for derivatives.

    **Arguments:** `pair`; `state`; `axis` [3], a unit vector from the first stone to the second. The second axis is
    the line of centres. **Returns:** the bound, m; -inf for round solids, which reach beyond the hull of their points.
    """
    if pair.first.edges.nodes.size == 0 or pair.second.edges.nodes.size == 0:
        return jnp.full_like(axis[0], -jnp.inf)
    axes = jnp.stack([axis, safe.unit(state.second.position - state.first.position)])

    def reach(stone, state, axes):
        turned = rotation.product3(stone.points, state.rotation.as_matrix().T)
        return jnp.max(rotation.product3(turned, axes.T), axis=0)

    centres = axes @ (state.second.position - state.first.position)
    return jnp.max(centres - reach(pair.first, state.first, axes) - reach(pair.second, state.second, -axes))


def least_gap(pair, state, resolution: Scalar) -> Scalar:
    """A lower bound of the gap of two surfaces, which equals the gap where that is below the resolution.

    Stones that are far apart have the gap of their bounding spheres; nearer ones that of their points and of bounds
    of their edges; the nearest ones that of points and edges. The bound is not meant for derivatives.

    **Arguments:** `pair`; `state`; `resolution`, m. **Returns:** the bound, m.
    """
    apart = safe.norm(state.second.position - state.first.position) - pair.first.radius - pair.second.radius

    def surfaces():
        stones, gaps = (pair.first, pair.second), _gaps(pair, state)
        bounds = [_edge_bounds(*of) for of in zip(stones, gaps, strict=True)]
        points = _least(*(_mask_marks(*of) for of in zip(stones, gaps, strict=True)))
        edges = _least(*bounds)

        def crossings():
            return _least(_crossings(*_place_both(pair, state), *_smallest(bounds, EDGES)).gap)

        return jnp.minimum(points, compute_if(edges <= resolution, crossings, edges))

    return compute_if(apart <= resolution, surfaces, apart)


def _mask_marks(stone: Stone, gaps: Float[Array, " P"]) -> Float[Array, " P"]:
    """The gaps [P] m with inf at marks, which touch nothing; a mark deep inside is kept: edges have crossed there."""
    deepest = jnp.max(stone.edges.lengths, initial=0.0)
    is_mark = jnp.arange(gaps.shape[0]) >= stone.points.shape[0]
    return jnp.where(is_mark & (gaps > -deepest), jnp.inf, gaps)


def _least(*gaps: Float[Array, " _"]) -> Scalar:
    return jnp.min(jnp.concatenate(gaps), initial=jnp.inf)


def touches(pair, state, nearby: NearestFeatures) -> ContactFeatures:
    """The contact features that the nearby points and edges form.

    **Arguments:** `pair`; `state`; `nearby`, the points and edges. **Returns:** the features; their gap is inf where
    two edges do not cross.
    """
    a, b = _place_both(pair, state)
    at_b = _points(a, b, nearby.points[0], -1.0)
    at_a = _points(b, a, nearby.points[1], 1.0)
    crossings = _crossings(a, b, *nearby.edges)
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), at_b, at_a, crossings)


def _points(of: _Placed, on: _Placed, index: Int[Array, " K"], sign: float) -> ContactFeatures:
    """The contact features of points of one stone with the surface of the other."""
    points = of.place(of.stone.points[index])
    gap, slope = jax.vmap(jax.value_and_grad(on.stone.shape.distance))(on.local(points))
    return ContactFeatures(gap, sign * on.rotate(slope), points)


def _crossings(a: _Placed, b: _Placed, of_a: Int[Array, " J"], of_b: Int[Array, " J"]) -> ContactFeatures:
    """The contact features [J²] of edges of the first stone with edges of the second."""

    def edges(side: _Placed, index):
        ends = side.place(side.stone.nodes[side.stone.edges.nodes[index]].reshape(-1, 3)).reshape(-1, 2, 3)
        wings = side.stone.edges.wings[index]
        return ends, side.rotate(wings.reshape(-1, 3)).reshape(wings.shape)

    one = jax.vmap(jax.vmap(_crossing, in_axes=(None, None, 0, 0)), in_axes=(0, 0, None, None))
    pairs = one(*edges(a, of_a), *edges(b, of_b))
    return ContactFeatures(*(x.reshape(-1, *x.shape[2:]) for x in pairs))


def _crossing(ends_a, wings_a, ends_b, wings_b) -> tuple[Scalar, Vec3, Vec3]:
    """The gap, the normal n̂ and the position of the contact feature of two edges.

    Two edges touch at the closest points c_a and c_b of their lines, if these lie within both edges, and if n̂ lies
    between the normals of the adjacent faces of each edge. The gap is n̂·(c_b - c_a), negative once the edges have
    passed through each other, and inf for other edges.
    """
    along_a, along_b = ends_a[1] - ends_a[0], ends_b[1] - ends_b[0]
    across = jnp.cross(along_a, along_b)
    between = ends_b[0] - ends_a[0]
    square = across @ across
    parallel = square <= 1e-12 * (along_a @ along_a) * (along_b @ along_b)  # below 1e-6 rad
    safe_square = jnp.where(parallel, 1.0, square)
    s = jnp.cross(between, along_b) @ across / safe_square
    t = jnp.cross(between, along_a) @ across / safe_square
    n = across / jnp.sqrt(safe_square)
    n = jnp.where(jnp.sum(wings_a * n[None]) > 0, -n, n)
    on_a, on_b = ends_a[0] + s * along_a, ends_b[0] + t * along_b
    gap = n @ (on_b - on_a)
    rises_a, rises_b = jnp.sum(wings_a * n[None], axis=1), jnp.sum(wings_b * n[None], axis=1)
    # A depth that exceeds the length of both edges belongs to edges on opposite sides of the stones.
    size = jnp.maximum(along_a @ along_a, along_b @ along_b)
    crosses = (
        ~parallel
        & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
        & jnp.all(rises_a <= _ANGLE) & jnp.all(rises_b >= -_ANGLE)
        & ((gap > 0) | (gap**2 < size))
    )  # fmt: skip
    return jnp.where(crosses, gap, jnp.inf), n, 0.5 * (on_a + on_b)
