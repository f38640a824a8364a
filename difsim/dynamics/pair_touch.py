"""Where two stones are nearest: points of each against the other's distance, and edges against edges.

A feature is a point of one stone at the other's surface, or an edge of one across an edge of the other. Each has a
gap (negative inside), its gradient n̂ from the first stone to the second, and a place. The gap's rate is n̂·u with
the relative velocity u of the bodies' material there.
"""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from difsim import rotation, safe
from difsim.body import RigidState, Stone
from difsim.typing import Scalar, Vec3

POINTS, EDGES = 32, 12  # of each stone, that a contact follows: the nearest ones
_ANGLE = 1e-9  # rad: faces on each other have edges that cross along both


class ContactFeatures(eqx.Module):
    """Features: `gap` [M] m, `slope` [M, 3] of the gap, from the first stone to the second, `point` [M, 3] m."""

    gap: Float[Array, " M"]
    slope: Float[Array, "M 3"]
    point: Float[Array, "M 3"]

    @property
    def normal(self) -> Float[Array, "M 3"]:
        """Unit normals n̂ [M, 3]; a tabulated distance has a slope of nearly 1 only."""
        return safe.unit(self.slope)


class Nearby(eqx.Module):
    """The points and edges of each stone that may take part in a contact, as indices."""

    points: tuple[Int[Array, " K"], Int[Array, " K"]]
    edges: tuple[Int[Array, " J"], Int[Array, " J"]]


class _Placed(eqx.Module):
    """A stone where it is."""

    stone: Stone
    state: RigidState

    def place(self, points: Float[Array, "N 3"]) -> Float[Array, "N 3"]:
        """Points of the stone in the frame."""
        return self.state.position[None] + points @ rotation.to_matrix(self.state.attitude).T

    def local(self, points: Float[Array, "N 3"]) -> Float[Array, "N 3"]:
        """Points of the frame in the stone's own."""
        return (points - self.state.position[None]) @ rotation.to_matrix(self.state.attitude)

    def distances(self, points: Float[Array, "N 3"]) -> Float[Array, " N"]:
        """Signed distances of points of the frame."""
        return jax.vmap(self.stone.shape.distance)(self.local(points))


def _both(pair, state) -> tuple[_Placed, _Placed]:
    return _Placed(pair.first, state.first), _Placed(pair.second, state.second)


def _gaps(pair, state):
    """Gaps of all nodes of each stone to the other."""
    a, b = _both(pair, state)
    return b.distances(a.place(a.stone.nodes)), a.distances(b.place(b.stone.nodes))


def _edge_bounds(stone: Stone, gaps: Float[Array, " P"]) -> Float[Array, " E"]:
    """No edge is nearer than this, m: gaps change by no more than the way along the edge."""
    ends = gaps[stone.edges.nodes]
    return 0.5 * (ends[:, 0] + ends[:, 1] - stone.edges.lengths)


