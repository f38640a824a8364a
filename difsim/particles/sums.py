"""Sums over pairs: what each particle gets from all of its neighbours."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from difsim.particles.neighbours import Neighbours
from difsim.particles.transposed import linear

# Particles whose sums are made together on a CPU: what they need stays in its nearest cache. Not a power of two,
# whose arrays would all begin at the same line of that cache and push each other out.
CHUNK = 504


def pair_sums(interaction: Callable[[Any, Any], Any], samples: Any, neighbours: Neighbours) -> Any:
    """Σ_b interaction(a, b) of every particle a with its neighbours b.

    One neighbour of each particle is taken at a time, so that what is computed are long arrays without gaps, and
    nothing of the size of all pairs is ever kept. The list tells of each pair twice, so the transpose of such a
    sum is one again: reverse derivatives are sums over neighbours as well, and scatter nothing.

    **Arguments:** `interaction` of two particles, zero for a particle with itself; `samples`: a pytree of arrays
    whose last axis are the particles, fastest where it is the only one; `neighbours`: theirs.
    **Returns:** what `interaction` does, with a last axis of n.
    """
    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), samples)
    # Not `interaction` itself: a Module has no hash.
    law, numbers = jax.closure_convert(lambda a, b: interaction(a, b), one, one)
    return _sums(
        lambda numbers, a, b: law(a, b, *numbers), (numbers, samples), neighbours.index, neighbours.longest
    )


def _sums(one: Callable[[Any, Any, Any], Any], given: tuple[Any, Any], index, longest) -> Any:
    """Sums of one(numbers, a, b), given the numbers and the samples, with their derivatives by both."""

    @jax.custom_jvp
    def sums(given, index, longest):
        numbers, samples = given
        return _summed(lambda a, b: one(numbers, a, b), samples, index, longest)

    @partial(sums.defjvp, symbolic_zeros=True)
    def _(primals, tangents):
        live = jax.tree.map(lambda t: not isinstance(t, SymbolicZero), tangents[0])
        moving, still = eqx.partition(primals[0], live)
        push, pull = partial(_push, one), partial(_pull, one)
        return sums(*primals), linear(push, pull, (moving, still, *primals[1:]), eqx.filter(tangents[0], live))

    return sums(given, index, longest)


def _push(one, at, along):
    """How the sums change with what moves: the change of what each neighbour does."""
    (numbers, moving), (constants, still), index, longest = at

    def change(a, b):
        def does(numbers, x, y):
            return one(eqx.combine(numbers, constants), eqx.combine(x, a[1]), eqx.combine(y, b[1]))

        return jax.jvp(does, (numbers, a[0], b[0]), (along[0], a[2], b[2]))[1]

    return _summed(change, (moving, still, along[1]), index, longest)


def _pull(one, at, cotangent):
    """The transpose of `_push`: what a does to each neighbour, and the neighbour to a, by what a is."""
    (numbers, moving), (constants, still), index, longest = at
    fixed = eqx.combine(numbers, constants)

    def cause(a, b):
        other = eqx.combine(*b[:2])

        def does(numbers, x):
            own = eqx.combine(x, a[1])
            # The numbers count once for each sum, so not for that of the neighbour.
            return one(eqx.combine(numbers, constants), own, other), one(fixed, other, own)

        return jax.vjp(does, numbers, a[0])[1]((a[2], b[2]))

    by_numbers, by_samples = _summed(cause, (moving, still, cotangent), index, longest)
    return jax.tree.map(lambda x: jnp.sum(x, axis=-1), by_numbers), by_samples


def _summed(pair: Callable[[Any, Any], Any], samples: Any, index, longest) -> Any:
    """Σ_b pair(a, b): on a CPU part by part, elsewhere of all particles together."""
    each = jax.vmap(pair, in_axes=-1, out_axes=-1)
    like, n = jax.eval_shape(each, samples, samples), index.shape[1]

    def sums(samples, index, longest, size):
        def part(i, found):
            # The last part makes some of the one before again.
            begin = jnp.minimum(i * size, n - size).astype(index.dtype)
            own = jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, begin, size, -1), samples)

            def add(rank, total):
                who = jax.lax.dynamic_slice(index, (rank, begin), (1, size))[0]
                near = jax.tree.map(lambda x: x.at[..., who].get(mode="promise_in_bounds"), samples)
                return jax.tree.map(jnp.add, total, each(own, near))

            none = jax.tree.map(lambda x: jnp.zeros((*x.shape[:-1], size), x.dtype), like)
            # Past the longest row there is only room: a quarter of the list.
            total = jax.lax.fori_loop(jnp.zeros_like(longest), longest, add, none)
            return jax.tree.map(lambda x, y: jax.lax.dynamic_update_slice_in_dim(x, y, begin, -1), found, total)

        none = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), like)
        return jax.lax.fori_loop(0, -(-n // size), part, none)

    ways = {"cpu": partial(sums, size=min(CHUNK, n)), "default": partial(sums, size=n)}
    return jax.lax.platform_dependent(samples, index, longest, **ways)
