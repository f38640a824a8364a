"""Near pairs of particles, each once, in one flat list: half the work for antisymmetric interactions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from difsim.declarations import quantity
from difsim.particles.entries import FINE, Rows, size_room
from difsim.particles.neighbours import SLACK, Neighbours
from difsim.typing import Scalar, as_float, require, require_last


class Pairs(eqx.Module):
    """Pairs of spheres whose gap is below `gap` + `skin`, each once, in the order of their first particle.

    The list is padded with pairs of particle 0 with itself, and valid as `Neighbours` is. For unequal radii its
    length depends on the gaps, not on the largest radius.

    The last m particles may be parts of bodies: parts of one body are no pair. They are compared with all others,
    so a few of them may be much larger than the rest.

    **Arguments:** by `Pairs.empty`.
    """

    ends: tuple[Rows, Rows]  # the first and the second particle of each pair, and the pairs of each particle
    near: Neighbours  # all particles but the parts of bodies
    radius: Float[Array, " n"]
    body: Int[Array, " m"]  # body of each of the last m particles
    origin: Float[Array, "3 m"]  # their positions when the list was built
    overflow: Bool[Array, ""]
    gap: Scalar = quantity("m", "range of the interaction")

    @classmethod
    def empty(cls, position, radius, gap: float, skin: float, slack: float = SLACK, body=()) -> "Pairs":
        """On the host: a stale list with room for `slack` times the present pairs, at least n.

        **Arguments:** `position` [3, n] m; `radius` [n] m; `gap` m, the range of the interaction; `skin`, `slack`: as
        `Neighbours.empty`; `body` [m], index of the body of each of the last m particles.
        **Returns:** the list.
        **Raises:** ValueError as there, or for a `radius` that is not [n] and a `body` of all n.
        """
        position, body = jnp.asarray(position), np.asarray(body, np.int32)
        # A gather beyond the end returns the last entry without an error.
        require_last("Pairs: position", position, 3, np.size(radius))
        require(body.size < np.size(radius), f"Pairs: {body.size} parts leave no particle alone")
        alone = np.size(radius) - body.size
        own, widest = as_float(position).dtype, 2 * float(np.max(radius[:alone])) + gap
        near = Neighbours.empty(position[:, :alone], widest, skin, slack)
        ends = find_pairs(np.asarray(position, float), np.asarray(radius, float), body, gap + skin)
        # At least one per particle: separate particles meet later, and spare capacity costs little.
        room = max(np.size(radius), size_room(ends[0].size, slack, FINE))
        # Parts of bodies may have many pairs.
        groups = (alone, body.size) if body.size else (alone,)
        first, second = Rows.empty(room, groups, True), Rows.empty(room, groups, False)
        roomy = first.with_room(ends[0], slack), second.with_room(ends[1], slack)
        unplaced = jnp.full((3, body.size), jnp.nan, own)
        return cls(
            roomy,
            near,
            jnp.asarray(radius),
            jnp.asarray(body),
            unplaced,
            jnp.asarray(False),
            jnp.asarray(gap, own),
        )

    @property
    def first(self) -> Int[Array, " p"]:
        """The first particle of each pair."""
        return self.ends[0].who

    @property
    def second(self) -> Int[Array, " p"]:
        """The second particle of each pair."""
        return self.ends[1].who

    def is_stale(self, position: Float[Array, "3 n"]) -> Bool[Array, ""]:
        """True if a particle has moved further than half the skin, or rows are blank: pairs may be missing."""
        alone, parts = self._split_positions(position)
        moved = jnp.max(jnp.sum((parts - self.origin) ** 2, axis=0), initial=0.0)
        late = self.near.is_stale(alone) | ~(moved <= (0.5 * self.near.skin) ** 2)  # true of NaN
        return late | self.ends[0].is_blank

    def rebuild(self, position: Float[Array, "3 n"]) -> "Pairs":
        """The list, rebuilt; its overflow stays once it is set."""
        position = jax.lax.stop_gradient(position)
        alone, parts = self._split_positions(position)
        listed = eqx.tree_at(lambda s: (s.near, s.origin), self, (self.near.rebuild(alone), parts))
        first, second, count = _find(listed, position)
        made = [s.rebuild(x, first != second) for s, x in zip(self.ends, (first, second), strict=True)]
        full = (count > self.first.shape[0]) | made[0][1] | made[1][1]
        ends, overflow = (made[0][0], made[1][0]), self.overflow | listed.near.overflow | full
        return eqx.tree_at(lambda s: (s.ends, s.overflow), listed, (ends, overflow))

    def _split_positions(self, position: Float[Array, "3 n"]):
        """The positions of free particles, and of the parts of bodies."""
        alone = position.shape[1] - self.body.size
        return position[:, :alone], position[:, alone:]

    def match(self, first: Int[Array, " q"], second: Int[Array, " q"]) -> Int[Array, " p"]:
        """The index of each pair of this list in another one, -1 for a new pair, to remap the history of pairs.

        **Arguments:** `first`, `second` [q], the pairs of the other list. **Returns:** indices [p].
        """
        n, q = self.radius.shape[0], first.shape[0]
        # The pairs of one first particle follow each other.
        real = first != second
        count = jnp.zeros(n, jnp.int32).at[first].add(real)
        begin = jnp.full(n, q, jnp.int32).at[first].min(jnp.where(real, jnp.arange(q, dtype=jnp.int32), q))
        begin, many = begin[self.first], count[self.first]

        def look(rank, found):
            place = begin + rank
            same = (rank < many) & (second[place] == self.second)
            return jnp.where(same, place, found)

        found = jax.lax.fori_loop(0, jnp.max(count), look, jnp.full(self.first.shape, -1, jnp.int32))
        return jnp.where(self.first != self.second, found, -1)


def _find(of: Pairs, position: Float[Array, "3 n"]):
    """First and second particle of each pair, and the number of pairs."""
    room = of.first.shape[0]
    own, other, kept = _candidates(of, position)
    place = jnp.where(kept, jnp.minimum(jnp.cumsum(kept) - 1, room), room)
    first, second = (jnp.zeros(room + 1, jnp.int32).at[place].set(who)[:room] for who in (own, other))
    return first, second, jnp.sum(kept, dtype=jnp.int32)


def _candidates(of: Pairs, position: Float[Array, "3 n"]):
    """Candidates for the first and second particle of a pair, in the order of the first, and a mask of pairs."""
    n, m, radius, index, width = position.shape[1], of.body.size, of.radius, of.near.index, of.gap + of.near.skin
    everyone = jnp.arange(n, dtype=jnp.int32)
    alone, parts = everyone[: n - m], everyone[n - m :]
    body = jnp.concatenate([jnp.full(n - m, -1, jnp.int32), of.body])

    def meets(own, who):
        offset = position[:, who] - position[:, own]
        reach = radius[who] + radius[own] + width
        return jnp.sum(offset**2, axis=0) < reach**2

    def slot(who):
        # i keeps j if i < j, or if j < i and both are odd or both even, which distributes the pairs evenly.
        mine = jnp.where((who + alone) % 2 == 1, alone < who, alone > who)
        return mine & meets(alone, who)

    def part(own):
        return (everyone < own) & (body != body[own]) & meets(jnp.full(n, own), everyone)

    rows, wide = jax.lax.map(slot, index), jax.lax.map(part, parts)
    own = jnp.repeat(alone, index.shape[0]), jnp.repeat(parts, n)
    other = index.T.ravel(), jnp.tile(everyone, parts.size)
    return tuple(jnp.concatenate(both) for both in (own, other, (rows.T.ravel(), wide.ravel())))


def find_pairs(
    position: Float[np.ndarray, "3 n"], radius: Float[np.ndarray, " n"], body: Int[np.ndarray, " m"], width: float
) -> tuple[Int[np.ndarray, " p"], Int[np.ndarray, " p"]]:
    """On the host: the first and the second of each pair whose gap is below `width` m, as lists have them.

    **Arguments:** `position` m and `radius` m; `body` of each of the last m; `width`. **Returns:** both.
    """
    from scipy.spatial import KDTree  # 0.1 s that `import difsim` does not need

    alone = radius.size - body.size
    grains = KDTree(position[:, :alone].T, leafsize=16)
    first, second = grains.query_pairs(2 * radius[:alone].max() + width, output_type="ndarray").T
    even = (first + second) % 2 == 0
    found = [np.where(even, [second, first], [first, second])]
    reach = radius[alone:] + radius[:alone].max() + width
    met = grains.query_ball_point(position[:, alone:].T, reach) if body.size else ()
    for part, near in enumerate(met, alone):
        others = np.flatnonzero(body[: part - alone] != body[part - alone]) + alone
        who = np.append(np.asarray(near, int), others)
        found.append(np.stack([np.full(who.size, part), who]))
    first, second = np.concatenate(found, axis=1)
    gap = np.linalg.norm(position[:, first] - position[:, second], axis=0) - radius[first] - radius[second]
    return first[gap < width], second[gap < width]
