"""Functions of single pairs, such as the force of a contact and its history."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from difsim.particles.parts import CHUNK, by_parts
from difsim.particles.transposed import changing, differentiable, opened


def pair_map(
    interaction: Callable[[Any, Any, Any], Any],
    samples: Any,
    own: Any,
    first: Int[Array, " p"],
    second: Int[Array, " p"],
) -> Any:
    """The function interaction(a, b, c) of the two particles of each pair and of the pair's `own` data.

    A CPU computes the pairs in parts whose data fit into its nearest cache, and skips the padding at the end of
    the list. So do derivatives of any order, which store nothing but the arguments.

    **Arguments:** `interaction`: returns floats; numbers that it closes over may be differentiated, and should be
    few: reverse mode computes their derivatives for each pair; `samples`, `own`: pytrees of arrays whose last axis
    are the particles, or the pairs; `first`, `second`: particles of a list (`Pairs`), with the padding at its end.
    **Returns:** the results of `interaction`, with a last axis of p; zero or arbitrary for padding.
    **Raises:** ValueError for an interaction that does not return floats.
    """
    one, row = (jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), x) for x in (samples, own))
    numbers, of_pair = opened(interaction, one, one, row)
    return _mapped(of_pair, numbers, samples, own, first, second, jnp.sum(first != second, dtype=first.dtype))


def _mapped(one: Callable[..., Any], numbers: Any, samples: Any, own: Any, *pairs) -> Any:
    """The values one(numbers, a, b, c) of each pair, with derivatives by all arguments."""

    def run(given, *pairs):
        numbers, samples, own = given
        return _made(partial(one, numbers), samples, own, *pairs)

    return differentiable(run, partial(_push, one), partial(_pull, one), (numbers, samples, own), *pairs)


def _push(one, at, along):
    """The forward derivative of the values."""
    moving, still, *pairs = at
    return _mapped(changing(one), *zip(moving, still, along, strict=True), *pairs)


def _pull(one, at, cotangent):
    """The transpose of `_push`: contributions of pairs to a particle are added up."""
    (numbers, samples, own), (constants, others, kept), *pairs = at

    def cause(numbers, a, b, c):
        *c, back = c
        x, fixed = zip(numbers, a, b, c, strict=True)
        return jax.vjp(lambda *x: one(*eqx.combine(x, fixed)), *x)[1](back)

    rows = own, kept, cotangent
    by_numbers, by_first, by_second, by_own = _mapped(cause, (numbers, constants), (samples, others), rows, *pairs)

    def gathered(x, a, b):
        first, second, _ = pairs
        return jnp.zeros_like(x).at[..., first].add(a).at[..., second].add(b)

    by_samples = jax.tree.map(gathered, samples, by_first, by_second)
    return jax.tree.map(lambda x: jnp.sum(x, axis=-1), by_numbers), by_samples, by_own


def _made(pair: Callable[[Any, Any, Any], Any], samples: Any, own: Any, first, second, count) -> Any:
    """The values pair(a, b, c) of each pair: in parts on a CPU, all together elsewhere."""
    each = jax.vmap(pair, in_axes=-1, out_axes=-1)
    room = first.shape[0]

    def of(samples, own, first, second):
        def at(who):
            return jax.tree.map(lambda x: x.at[..., who].get(mode="promise_in_bounds"), samples)

        return each(at(first), at(second), own)

    def parts(samples, own, first, second, count):
        size = min(CHUNK, room)

        def part(begin):
            cut = partial(jax.lax.dynamic_slice_in_dim, start_index=begin, slice_size=size, axis=-1)
            return of(samples, *jax.tree.map(cut, (own, first, second)))

        like = jax.eval_shape(of, samples, own, first, second)
        return by_parts(part, like, size, (count + size - 1) // size)

    ways = {"cpu": parts, "default": lambda samples, own, first, second, count: of(samples, own, first, second)}
    return jax.lax.platform_dependent(samples, own, first, second, count, **ways)
