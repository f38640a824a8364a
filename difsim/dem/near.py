"""The neighbour list of grains: pairs of grains, and the grains near each wall."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from difsim.declarations import part
from difsim.dem.state import PADDING
from difsim.particles.entries import Rows
from difsim.particles.pairs import Pairs
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, Vec3

LAYERED = 2  # times as many grains as are at a wall now: there they settle in a layer, where they lay scattered


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

    **Arguments:** by `Near.allocate`.
    """

    pairs: Pairs
    walls: tuple[AbstractSDF, ...]
    at_walls: tuple[Int[Array, " _"], ...]
    by_walls: Rows  # those at all walls, one wall after the other
    overflow: Bool[Array, ""]

    @classmethod
    def allocate(
        cls,
        position,
        radius,
        walls: tuple[AbstractSDF, ...],
        gap: float,
        skin: float,
        slack: float,
        body=(),
    ) -> "Near":
        """The list for the present positions, on the host.

        **Arguments:** `walls`; the others as of `Pairs.allocate`. **Returns:** the list. **Raises:** ValueError as
        there.
        """
        pairs = Pairs.allocate(position, radius, gap, skin, slack, body)
        counts = [int(jnp.sum(eqx.filter_jit(_near_wall)(pairs, wall, jnp.asarray(position)))) for wall in walls]
        rooms = tuple(jnp.zeros(1 + int(np.ceil(LAYERED * slack * count)), jnp.int32) for count in counts)
        rows = Rows.empty(sum(room.size for room in rooms), (position.shape[1],))
        # A grain is once at each wall.
        rows = eqx.tree_at(lambda s: s.ranks, rows, (jnp.arange(len(walls), dtype=jnp.int32),))
        return eqx.filter_jit(Near._fill)(cls(pairs, walls, rooms, rows, pairs.overflow), jnp.asarray(position))

    @property
    def count(self) -> int:
        """The number of spheres."""
        return self.pairs.radius.shape[0]

    def is_stale(self, position: Float[Array, "3 n"]) -> Bool[Array, ""]:
        """Whether a grain has moved too far for the list."""
        return self.pairs.is_stale(position)

    def rebuild(self, position: Float[Array, "3 n"]) -> "Near":
        """The list made again. Its overflow stays once it is set."""
        return eqx.tree_at(lambda s: s.pairs, self, self.pairs.rebuild(position))._fill(position)

    def _fill(self, position: Float[Array, "3 n"]) -> "Near":
        position = jax.lax.stop_gradient(position)
        overflow, at_walls = self.overflow | self.pairs.overflow, []
        for wall, room in zip(self.walls, self.at_walls, strict=True):
            by = _near_wall(self.pairs, wall, position)
            at_walls.append(jnp.nonzero(by, size=room.shape[0], fill_value=PADDING)[0].astype(jnp.int32))
            overflow |= jnp.sum(by) > room.shape[0]
        rows = self.by_walls
        if at_walls:
            who = jnp.concatenate(at_walls)
            rows, _ = rows.rebuild(who, who != PADDING)
        return eqx.tree_at(lambda s: (s.at_walls, s.by_walls, s.overflow), self, (tuple(at_walls), rows, overflow))


def _near_wall(pairs: Pairs, wall: AbstractSDF, position: Float[Array, "3 n"]) -> Bool[Array, " n"]:
    """The mask [n] of grains that may touch the wall until the list is stale."""
    away = jax.vmap(wall.distance, in_axes=1)(position) - pairs.radius
    return (away <= pairs.gap + pairs.near.skin) & wall_mask(wall, away.size, pairs.body.size)
