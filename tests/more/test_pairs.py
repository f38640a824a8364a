"""Flat lists of pairs against all pairs, when particles of many sizes move, crowd and part."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.dem.near import Near
from difsim.particles.pairs import Pairs
from difsim.shape import Plane
from tests.helpers import all_pairs

made = eqx.filter_jit(Pairs.rebuild)


def sizes(n: int = 300):
    random = np.random.default_rng(1)
    return random.random((3, n)), random.uniform(0.01, 0.06, n)


def to_table(pairs: Pairs) -> np.ndarray:
    """How often each two are in the list, in either order; without the room that is left."""
    first, second = np.asarray(pairs.first), np.asarray(pairs.second)
    table = np.zeros((pairs.radius.size,) * 2, int)
    real = first != second
    np.add.at(table, (first[real], second[real]), 1)
    return table + table.T


def test_each_pair_once():
    x, radius = sizes()
    pairs = made(Pairs.empty(x, radius, gap=0.004, skin=0.01, slack=2.0), jnp.asarray(x))
    np.testing.assert_array_equal(to_table(pairs), all_pairs(x, 0.014, radius))
    assert not pairs.overflow and to_table(pairs).sum() > 200
    moved = x + 0.03 * np.random.default_rng(2).normal(size=x.shape)
    again = made(pairs, jnp.asarray(moved))
    np.testing.assert_array_equal(to_table(again), all_pairs(moved, 0.014, radius))


def test_parts_of_one_body_do_not_meet():
    """Two bodies of a few parts, larger than the rest, among the others; and moving one makes the list stale."""
    x, radius = sizes(60)
    radius[50:] = 0.25
    body = np.array([0] * 6 + [1] * 4)
    pairs = made(Pairs.empty(x, radius, gap=0.0, skin=0.01, slack=2.0, body=body), jnp.asarray(x))
    expected = all_pairs(x, 0.01, radius)
    expected[50:, 50:] &= body[:, None] != body
    np.testing.assert_array_equal(to_table(pairs), expected)
    assert expected[:50, 50:].sum() > 10 and expected[50:56, 56:].any()
    assert (np.diff(np.asarray(pairs.first)[np.asarray(pairs.first != pairs.second)]) >= 0).all()
    assert not pairs.is_stale(jnp.asarray(x)) and pairs.is_stale(jnp.asarray(x).at[0, 57].add(0.006))
    kept = made(pairs, jnp.asarray(x).at[0, 57].add(0.006))
    assert not kept.is_stale(jnp.asarray(x).at[0, 57].add(0.006)) and kept.is_stale(jnp.asarray(x))


def test_what_is_remembered_finds_its_pair():
    x, radius = sizes()
    old = made(Pairs.empty(x, radius, gap=0.0, skin=0.01, slack=2.0), jnp.asarray(x))
    new = made(old, jnp.asarray(x + 0.005 * np.random.default_rng(3).normal(size=x.shape)))
    place = np.asarray(eqx.filter_jit(Pairs.match)(new, old.first, old.second))
    before = {(i, j): k for k, (i, j) in enumerate(zip(*map(np.asarray, (old.first, old.second)), strict=True))}
    ends = zip(*map(np.asarray, (new.first, new.second)), strict=True)
    expected = [before.get((i, j), -1) if i != j else -1 for i, j in ends]
    np.testing.assert_array_equal(place, expected)
    assert (place >= 0).sum() > 100 and (place < 0).any()


def test_overflow_is_a_value():
    x, radius = sizes()
    pairs = made(Pairs.empty(x, radius, gap=0.0, skin=0.01, slack=1.0), jnp.asarray(x))
    crowded = made(pairs, jnp.asarray(0.7 * x))
    assert crowded.overflow and made(crowded, jnp.asarray(x)).overflow  # it stays
    with pytest.raises(ValueError, match="must be finite"):
        Pairs.empty(np.full((3, 4), np.nan), np.ones(4), 0.0, 0.1)


def test_those_at_a_wall():
    x, radius = sizes()
    floor = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    near = eqx.filter_jit(Near.rebuild)(Near.empty(x, radius, (floor,), 0.0, 0.01, slack=2.0), jnp.asarray(x))
    listed = np.asarray(near.at_walls[0])
    np.testing.assert_array_equal(listed[listed < 300], np.flatnonzero(x[2] - radius <= 0.01))
    squeezed = eqx.filter_jit(Near.rebuild)(near, jnp.asarray(x).at[2].multiply(0.2))
    assert squeezed.overflow


def test_lists_of_like_beds_have_one_size():
    """Most of them share a compiled program; without rounded room each of the six has its own."""
    floor = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    shapes = set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, radius = rng.random((3, 4000)), rng.normal(0.03, 0.003, 4000)
        near = Near.empty(x, radius, (floor,), 0.0, 0.01, slack=1.3)
        shapes.add((near.pairs.near.cells, *(leaf.shape for leaf in jax.tree.leaves(near))))
    assert len(shapes) <= 3