def _smallest(values: Sequence[Float[Array, "_"]], count: int) -> list[Int[Array, "_"]]:
    """Where the `count` smallest values of each array are, or all.

    In rows of √N, whose least values are kept: a pick looks at 2 √N numbers. `top_k` would sort them all. The
    arrays are padded to one size, since one search for all of them compiles faster than several.
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


def nearby(pair, state) -> Nearby:
    """The nearest points and edges of both stones now."""
    stones, gaps = (pair.first, pair.second), _gaps(pair, state)
    points = [of[: stone.points.shape[0]] for stone, of in zip(stones, gaps, strict=True)]
    edges = [_edge_bounds(*of) for of in zip(stones, gaps, strict=True)]
    first, second, *along = _smallest(points + edges, POINTS)
    return Nearby((first, second), tuple(edge[:EDGES] for edge in along))


def separation(pair, state, axis: Vec3) -> Scalar:
    """A lower bound on the gap m of two stones with edges: that of their hulls along `axis`, from the first to the
    second, or along the line of centres; -inf for round solids, whose points do not hold them.

    Not for derivatives. Far cheaper than `least_gap`, and above 0 soon after a contact with the normal `axis`.
    """
    if pair.first.edges.nodes.size == 0 or pair.second.edges.nodes.size == 0:
        return jnp.full_like(axis[0], -jnp.inf)
    axes = jnp.stack([axis, safe.unit(state.second.position - state.first.position)])

    def reach(stone, state, axes):
        return jnp.max(stone.points @ rotation.to_matrix(state.attitude).T @ axes.T, axis=0)

    centres = axes @ (state.second.position - state.first.position)
    return jnp.max(centres - reach(pair.first, state.first, axes) - reach(pair.second, state.second, -axes))


def least_gap(pair, state, resolution: Scalar) -> Scalar:
    """A lower bound on the gap m of the surfaces, and their gap where it is below `resolution` m.

    Not for derivatives. Far apart it is the gap of the spheres around them, then that of points and of bounds for
    the edges, then that of points and edges.
    """
    apart = safe.norm(state.second.position - state.first.position) - pair.first.radius - pair.second.radius

    def surfaces():
        stones, gaps = (pair.first, pair.second), _gaps(pair, state)
        bounds = [_edge_bounds(*of) for of in zip(stones, gaps, strict=True)]
        points = _least(*(_touching(*of) for of in zip(stones, gaps, strict=True)))
        edges = _least(*bounds)

        def crossings():
            return _least(_crossings(*_both(pair, state), *_smallest(bounds, EDGES)).gap)

        return jnp.minimum(points, jax.lax.cond(edges > resolution, lambda: edges, crossings))

    return jax.lax.cond(apart > resolution, lambda: apart, surfaces)


def _touching(stone: Stone, gaps: Float[Array, " P"]) -> Float[Array, " P"]:
    """The gaps without those of marks, which touch nothing; but one deep inside tells of edges that crossed."""
    deepest = jnp.max(stone.edges.lengths, initial=0.0)
    is_mark = jnp.arange(gaps.shape[0]) >= stone.points.shape[0]
    return jnp.where(is_mark & (gaps > -deepest), jnp.inf, gaps)


def _least(*gaps: Float[Array, " N"]) -> Scalar:
    return jnp.min(jnp.concatenate(gaps), initial=jnp.inf)


def touches(pair, state, nearby: Nearby) -> ContactFeatures:
    """The features that `nearby` points and edges make; the gap is inf where two edges do not cross."""
    a, b = _both(pair, state)
    at_b = _points(a, b, nearby.points[0], -1.0)
    at_a = _points(b, a, nearby.points[1], 1.0)
    crossings = _crossings(a, b, *nearby.edges)
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), at_b, at_a, crossings)


def _points(of: _Placed, on: _Placed, index: Int[Array, " K"], sign: float) -> ContactFeatures:
    """Points of one stone at the other's surface."""
    points = of.place(of.stone.points[index])
    gap, slope = jax.vmap(jax.value_and_grad(on.stone.shape.distance))(on.local(points))
    return ContactFeatures(gap, sign * slope @ rotation.to_matrix(on.state.attitude).T, points)


def _crossings(a: _Placed, b: _Placed, of_a: Int[Array, " J"], of_b: Int[Array, " J"]) -> ContactFeatures:
    """Edges of the first stone across edges of the second, [J²]."""

    def edges(side: _Placed, index):
        ends = side.place(side.stone.nodes[side.stone.edges.nodes[index]].reshape(-1, 3)).reshape(-1, 2, 3)
        wings = side.stone.edges.wings[index] @ rotation.to_matrix(side.state.attitude).T
        return ends, wings

    one = jax.vmap(jax.vmap(_crossing, in_axes=(None, None, 0, 0)), in_axes=(0, 0, None, None))
    pairs = one(*edges(a, of_a), *edges(b, of_b))
    return ContactFeatures(*(x.reshape(-1, *x.shape[2:]) for x in pairs))


def _crossing(ends_a, wings_a, ends_b, wings_b) -> tuple[Scalar, Vec3, Vec3]:
    """Gap, n̂ and place of two edges: they touch where their lines are nearest, if that lies within both and n̂ is
    normal to both.

    The gap is n̂·(c_b - c_a), negative once the edges have passed through each other.
    """
    along_a, along_b = ends_a[1] - ends_a[0], ends_b[1] - ends_b[0]
    across = jnp.cross(along_a, along_b)
    between = ends_b[0] - ends_a[0]
    square = across @ across
    parallel = square <= 1e-12 * (along_a @ along_a) * (along_b @ along_b)  # 1e-6 rad: a line, not a point
    safe_square = jnp.where(parallel, 1.0, square)
    s = jnp.cross(between, along_b) @ across / safe_square
    t = jnp.cross(between, along_a) @ across / safe_square
    n = across / jnp.sqrt(safe_square)
    n = jnp.where(jnp.sum(wings_a @ n) > 0, -n, n)
    on_a, on_b = ends_a[0] + s * along_a, ends_b[0] + t * along_b
    gap = n @ (on_b - on_a)
    # A depth beyond the pieces' own length belongs to edges on far sides of the stones.
    size = jnp.maximum(along_a @ along_a, along_b @ along_b)
    crosses = (
        ~parallel
        & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
        & jnp.all(wings_a @ n <= _ANGLE) & jnp.all(wings_b @ n >= -_ANGLE)
        & ((gap > 0) | (gap**2 < size))
    )  # fmt: skip
    return jnp.where(crosses, gap, jnp.inf), n, 0.5 * (on_a + on_b)
