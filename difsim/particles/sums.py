"""Sums over pairs, the total effect of all neighbours on each particle."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim.particles.neighbours import Neighbours
from difsim.particles.parts import CHUNK, fill_by_parts
from difsim.particles.transposed import differentiable, hoist_constants, tangent_map
from difsim.wide import by_platform

# Neighbours that one thread of an accelerator adds up. From 32 on XLA shares a sum among threads, and with it a block's
# scarce memory: then it stores what all pairs give, and adds up four numbers at a time.
BLOCK = 8


def pair_sums(interaction: Callable[[Any, Any], Any], samples: Any, neighbours: Neighbours) -> Any:
    """Σ_b interaction(a, b) of every particle a with its neighbours b.

    A CPU takes one neighbour of each particle at a time, so that the arrays are long and contiguous; an accelerator
    adds up all of them in one kernel. Nothing of the size of all pairs is stored. The list contains each pair twice,
    so the transpose of such a sum is a sum of the same kind: derivatives of any order are sums over neighbours as
    well, without a scatter.

    **Arguments:** `interaction` of two particles: floats, which must be zero for any particle with itself; numbers
    that it closes over may be differentiated, and should be few: reverse mode computes their derivatives for each
    particle; `samples`: a pytree of arrays whose last axis are the particles, fastest if it is their only axis;
    `neighbours`.
    **Returns:** the results of `interaction`, with a last axis of n.
    **Raises:** ValueError for an interaction that does not return floats.
    """
    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), samples)
    numbers, of_pair = hoist_constants(interaction, one, one)
    return _sums(of_pair, numbers, samples, neighbours.index, neighbours.longest)


def _sums(one: Callable[[Any, Any, Any], Any], numbers: Any, samples: Any, index, longest) -> Any:
    """Sums of one(numbers, a, b), with their derivatives by the numbers and the samples."""

    def run(given, index, longest):
        numbers, samples = given
        return _sum(one, numbers, samples, index, longest)

    return differentiable(run, partial(_push, one), partial(_pull, one), (numbers, samples), index, longest)


def _push(one, at, along):
    """The forward derivative of the sums: sums of the derivatives of each neighbour's term."""
    moving, still, index, longest = at
    numbers, samples = zip(moving, still, along, strict=True)
    return _sums(tangent_map(one), numbers, samples, index, longest)


def _pull(one, at, cotangent):
    """The transpose of `_push`, Σ_b [∂f(a, b)/∂a]ᵀ s_a* + [∂f(b, a)/∂a]ᵀ s_b*; by the numbers only the first term."""
    (numbers, moving), (constants, still), *row = at

    def cause(numbers, a, b):
        (numbers, constants), (x, still_x, sum_a), (y, still_y, sum_b) = numbers, a, b
        fixed, other = eqx.combine(numbers, constants), eqx.combine(y, still_y)

        def act(numbers, x):
            own = eqx.combine(x, still_x)
            return one(eqx.combine(numbers, constants), own, other), one(fixed, other, own)

        return jax.vjp(act, numbers, x)[1]((sum_a, sum_b))

    by_numbers, by_samples = _sums(cause, (numbers, constants), (moving, still, cotangent), *row)
    return jax.tree.map(lambda x: jnp.sum(x, axis=-1), by_numbers), by_samples


def _sum(one: Callable[[Any, Any, Any], Any], numbers: Any, samples: Any, index, longest) -> Any:
    """Σ_b one(numbers, a, b)."""
    each = partial(jax.vmap(one, in_axes=(None, -1, -1), out_axes=-1), numbers)
    ways = {"cpu": partial(sum_in_parts, each), "default": partial(sum_in_blocks, each)}
    return by_platform(samples, index, longest, **ways)


def sum_in_parts(each: Callable[[Any, Any], Any], samples: Any, index, longest) -> Any:
    """Σ_b each(a, b), one neighbour at a time, in parts that fit into a CPU's nearest cache."""
    like, n = jax.eval_shape(each, samples, samples), index.shape[1]
    size = min(CHUNK, n)

    def part(begin):
        own = jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, begin, size, -1), samples)

        def add(rank, total):
            who = jax.lax.dynamic_slice(index, (rank, begin), (1, size))[0]
            near = jax.tree.map(lambda x: x.at[..., who].get(mode="promise_in_bounds"), samples)
            return jax.tree.map(jnp.add, total, each(own, near))

        none = jax.tree.map(lambda x: jnp.zeros((*x.shape[:-1], size), x.dtype), like)
        # Beyond the longest row there is only padding, a quarter of the list. A list that overflows is longer.
        end = jnp.minimum(longest, index.shape[0])
        return jax.lax.fori_loop(jnp.zeros_like(end), end, add, none)

    return fill_by_parts(part, like, size, -(-n // size))


def sum_in_blocks(each: Callable[[Any, Any], Any], samples: Any, index, longest) -> Any:
    """Σ_b each(a, b), `BLOCK` neighbours by one thread, `longest` unused."""
    del longest  # the padding, a quarter of the list, is added as well: it is of particles with themselves
    k, n = index.shape
    blocks = -(-k // BLOCK)
    index = jnp.pad(index, ((0, blocks * BLOCK - k), (0, 0))).reshape(blocks, BLOCK, n)
    here = (jnp.arange(blocks * BLOCK) < k).reshape(blocks, BLOCK, 1)
    near = jax.tree.map(lambda x: x.at[..., index].get(mode="promise_in_bounds"), samples)
    of_block = jax.vmap(each, in_axes=(None, -2), out_axes=-2)
    terms, tree = jax.tree.flatten(jax.vmap(of_block, in_axes=(None, -3), out_axes=-3)(samples, near))
    parts = [jnp.where(here, part, 0) for x in terms for part in x.reshape(-1, *index.shape)]
    # All numbers at once, so that a pair is computed once.
    none = [jnp.zeros((), x.dtype) for x in parts]
    sums = [jnp.sum(x, axis=0) for x in jax.lax.reduce(parts, none, lambda a, b: tuple(map(jnp.add, a, b)), (1,))]
    ends = np.cumsum([0, *(np.prod(x.shape[:-3], dtype=int) for x in terms)])
    whole = [
        jnp.stack(sums[a:b]).reshape(*x.shape[:-3], n) for (a, b), x in zip(pairwise(ends), terms, strict=True)
    ]
    return tree.unflatten(whole)
