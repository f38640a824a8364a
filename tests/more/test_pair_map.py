"""What is made of each pair: values and derivatives against JAX's own of all pairs at once, in all ways."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.particles.entries import Rows
from difsim.particles.mapped import pair_map
from difsim.particles.parts import CHUNK
from difsim.particles.vectors import dot, minus
from tests.helpers import assert_same_function

COUNT = 90


class Law(eqx.Module):
    """Not symmetric in the two, and bent in all that it hangs on; of a particle with itself it is not zero."""

    stiffness: jax.Array

    def __call__(self, a, b, own):
        memory, itself = own
        offset = minus(a["x"], b["x"])
        push = jnp.sin(self.stiffness * a["charge"]) * b["charge"] ** 2 / (1.0 + dot(offset, offset))
        push = push + memory["old"] ** 2 * self.stiffness
        return {"push": jnp.where(itself, 0.0, push), "kept": push * memory["old"][None] ** 3}


@pytest.fixture(scope="module", params=[CHUNK // 2, 2 * CHUNK + 100])
def scene(request):
    """Pairs of less than one part and of three that overlap; a fifth of the list is room."""
    rng, p = np.random.default_rng(request.param), request.param
    x = jnp.asarray(rng.random((2, COUNT)))
    samples = {"x": (x[0], x[1]), "charge": jnp.asarray(rng.random(COUNT))}
    first = np.sort(rng.integers(1, COUNT, p))
    second = (first + rng.integers(1, COUNT, p)) % COUNT
    first[4 * p // 5 :] = second[4 * p // 5 :] = 0
    who = jnp.asarray(first, jnp.int32), jnp.asarray(second, jnp.int32)
    return (Law(jnp.asarray(1.7)), samples, {"old": jnp.asarray(rng.random(p))}), who


def direct(law, samples, memory, first, second):
    """The same of all pairs at once; nothing of the room."""

    def pick(who):
        return jax.tree.map(lambda x: x[..., who], samples)

    a, b = pick(first), pick(second)
    made = jax.vmap(law, in_axes=-1, out_axes=-1)(a, b, (memory, first == second))
    return jax.tree.map(lambda x: jnp.where(first == second, 0.0, x), made)


def ends(first, second):
    """The rows of both ends of each pair."""
    lists = (Rows.empty(first.size, (COUNT,), is_ordered) for x, is_ordered in ((first, True), (second, False)))
    return tuple(s.rebuild(x, first != second)[0] for s, x in zip(lists, (first, second), strict=True))


def map_pairs(law, samples, memory, first, second):
    """Of the room may be anything: what a caller does not look at."""
    made = pair_map(law, samples, (memory, first == second), ends(first, second))
    return jax.tree.map(lambda x: jnp.where(first == second, 0.0, x), made)


def test_values_and_derivatives_are_those_of_all_pairs_at_once(scene):
    at, who = scene
    assert_same_function(lambda *x: map_pairs(*x, *who), lambda *x: direct(*x, *who), *at)


@pytest.mark.parametrize("by", [0, 1, 2])
def test_derivatives_by_one_alone(scene, by):
    at, who = scene
    one_of = lambda f: lambda x: f(*(x if i == by else y for i, y in enumerate(at)), *who)  # noqa: E731
    assert_same_function(one_of(map_pairs), one_of(direct), at[by])
