"""Sums by particle of what the entries of a list give, such as forces of pairs, and their transposes.

A CPU adds up one entry after the other. Additions at arbitrary places are slow on an accelerator, where many wait for
each other at one particle. There each particle adds up its own entries, whose places are looked up once for each list.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from difsim.particles.transposed import linear
from difsim.wide import by_platform

BLANK = -1
LEAST = 16  # entries that a particle has room for: equal spheres cannot have many more near ones
FINE, ROUGH = 16, 4  # sizes in a power of two: of a list of all, whose room costs time, and of short ones


def size_room(count: Any, slack: float, parts: int) -> int:
    """Room for `slack` times a count, rounded up to one of `parts` numbers in each power of two.

    So lists of like beds have arrays of one size, and share a compiled program.

    **Arguments:** `count`; `slack`; `parts`. **Returns:** the room, at least 1.
    """
    needed = max(1.0, slack * float(count))
    step = 2.0 ** np.floor(np.log2(needed)) / parts
    return int(np.ceil(step * np.ceil(needed / step)))


class Rows(eqx.Module):
    """The particle of each entry of a list, and the entries of each of n particles.

    Particles come in groups, the members of which have room for equally many entries: a few that have many do not make
    the others slow. The memory is the same for any room. On a CPU all but `who` is blank.

    `who`, the particle of each entry; `order`, the entries in the order of their particles, padding last, or None where
    they are in order; of each group: `begin`, where the entries of its members begin in that order, and the last ends;
    `ranks`, 0, 1, ..., as many as there is room for.

    **Arguments:** by `Rows.empty`.
    """

    who: Int[Array, " q"]
    order: Int[Array, " q"] | None
    begin: tuple[Int[Array, " _"], ...]
    ranks: tuple[Int[Array, " _"], ...]

    @classmethod
    def empty(cls, q: int, groups: Sequence[int], is_ordered: bool = False) -> "Rows":
        """The rows of a list without entries.

        **Arguments:** `q`, the room of the list; `groups`, the number of particles in each; `is_ordered`, whether the
        entries are always in the order of their particles. **Returns:** the rows.
        """
        begin = tuple(jnp.zeros(size + 1, jnp.int32) for size in groups)
        ranks = tuple(jnp.arange(LEAST, dtype=jnp.int32) for _ in groups)
        who = jnp.zeros(q, jnp.int32)
        return cls(who, None if is_ordered else who, begin, ranks)

    @property
    def is_blank(self) -> Bool[Array, ""]:
        """Whether an accelerator has rows that a CPU made, which does not fill them."""
        # Begins are all blank, or none.
        first = self.begin[0][..., 0]
        return by_platform(first, cpu=lambda x: x != x, default=lambda x: x == BLANK)

    @property
    def groups(self) -> tuple[int, ...]:
        """The number of particles in each group."""
        return tuple(begin.shape[-1] - 1 for begin in self.begin)

    def with_room(self, who: np.ndarray, slack: float) -> "Rows":
        """The rows with room for `slack` times the entries of a particle, and for `LEAST`. On the host.

        **Arguments:** `who`, the particle of each entry, without padding; `slack`. **Returns:** the rows.
        """
        counts = np.split(np.bincount(who, minlength=sum(self.groups)), np.cumsum(self.groups)[:-1])
        most = (max(LEAST, size_room(count.max(initial=0), slack, ROUGH)) for count in counts)
        return eqx.tree_at(lambda s: s.ranks, self, tuple(jnp.arange(k, dtype=jnp.int32) for k in most))

    def rebuild(self, who: Int[Array, " q"], real: Bool[Array, " q"]) -> tuple["Rows", Bool[Array, ""]]:
        """The rows of other entries.

        **Arguments:** `who` [q], the particle of each; `real` [q], False for padding. **Returns:** the rows, and
        whether a particle has more entries than there is room for.
        """

        def blank(*given):
            like = jax.eval_shape(found, *given)
            order, begin, full = jax.tree.map(lambda x: jnp.full(x.shape, BLANK).astype(x.dtype), like)
            return order, begin, ~full  # a blank mask is True

        found = partial(sort_entries, self.groups, self.order is None)
        order, begin, full = by_platform(self.ranks, who, real, cpu=blank, default=found)
        return replace(self, who=who, order=order, begin=begin), full


def sort_entries(
    groups: tuple[int, ...],
    is_ordered: bool,
    ranks: tuple[Int[Array, " _"], ...],
    who: Int[Array, " q"],
    real: Bool[Array, " q"],
) -> tuple[Int[Array, " q"] | None, tuple[Int[Array, " _"], ...], Bool[Array, ""]]:
    """The entries in the order of their particles, as `Rows` has them, and whether one has too many of them.

    **Arguments:** `groups`, the number of particles in each; `is_ordered`, whether entries are in order already;
    `ranks`, `who`, `real`: as of `Rows`. **Returns:** `order`, `begin`, and the mask.
    """
    ends = np.cumsum((0, *groups), dtype=np.int32)
    key = jnp.where(real, who, ends[-1])
    order = None if is_ordered else jnp.argsort(key).astype(jnp.int32)
    key = key if order is None else key[order]
    every = jnp.searchsorted(key, jnp.arange(ends[-1] + 1, dtype=key.dtype), method="sort").astype(jnp.int32)
    begin = tuple(every[a : b + 1] for a, b in pairwise(ends))
    full = [jnp.any(b[1:] - b[:-1] > r.shape[0]) for b, r in zip(begin, ranks, strict=True)]
    return order, begin, jnp.any(jnp.stack(full))


def totals(lists: tuple[Rows, ...], values: tuple[Any, ...], others: Any = None) -> Any:
    """The sums by particle of what all entries of some lists give, with derivatives in both modes.

    **Arguments:** `lists`; `values` of each, a pytree of arrays with a last axis of its entries, zero for those of
    padding; `others`, sums to which these are added. **Returns:** such a pytree with a last axis of n.
    """
    if others is None:
        return linear(_add, _take, lists, values)
    return linear(_add_to, _take_both, lists, (others, values))


def gather(lists: tuple[Rows, ...], samples: Any) -> tuple[Any, ...]:
    """The samples of the particle of each entry; the transpose of `totals`.

    **Arguments:** `lists`; `samples`, a pytree of arrays with a last axis of n. **Returns:** for each list such a
    pytree, with a last axis of its entries.
    """
    return linear(_take, _add, lists, samples)


def _add_to(lists: tuple[Rows, ...], given: tuple[Any, tuple[Any, ...]]) -> Any:
    others, values = given
    return _add(lists, values, others)


def _take_both(lists: tuple[Rows, ...], sums: Any) -> tuple[Any, tuple[Any, ...]]:
    return sums, _take(lists, sums)


def _add(lists: tuple[Rows, ...], values: tuple[Any, ...], others: Any = None) -> Any:
    return by_platform(others, lists, values, cpu=one_by_one, default=sum_rows)


def _take(lists: tuple[Rows, ...], samples: Any) -> tuple[Any, ...]:
    return tuple(jax.tree.map(lambda x: x.at[..., s.who].get(mode="clip"), samples) for s in lists)  # noqa: B023


def one_by_one(others: Any, lists: tuple[Rows, ...], values: tuple[Any, ...]) -> Any:
    """The sums by particle, one entry after the other."""
    n = sum(lists[0].groups)

    def total(sums, *each):
        for rows, x in zip(lists, each, strict=True):
            sums = sums.at[..., rows.who].add(x)
        return sums

    if others is None:
        others = jax.tree.map(lambda x: jnp.zeros((*x.shape[:-1], n), x.dtype), values[0])
    return jax.tree.map(total, others, *values)


def sum_rows(others: Any, lists: tuple[Rows, ...], values: tuple[Any, ...]) -> Any:
    """The sums by particle, each of its own entries."""
    entries = [_entries(rows) for rows in lists]

    def total(*each):
        # Number by number: together they would be written in the order of the entries, and transposed.
        numbers = zip(*(x.reshape(-1, x.shape[-1]) for x in each), strict=True)
        sums = [reduce(add, (_sums(found, x) for found, x in zip(entries, of, strict=True))) for of in numbers]
        return jnp.stack(sums).reshape(*each[0].shape[:-1], -1)

    sums = jax.tree.map(total, *values)
    return sums if others is None else jax.tree.map(jnp.add, others, sums)


def _entries(rows: Rows) -> list[tuple[Array, Array]]:
    """The entries of the particles of each group, [k, _], and the mask of those that there are."""
    found = []
    for begin, ranks in zip(rows.begin, rows.ranks, strict=True):
        place = begin[None, :-1] + ranks[:, None]
        there = place < begin[None, 1:]
        # Beyond a row: one place for all, which stays in a cache.
        place = jnp.where(there, place, 0)
        found.append((place if rows.order is None else _gather_at(rows.order, place), there))
    return found


def _sums(entries: list[tuple[Array, Array]], x: Array) -> Array:
    """The sums of what each entry gives, [q], for the particles of all groups."""
    return jnp.concatenate(
        [jnp.sum(jnp.where(there, _gather_at(x, entry), 0), axis=0) for entry, there in entries]
    )


def _gather_at(x: Array, place: Array) -> Array:
    return x.at[place].get(mode="promise_in_bounds")
