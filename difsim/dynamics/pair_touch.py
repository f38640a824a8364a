"""Where two stones are nearest: points of each against the other's distance, and edges against edges.

A feature is a point of one stone at the other's surface, or an edge of one across an edge of the other. Each has a
gap (negative inside), its gradient n̂ from the first stone to the second, and a place. The gap's rate is n̂·u with
the relative velocity u of the bodies' material there.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from difsim import rotation, safe
from difsim.body import RigidState, Stone
from difsim.typing import Scalar, Vec3

POINTS, EDGES = 32, 12  # of each stone, that a contact follows: the nearest ones


class Touches(eqx.Module):
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

    def distance(self, point: Vec3) -> Scalar:
        """Signed distance of a point of the frame."""
        return self.stone.shape.distance(rotation.inverse_rotate(self.state.attitude, point - self.state.position))

    def distances(self, points: Float[Array, "N 3"]) -> Float[Array, " N"]:
        local = (points - self.state.position[None]) @ rotation.to_matrix(self.state.attitude)
        return jax.vmap(self.stone.shape.distance)(local)


def _both(pair, state) -> tuple[_Placed, _Placed]:
    return _Placed(pair.first, state.first), _Placed(pair.second, state.second)


def _gaps(pair, state):
    """Gaps of all nodes of each stone to the other."""
    a, b = _both(pair, state)
    return b.distances(a.place(a.stone.nodes)), a.distances(b.place(b.stone.nodes))


def _edge_bounds(stone: Stone, gaps: Float[Array, " P"]) -> Float[Array, " E"]:
    """No edge is nearer than this, m: gaps change by no more than the way along the edge."""
    start, end = stone.nodes[stone.edges.nodes[:, 0]], stone.nodes[stone.edges.nodes[:, 1]]
    near = gaps[stone.edges.nodes]
    return 0.5 * (near[:, 0] + near[:, 1] - safe.norm(end - start))


def nearby(pair, state) -> Nearby:
    """The nearest points and edges of both stones now."""
    found = []
    for stone, gaps in zip((pair.first, pair.second), _gaps(pair, state), strict=True):
        count = stone.points.shape[0]
        bounds = _edge_bounds(stone, gaps)
        points = jax.lax.top_k(-gaps[:count], min(POINTS, count))[1]
        found.append((points, jax.lax.top_k(-bounds, min(EDGES, bounds.shape[0]))[1]))
    return Nearby(*zip(*found, strict=True))


def least_gap(pair, state) -> Scalar:
    """A lower bound on the gap m of the whole surfaces, exact once they are near. Not for derivatives.

    Far apart it is the gap of the spheres around them, then that of points and ends of edges less half the length
    of the longest piece of an edge, then that of points and edges.
    """
    apart = safe.norm(state.second.position - state.first.position) - pair.first.radius - pair.second.radius
    longest = jnp.zeros(())
    for stone in (pair.first, pair.second):
        ends = stone.nodes[stone.edges.nodes]
        longest = jnp.maximum(longest, jnp.max(safe.norm(ends[:, 1] - ends[:, 0]), initial=0.0))

    def surfaces():
        gaps = _gaps(pair, state)
        nodes = jnp.minimum(jnp.min(gaps[0]), jnp.min(gaps[1]))
        return jax.lax.cond(nodes > longest, lambda: nodes - longest / 2, lambda: features(gaps))

    def features(gaps):
        # Marks of long edges touch nothing.
        near = [jnp.min(g[: stone.points.shape[0]]) for stone, g in zip((pair.first, pair.second), gaps, strict=True)]
        best = [
            jax.lax.top_k(-_edge_bounds(stone, g), min(EDGES, stone.edges.nodes.shape[0]))[1]
            for stone, g in zip((pair.first, pair.second), gaps, strict=True)
        ]
        crossing = _crossings(*_both(pair, state), *best).gap
        return jnp.minimum(jnp.minimum(*near), jnp.min(crossing, initial=jnp.inf))

    return jax.lax.cond(apart > longest, lambda: apart, surfaces)


def touches(pair, state, nearby: Nearby) -> Touches:
    """The features that `nearby` points and edges make; the gap is inf where two edges do not cross."""
    a, b = _both(pair, state)
    at_b = _points(a, b, nearby.points[0], -1.0)
    at_a = _points(b, a, nearby.points[1], 1.0)
    crossings = _crossings(a, b, *nearby.edges)
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), at_b, at_a, crossings)


def _points(of: _Placed, on: _Placed, index: Int[Array, " K"], sign: float) -> Touches:
    """Points of one stone at the other's surface."""
    points = of.place(of.stone.points[index])
    gap, slope = jax.vmap(jax.value_and_grad(on.distance))(points)
    return Touches(gap, sign * slope, points)


def _crossings(a: _Placed, b: _Placed, of_a: Int[Array, " J"], of_b: Int[Array, " J"]) -> Touches:
    """Edges of the first stone across edges of the second, [J²]."""

    def edges(side: _Placed, index):
        ends = side.place(side.stone.nodes[side.stone.edges.nodes[index]].reshape(-1, 3)).reshape(-1, 2, 3)
        wings = side.stone.edges.wings[index] @ rotation.to_matrix(side.state.attitude).T
        return ends, wings

    one = jax.vmap(jax.vmap(_crossing, in_axes=(None, None, 0, 0)), in_axes=(0, 0, None, None))
    pairs = one(*edges(a, of_a), *edges(b, of_b))
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), pairs)


def _crossing(ends_a, wings_a, ends_b, wings_b) -> Touches:
    """Two edges: they touch where their lines are nearest, if that lies within both and n̂ is normal to both.

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
        & jnp.all(wings_a @ n <= 0) & jnp.all(wings_b @ n >= 0)
        & ((gap > 0) | (gap**2 < size))
    )  # fmt: skip
    return Touches(jnp.where(crosses, gap, jnp.inf), n, 0.5 * (on_a + on_b))
