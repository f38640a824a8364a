"""Each two particles near each other once, in one flat list: half the work where pairs push back alike."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from difsim.particles.neighbours import SLACK, Neighbours
from difsim.typing import Scalar, number


class Pairs(eqx.Module):
    """Pairs of spheres whose gap is below `gap` + `skin`, each once, in the order of their first particle.

    Room that is left is filled with pairs of particle 0 with itself. Valid as `Neighbours` is. Where radii differ
    the list is as short as the gaps allow, not as long as the largest radius would make it.

    **Arguments:** by `Pairs.allocate`.
    """

    first: Int[Array, " p"]
    second: Int[Array, " p"]
    near: Neighbours
    radius: Float[Array, " n"]
    gap: Scalar = number()
    overflow: Bool[Array, ""]

    @classmethod
    def allocate(cls, position, radius, gap: float, skin: float, slack: float = SLACK) -> "Pairs":
        """A list with room for `slack` times the pairs that there are now. On the host.

        **Arguments:** `position` [3, n] m; `radius` [n] m; `gap` m, up to which particles meet; `skin`, `slack`:
        as `Neighbours.allocate`. **Raises:** ValueError as there.
        """
        widest = 2 * float(np.max(radius)) + gap
        near = Neighbours.allocate(position, widest, skin, slack)
        none = jnp.zeros(1, jnp.int32)
        empty = cls(none, none, near, jnp.asarray(radius), gap, jnp.asarray(False))
        room = max(1, int(np.ceil(slack * int(_count(empty, jnp.asarray(position))))))
        sized = eqx.tree_at(lambda s: (s.first, s.second), empty, (jnp.zeros(room, jnp.int32),) * 2)
        return eqx.filter_jit(Pairs._filled)(sized, jnp.asarray(position))

    def is_stale(self, position: Float[Array, "3 n"]) -> Bool[Array, ""]:
        """Whether a particle has moved further than half the skin: two of them may then touch unlisted."""
        return self.near.is_stale(position)

    def made(self, position: Float[Array, "3 n"]) -> "Pairs":
        """The list made again. Its overflow stays once it is set."""
        return eqx.tree_at(lambda s: s.near, self, self.near.made(position))._filled(position)

    def _filled(self, position: Float[Array, "3 n"]) -> "Pairs":
        position = jax.lax.stop_gradient(position)
        kept = _kept(self, position)
        room = self.first.shape[0]
        place = jnp.where(kept, jnp.minimum(jnp.cumsum(kept) - 1, room), room)
        own = jnp.repeat(jnp.arange(position.shape[1], dtype=jnp.int32), self.near.index.shape[0])
        first, second = (
            jnp.zeros(room + 1, jnp.int32).at[place].set(who)[:room] for who in (own, self.near.index.T.ravel())
        )
        overflow = self.overflow | self.near.overflow | (jnp.sum(kept) > room)
        return eqx.tree_at(lambda s: (s.first, s.second, s.overflow), self, (first, second, overflow))

    def carried(self, first: Int[Array, " q"], second: Int[Array, " q"]) -> Int[Array, " p"]:
        """Where each pair of this list stands in another, -1 where it is new there: for what pairs remember."""
        n = self.radius.shape[0]
        count = jnp.zeros(n, jnp.int32).at[first].add(first != second)
        end = jnp.cumsum(count)
        begin, many = (end - count)[self.first], count[self.first]

        def look(rank, found):
            place = begin + rank
            same = (rank < many) & (second[place] == self.second)
            return jnp.where(same, place, found)

        found = jax.lax.fori_loop(0, jnp.max(count), look, jnp.full(self.first.shape, -1, jnp.int32))
        return jnp.where(self.first != self.second, found, -1)


def _kept(of: Pairs, position: Float[Array, "3 n"]) -> Bool[Array, " kn"]:
    """Which entries of the rows of neighbours are pairs to keep."""
    index = of.near.index

    def slot(who):
        offset = position[:, who] - position
        reach = of.radius[who] + of.radius + of.gap + of.near.skin
        own = jnp.arange(who.shape[0], dtype=who.dtype)
        # i keeps j where i < j, or where j < i if the two are both odd or both even: shares out the pairs evenly.
        mine = jnp.where((who + own) % 2 == 1, own < who, own > who)
        return mine & (jnp.sum(offset**2, axis=0) < reach**2)

    return jax.lax.map(slot, index).T.ravel()


@eqx.filter_jit
def _count(of: Pairs, position: Float[Array, "3 n"]) -> Int[Array, ""]:
    return jnp.sum(_kept(of, position))
