"""Derivatives of sums over pairs: against those JAX makes of the dense sum, in all ways that users take."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.particles.parts import CHUNK
from difsim.particles.sums import pair_sums, sum_in_blocks, sum_in_parts
from difsim.particles.vectors import dot, minus, times
from tests.helpers import assert_same_function, close, list_neighbours

REACH = 0.12


class Spring(eqx.Module):
    """A push that is not symmetric in the two, and bends in all that it hangs on."""

    stiffness: jax.Array

    def __call__(self, a, b):
        offset = minus(a["x"], b["x"])
        near = jnp.maximum(1.0 - dot(offset, offset) / REACH**2, 0.0) ** 2
        push = times(self.stiffness * b["charge"] ** 2 * jnp.sin(a["charge"]) * near, offset)
        return push, near * (b["charge"] - a["charge"])


def dense(spring, samples):
    """The same by all pairs."""
    others = jax.vmap(spring, in_axes=(None, -1), out_axes=-1)
    return jax.tree.map(
        lambda x: jnp.sum(x, axis=-1), jax.vmap(others, in_axes=(-1, None), out_axes=-2)(samples, samples)
    )


@pytest.fixture(scope="module", params=[60, CHUNK + 100])
def scene(request):
    """Particles of less than one part of the sums, and of two parts that overlap."""
    rng = np.random.default_rng(request.param)
    x = jnp.asarray(rng.random((2, request.param)) * (request.param / 200) ** 0.5)
    samples = {"x": (x[0], x[1]), "charge": jnp.asarray(rng.random(request.param))}
    return list_neighbours(x, REACH, 0.02), Spring(jnp.asarray(3.0)), samples


def test_values_and_derivatives_are_those_of_the_dense_sum(scene):
    neighbours, *at = scene
    assert_same_function(lambda *x: pair_sums(*x, neighbours), dense, *at)


def test_they_are_mapped(scene):
    neighbours, spring, samples = scene

    def slope(sums, stiffness):
        return jax.grad(lambda k: jnp.sum(sums(Spring(k), samples)[0][1] ** 2))(stiffness)

    listed = lambda *at: pair_sums(*at, neighbours)  # noqa: E731
    stiffnesses = spring.stiffness * jnp.array([1.0, 2.0])
    close(*(jax.jit(jax.vmap(lambda k, f=f: slope(f, k)))(stiffnesses) for f in (listed, dense)))


def test_an_accelerator_sums_as_a_cpu_does(scene):
    neighbours, spring, samples = scene
    each = jax.vmap(spring, in_axes=-1, out_axes=-1)
    close(*(way(each, samples, neighbours.index, neighbours.longest) for way in (sum_in_blocks, sum_in_parts)))
    # Vectors as one array, and more numbers than one reduction adds.
    whole = jax.vmap(lambda a, b: jnp.stack(spring(a, b)[0] * 3), in_axes=-1, out_axes=-1)
    close(*(way(whole, samples, neighbours.index, neighbours.longest) for way in (sum_in_blocks, sum_in_parts)))


def test_a_list_without_room_counts_no_pair_twice(scene):
    neighbours, _, samples = scene
    cut = eqx.tree_at(lambda s: s.index, neighbours, neighbours.index[:2])
    met = pair_sums(lambda a, b: jnp.where(a["charge"] == b["charge"], 0.0, 1.0), samples, cut)
    assert int(neighbours.longest) > 2 and float(jnp.max(met)) == 2.0
