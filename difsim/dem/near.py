"""The neighbour list of grains: pairs of grains, and the grains near each wall."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from difsim.declarations import part
from difsim.dem.state import PADDING
from difsim.particles.entries import ROUGH, Rows, size_room
from difsim.particles.pairs import Pairs
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, Vec3


class GrainWall(AbstractSDF):
    """A wall that holds grains, and that no body among them feels: the rim of a bed that stands for wider ground."""

    tag = "fence"
    sdf: AbstractSDF = part("solid of the wall")

    def distance(self, x: Vec3) -> Scalar:
        return self.sdf.distance(x)


def wall_mask(wall: AbstractSDF, count: int, bodies: int) -> Bool[np.ndarray, " n"]:
    """The mask [count] of spheres on which a wall acts; the last `bodies` of them are parts of bodies."""
    return np.arange(count) < (count - bodies if isinstance(wall, GrainWall) else count)


class Near(eqx.Module):
    """Pairs of grains, and the grains near each wall [q]; room that is left there names `PADDING`.

    **Arguments:** by `Near.empty`.
    """

    pairs: Pairs
    walls: tuple[AbstractSDF, ...]
    at_walls: tuple[Int[Array, " _"], ...]
    by_walls: Rows  # those at all walls, one wall after the other
    overflow: Bool[Array, ""]

    @classmethod
    def empty(
        cls,
        position,
        radius,
        walls: tuple[AbstractSDF, ...],
        gap: float,
        skin: float,
        slack: float,
        body=(),
    ) -> "Near":
        """A stale list with room for the present positions, on the host.

        **Arguments:** `walls`; the others as of `Pairs.empty`. **Returns:** the list. **Raises:** ValueError as
        there.
        """
        pairs = Pairs.empty(position, radius, gap, skin, slack, body)
        # Of those within their own diameter: scattered grains settle in a layer at a wall.
        wide, near = 2 * pairs.radius, eqx.filter_jit(_near_wall)
        counts = [int(jnp.sum(near(pairs, wall, jnp.asarray(position), wide))) for wall in walls]
        rooms = tuple(jnp.zeros(size_room(count, slack, ROUGH), jnp.int32) for count in counts)
        rows = Rows.empty(sum(room.size for room in rooms), (position.shape[1],))
        # A grain is once at each wall.
        rows = eqx.tree_at(lambda s: s.ranks, rows, (jnp.arange(len(walls), dtype=jnp.int32),))
        return cls(pairs, walls, rooms, rows, pairs.overflow)

    @property
    def count(self) -> int:
        """The number of spheres."""
        return self.pairs.radius.shape[0]

    def is_stale(self, position: Float[Array, "3 n"]) -> Bool[Array, ""]:
        """Whether a grain has moved too far for the list."""
        return self.pairs.is_stale(position)

    def rebuild(self, position: Float[Array, "3 n"]) -> "Near":
        """The list made again. Its overflow stays once it is set."""
        position = jax.lax.stop_gradient(position)
        pairs = self.pairs.rebuild(position)
        overflow, at_walls = self.overflow | pairs.overflow, []
        for wall, room in zip(self.walls, self.at_walls, strict=True):
            by = _near_wall(pairs, wall, position, 0.0)
            at_walls.append(jnp.nonzero(by, size=room.shape[0], fill_value=PADDING)[0].astype(jnp.int32))
            overflow |= jnp.sum(by) > room.shape[0]
        rows = self.by_walls
        if at_walls:
            who = jnp.concatenate(at_walls)
            rows, _ = rows.rebuild(who, who != PADDING)
        made = pairs, tuple(at_walls), rows, overflow
        return eqx.tree_at(lambda s: (s.pairs, s.at_walls, s.by_walls, s.overflow), self, made)


def _near_wall(pairs: Pairs, wall: AbstractSDF, position: Float[Array, "3 n"], wide: Any) -> Bool[Array, " n"]:
    """The mask [n] of grains that may touch the wall until the list is stale, or are `wide` m further from it."""
    away = jax.vmap(wall.distance, in_axes=1)(position) - pairs.radius
    return (away <= pairs.gap + pairs.near.skin + wide) & wall_mask(wall, away.size, pairs.body.size)
