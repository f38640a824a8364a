"""Neighbour lists of fixed capacity: allocated on the host, updated under jit, with their overflow as a value.

Particles are sorted into cells as wide as the list's reach. A row of three cells is contiguous in that order, so
the candidates of a particle are 3 (plane) or 9 (space) ranges. Particles outside the grid belong to its border
cells: two particles within reach of each other are always in neighbouring cells, but the capacity may become too
small.
"""

from functools import partial
from itertools import product
from math import prod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from difsim.declarations import quantity
from difsim.particles.entries import ROUGH, size_room
from difsim.typing import Scalar, as_float
from difsim.wide import by_platform

SLACK = 1.3  # capacity over the need of the first arrangement: compacted grains have more neighbours
MOST_CELLS = 2**31  # they are counted in int32
CPU, GPU = 2**12, 2**20  # particles whose candidates are tested together: a cache's worth, and a wide kernel's


class Neighbours(eqx.Module):
    """The other particles within `cutoff` + `skin` of each particle, padded with the particle itself.

    A pair of a particle with itself has distance 0, so sums of terms that vanish with the distance (kernel
    gradients, differences) need no mask. b is in the row of a if a is in that of b, unless `overflow` is set. The
    list is valid while no particle has moved further than half the skin.

    **Arguments:** by `Neighbours.empty`.
    """

    index: Int[Array, "k n"]
    rigid: Bool[Array, " n"]  # of walls and tools: no neighbours of each other
    origin: Float[Array, "d n"]  # positions when the list was built
    longest: Int[Array, ""]  # largest number of neighbours of a particle
    overflow: Bool[Array, ""]  # true if a row is full and pairs are missing
    cells: tuple[int, ...] = eqx.field(static=True)
    cutoff: Scalar = quantity("m", "reach of the interaction")
    skin: Scalar = quantity("m", "distance by which the list sees further")
    corner: Float[Array, " d"] = quantity("m", "corner of the first cell")

    @classmethod
    def empty(cls, position, cutoff: float, skin: float, slack: float = SLACK, rigid=None) -> "Neighbours":
        """On the host: a list with a capacity of `slack` times the present neighbours of the particles.

        It has no neighbours and is stale: a run fills it, and nothing is compiled.

        **Arguments:** `position` [d, n] m, d = 2 or 3; `cutoff`, m: the reach of the interaction; `skin`, m: an
        extra distance, so that the list stays valid for longer; `slack`; `rigid` [n]: particles that do not
        interact with each other.
        **Returns:** the list.
        **Raises:** ValueError for positions that are not finite, not [2 or 3, n], or too far apart, for cutoff ≤ 0,
        skin < 0 or slack < 1.
        """
        x = np.asarray(position, float)
        if x.ndim != 2 or x.shape[0] not in (2, 3) or x.shape[1] == 0 or not np.isfinite(x).all():
            raise ValueError(f"Neighbours: positions of shape {x.shape} must be finite, [2, n] or [3, n]")
        if not (cutoff > 0 and skin >= 0 and slack >= 1):
            raise ValueError(
                f"Neighbours: cutoff = {cutoff} > 0, skin = {skin} >= 0 and slack = {slack} >= 1 must hold"
            )
        rigid = jnp.zeros(x.shape[1], bool) if rigid is None else jnp.asarray(rigid)
        if rigid.shape != x.shape[1:]:
            raise ValueError(f"Neighbours: rigid has shape {rigid.shape} for {x.shape[1]} particles")
        width = cutoff + skin
        corner = x.min(axis=1)
        cells = tuple(size_room(c + 1, 1.0, ROUGH) for c in (np.ptp(x, axis=1) // width))
        if prod(cells) >= MOST_CELLS:
            raise ValueError(
                f"Neighbours: particles up to {np.ptp(x, axis=1).max():.3g} m apart make {prod(cells):.3g} cells of "
                f"{width:.3g} m, more than {MOST_CELLS:.3g}: leave out the particles that are far from the others"
            )
        own = as_float(position).dtype  # in its own precision, as in `rebuild`, and all that is compared with it
        room = size_room(count_near(x, width, np.asarray(rigid)).max(), slack, ROUGH)
        return cls(
            jnp.zeros((room, x.shape[1]), jnp.int32),
            rigid,
            jnp.full(x.shape, jnp.nan, own),  # it is stale
            jnp.asarray(0, jnp.int32),
            jnp.asarray(False),
            cells,
            *(jnp.asarray(of_cells, own) for of_cells in (cutoff, skin, corner)),
        )

    @property
    def count(self) -> int:
        """The number of particles."""
        return self.origin.shape[1]

    def is_stale(self, position: Float[Array, "d n"]) -> Bool[Array, ""]:
        """True if a particle has moved further than half the skin: a new neighbour may then be missing."""
        moved = jnp.max(jnp.sum((position - self.origin) ** 2, axis=0))
        return ~(moved <= (0.5 * self.skin) ** 2)  # true of NaN

    def update(self, position: Float[Array, "d n"]) -> "Neighbours":
        """The list for `position`, rebuilt only if it is stale, also under jit; check `overflow`."""
        return jax.lax.cond(self.is_stale(position), lambda: self.rebuild(position), lambda: self)

    def rebuild(self, position: Float[Array, "d n"]) -> "Neighbours":
        """The list, rebuilt; its overflow stays once it is set."""
        position = jax.lax.stop_gradient(position)
        index, length = _rows(self, position)
        overflow = self.overflow | jnp.any(length > self.index.shape[0])
        new = index, position, jnp.max(length), overflow
        return eqx.tree_at(lambda s: (s.index, s.origin, s.longest, s.overflow), self, new)


def _ranges(of: Neighbours, position: Float[Array, "d n"]):
    """Particles in the order of their cells, and a function of one particle: the ends of its ranges [3^(d-1)]."""
    cells = np.asarray(of.cells, np.int32)
    strides = np.cumprod((1, *of.cells[:0:-1]))[::-1].astype(np.int32)  # the last axis varies fastest
    position = position.T
    own = jnp.floor((position - of.corner[None]) / (of.cutoff + of.skin))
    own = jnp.clip(own, 0, (cells - 1)[None]).astype(jnp.int32)
    flat = jnp.sum(own * strides[None], axis=1)
    order = jnp.argsort(flat).astype(jnp.int32)
    # The start of each cell in that order, and the end of the last.
    first = jnp.searchsorted(flat[order], jnp.arange(np.prod(cells) + 1), method="sort").astype(jnp.int32)
    around = np.array([(*o, 0) for o in product((-1, 0, 1), repeat=len(cells) - 1)], dtype=np.int32)

    def ends(i):
        rows = own[i][None] + around
        exists = jnp.all((rows >= 0) & (rows < cells[None]), axis=1)
        flat = jnp.sum(rows * strides[None], axis=1)
        left = jnp.where(exists, flat - (own[i, -1] > 0), 0)
        right = jnp.where(exists, flat + 1 + (own[i, -1] < cells[-1] - 1), 0)
        return first[left], first[right]

    return order, ends


def _rows(of: Neighbours, position: Float[Array, "d n"]) -> tuple[Int[Array, "k n"], Int[Array, " n"]]:
    """The row of each particle, and the number of its neighbours."""
    order, ends = _ranges(of, position)
    room, reach, n = of.index.shape[0], of.cutoff + of.skin, position.shape[1]
    who = jnp.arange(n, dtype=jnp.int32)
    position = position.T
    begin, end = jax.vmap(ends)(who)
    fullest = jnp.max(end - begin)

    def row(own):
        i, begin, end = own

        def look(rank, found):
            # One candidate of each range. Others, or those beyond the capacity, go to a column that is cut off.
            for first, last in zip(begin, end, strict=True):
                place = first + rank
                candidate = order[jnp.minimum(place, n - 1)]
                offset = position[candidate] - position[i]
                near = (place < last) & (offset @ offset < reach**2) & (candidate != i)
                near &= ~(of.rigid[candidate] & of.rigid[i])
                listed, count = found
                column = jnp.where(near, jnp.minimum(count, room), room)
                found = listed.at[column].set(candidate), count + near
            return found

        listed, count = jax.lax.fori_loop(0, fullest, look, (jnp.full(room + 1, i), jnp.zeros((), jnp.int32)))
        return listed[:room], count

    ways = {"cpu": CPU, "default": GPU}
    index, length = by_platform(
        (who, begin, end), **{name: partial(jax.lax.map, row, batch_size=size) for name, size in ways.items()}
    )
    return index.T, length


def count_near(
    position: Float[np.ndarray, "d n"], reach: float, rigid: Bool[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """On the host: how many others are within `reach` m of each particle; of a rigid one, others that are not.

    **Arguments:** `position`, m; `reach`; `rigid`. **Returns:** the numbers.
    """
    from scipy.spatial import KDTree  # 0.1 s that `import difsim` does not need

    def count(some):
        own = KDTree(position[:, some].T, leafsize=16)
        return own.query_ball_point(position[:, some].T, reach, return_length=True, workers=-1)

    found = count(slice(None)) - 1
    if rigid.any():
        found[rigid] -= count(rigid) - 1
    return found
