"""Neighbour lists against all pairs, when particles move, crowd and escape."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.particles.neighbours import Neighbours
from difsim.particles.sums import pair_sums
from tests.helpers import all_pairs, list_neighbours

updated = eqx.filter_jit(Neighbours.update)


def list_table(neighbours: Neighbours) -> np.ndarray:
    """The list as a table [n, n] of who is near whom."""
    _, n = neighbours.index.shape
    table = np.zeros((n, n), bool)
    table[np.arange(n)[None], np.asarray(neighbours.index)] = True
    return table & ~np.eye(n, dtype=bool)


@pytest.mark.parametrize("d", [2, 3])
def test_all_methods_find_the_same(d):
    x = np.random.default_rng(d).random((d, 300))
    neighbours = list_neighbours(x, 0.15, 0.03, slack=3.0)
    assert not neighbours.overflow and neighbours.index.shape[0] < 300
    np.testing.assert_array_equal(list_table(neighbours), all_pairs(x, 0.18))
    # Flown out of the first grid, on all sides.
    far = jnp.asarray(x * 1.8 - 0.4)
    neighbours = updated(neighbours, far)
    assert not neighbours.overflow
    np.testing.assert_array_equal(list_table(neighbours), all_pairs(far, 0.18))
    # Of the rows, the longest; sums over pairs go as far.
    assert int(neighbours.longest) == int(all_pairs(far, 0.18).sum(axis=0).max()) < neighbours.index.shape[0]
    weight = jnp.asarray(np.random.default_rng(0).random(300))
    sums = pair_sums(lambda a, b: b[1] * (a[0] - b[0]), (far, weight), neighbours)
    offset = far[:, :, None] - far[:, None]
    dense = jnp.sum(jnp.where(all_pairs(far, 0.18), weight[None], 0.0)[None] * offset, axis=2)
    np.testing.assert_allclose(sums, dense, atol=1e-12)


def test_rigid_particles_do_not_meet_each_other():
    x = np.random.default_rng(0).random((2, 200))
    rigid = np.arange(200) < 50
    some = list_table(list_neighbours(x, 0.15, 0.0, rigid=rigid))
    closest_point = ~(rigid[:, None] & rigid[None])
    np.testing.assert_array_equal(some, np.asarray(all_pairs(jnp.asarray(x), 0.15)) & closest_point)


def test_a_list_lasts_for_half_its_skin():
    x = jnp.asarray(np.random.default_rng(0).random((2, 100)))
    neighbours = list_neighbours(x, 0.2, 0.1)
    near, far = x.at[0, 3].add(0.049), x.at[0, 3].add(0.051)
    assert updated(neighbours, near).origin is not near
    np.testing.assert_array_equal(updated(neighbours, near).origin, x)
    np.testing.assert_array_equal(updated(neighbours, far).origin, far)
    assert bool(neighbours.is_stale(x.at[0, 0].set(jnp.nan)))


def test_too_many_neighbours_are_an_overflow_that_stays():
    x = jnp.asarray(np.random.default_rng(0).random((2, 200)))
    neighbours = list_neighbours(x, 0.1, 0.0, slack=1.0)
    crowded = updated(neighbours, x * 0.3)
    assert crowded.overflow
    assert updated(crowded, x).overflow


def test_derivatives_pass_by_the_list():
    x = jnp.asarray(np.random.default_rng(0).random((2, 50)))
    neighbours = list_neighbours(x, 0.3, 0.0)

    def energy(scale):
        y = scale * x
        near = neighbours.rebuild(y)
        return jnp.sum((y[:, None] - y[:, near.index]) ** 2)

    value, slope = jax.jit(jax.value_and_grad(energy))(1.0)
    np.testing.assert_allclose(slope, 2 * value, rtol=1e-12)
