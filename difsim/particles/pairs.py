"""Near pairs of particles, each once, in one flat list: half the work for antisymmetric interactions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from difsim.fields import number
from difsim.particles.neighbours import SLACK, Neighbours
from difsim.typing import Scalar, require, require_last


class Pairs(eqx.Module):
    """Pairs of spheres whose gap is below `gap` + `skin`, each once, in the order of their first particle.

    The list is padded with pairs of particle 0 with itself, and valid as `Neighbours` is. For unequal radii its
    length depends on the gaps, not on the largest radius.

    The last m particles may be parts of bodies: parts of one body are no pair. They are compared with all others,
    so a few of them may be much larger than the rest.

    **Arguments:** by `Pairs.allocate`.
    """

    first: Int[Array, " p"]
    second: Int[Array, " p"]
    near: Neighbours  # all particles but the parts of bodies
    radius: Float[Array, " n"]
    body: Int[Array, " m"]  # body of each of the last m particles
    origin: Float[Array, "3 m"]  # their positions when the list was built
    gap: Scalar = number()
    overflow: Bool[Array, ""]

    @classmethod
    def allocate(cls, position, radius, gap: float, skin: float, slack: float = SLACK, body=()) -> "Pairs":
        """On the host: a list with a capacity of `slack` times the present pairs, at least n.

        **Arguments:** `position` [3, n] m; `radius` [n] m; `gap` m, the range of the interaction; `skin`, `slack`:
        as `Neighbours.allocate`; `body` [m], index of the body of each of the last m particles. **Returns:** the
        list.
        **Raises:** ValueError as there, or for a `radius` that is not [n] and a `body` of all n.
        """
        position, body = jnp.asarray(position), jnp.asarray(body, jnp.int32)
        # A gather beyond the end returns the last entry without an error.
        require_last("Pairs: position", position, 3, np.size(radius))
        require(body.size < np.size(radius), f"Pairs: {body.size} parts leave no particle alone")
        alone = position.shape[1] - body.size
        widest = 2 * float(np.max(radius[:alone])) + gap
        near = Neighbours.allocate(position[:, :alone], widest, skin, slack)
        none = jnp.zeros(1, jnp.int32)
        start = position[:, alone:]
        empty = cls(
            none, none, near, jnp.asarray(radius), body, start, jnp.asarray(gap, start.dtype), jnp.asarray(False)
        )
        # At least one per particle: separate particles meet later, and spare capacity costs little.
        room = max(position.shape[1], int(np.ceil(slack * int(_count(empty, position)))))
        sized = eqx.tree_at(lambda s: (s.first, s.second), empty, (jnp.zeros(room, jnp.int32),) * 2)
        return eqx.filter_jit(Pairs._filled)(sized, position)

    def is_stale(self, position: Float[Array, "3 n"]) -> Bool[Array, ""]:
        """True if a particle has moved further than half the skin: a new pair may then be missing."""
        alone, parts = self._apart(position)
        moved = jnp.max(jnp.sum((parts - self.origin) ** 2, axis=0), initial=0.0)
        return self.near.is_stale(alone) | ~(moved <= (0.5 * self.near.skin) ** 2)  # true of NaN

    def made(self, position: Float[Array, "3 n"]) -> "Pairs":
        """The list, rebuilt; its overflow stays once it is set."""
        alone, parts = self._apart(jax.lax.stop_gradient(position))
        return eqx.tree_at(lambda s: (s.near, s.origin), self, (self.near.made(alone), parts))._filled(position)

    def _apart(self, position: Float[Array, "3 n"]):
        """The positions of free particles, and of the parts of bodies."""
        alone = position.shape[1] - self.body.size
        return position[:, :alone], position[:, alone:]

    def _filled(self, position: Float[Array, "3 n"]) -> "Pairs":
        own, other, kept = _candidates(self, jax.lax.stop_gradient(position))
        room = self.first.shape[0]
        place = jnp.where(kept, jnp.minimum(jnp.cumsum(kept) - 1, room), room)
        first, second = (jnp.zeros(room + 1, jnp.int32).at[place].set(who)[:room] for who in (own, other))
        overflow = self.overflow | self.near.overflow | (jnp.sum(kept) > room)
        return eqx.tree_at(lambda s: (s.first, s.second, s.overflow), self, (first, second, overflow))

    def carried(self, first: Int[Array, " q"], second: Int[Array, " q"]) -> Int[Array, " p"]:
        """The index of each pair of this list in another one, -1 for a new pair, to remap the history of pairs.

        **Arguments:** `first`, `second` [q], the pairs of the other list. **Returns:** indices [p].
        """
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


def _candidates(of: Pairs, position: Float[Array, "3 n"]):
    """Candidates for the first and second particle of a pair, in the order of the first, and a mask of pairs."""
    index, n, m = of.near.index, position.shape[1], of.body.size
    everyone = jnp.arange(n, dtype=jnp.int32)
    alone, parts = everyone[: n - m], everyone[n - m :]
    body = jnp.concatenate([jnp.full(n - m, -1, jnp.int32), of.body])

    def meets(own, who):
        offset = position[:, who] - position[:, own]
        reach = of.radius[who] + of.radius[own] + of.gap + of.near.skin
        return jnp.sum(offset**2, axis=0) < reach**2

    def slot(who):
        # i keeps j if i < j, or if j < i and both are odd or both even, which distributes the pairs evenly.
        mine = jnp.where((who + alone) % 2 == 1, alone < who, alone > who)
        return mine & meets(alone, who)

    def part(own):
        return ((everyone < own) & (body != body[own])) & meets(jnp.full(n, own), everyone)

    rows, wide = jax.lax.map(slot, index), jax.lax.map(part, parts)
    own = jnp.repeat(alone, index.shape[0]), jnp.repeat(parts, n)
    other = index.T.ravel(), jnp.tile(everyone, m)
    return tuple(jnp.concatenate(both) for both in (own, other, (rows.T.ravel(), wide.ravel())))


@eqx.filter_jit
def _count(of: Pairs, position: Float[Array, "3 n"]) -> Int[Array, ""]:
    return jnp.sum(_candidates(of, position)[2])
