"""Functions of single pairs, such as the force of a contact and its history."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim.particles.components import split_components
from difsim.particles.entries import Rows, totals
from difsim.particles.parts import CHUNK, fill_by_parts
from difsim.particles.transposed import differentiable, hoist_constants, tangent_map
from difsim.wide import by_platform


def pair_map(
    interaction: Callable[[Any, Any, Any], Any],
    samples: Any,
    own: Any,
    ends: tuple[Rows, Rows],
) -> Any:
    """The function interaction(a, b, c) of the two particles of each pair and of the pair's `own` data.

    A CPU computes the pairs in parts whose data fit into its nearest cache, and skips the padding at the end of
    the list. So do derivatives of any order, which store nothing but the arguments.

    **Arguments:** `interaction`: returns floats; numbers that it closes over may be differentiated, and should be
    few: reverse mode computes their derivatives for each pair; `samples`, `own`: pytrees of arrays whose last axis
    are the particles, or the pairs; `ends`: the first and second particles of a list (`Pairs`), with the padding at
    its end.
    **Returns:** the results of `interaction`, with a last axis of p; zero or arbitrary for padding.
    **Raises:** ValueError for an interaction that does not return floats.
    """
    one, row = (jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), x) for x in (samples, own))
    numbers, of_pair = hoist_constants(interaction, one, one, row)
    # Not the derivatives: their programs are large already, and would gain little.
    return _map(of_pair, split_components(of_pair), numbers, samples, own, ends)


def _map(
    one: Callable[..., Any],
    apart: Callable[..., Any],
    numbers: Any,
    samples: Any,
    own: Any,
    ends: tuple[Rows, Rows],
) -> Any:
    """The values one(numbers, a, b, c) of each pair, on no CPU by `apart`, with derivatives by all arguments."""

    def run(given, ends):
        numbers, samples, own = given
        return _values(one, apart, numbers, samples, own, ends)

    return differentiable(run, partial(_push, one), partial(_pull, one), (numbers, samples, own), ends)


def _push(one, at, along):
    """The forward derivative of the values."""
    moving, still, ends = at
    change = tangent_map(one)
    numbers, samples, own = zip(moving, still, along, strict=True)
    return _map(change, change, numbers, samples, own, ends)


def _pull(one, at, cotangent):
    """The transpose of `_push`: contributions of pairs to a particle are added up."""
    (numbers, samples, own), (constants, others, kept), ends = at

    def cause(numbers, a, b, c):
        *c, back = c
        x, fixed = zip(numbers, a, b, c, strict=True)
        return jax.vjp(lambda *x: one(*eqx.combine(x, fixed)), *x)[1](back)

    rows = own, kept, cotangent
    given = (numbers, constants), (samples, others), rows
    by_numbers, by_first, by_second, by_own = _map(cause, cause, *given, ends)
    by_samples = totals(ends, (by_first, by_second))
    return jax.tree.map(lambda x: jnp.sum(x, axis=-1), by_numbers), by_samples, by_own


def _values(
    one: Callable[..., Any],
    apart: Callable[..., Any],
    numbers: Any,
    samples: Any,
    own: Any,
    ends: tuple[Rows, Rows],
) -> Any:
    """The values of `_map`."""
    first, second = (s.who for s in ends)
    of_one, of_apart = (jax.vmap(f, in_axes=(None, -1, -1, -1), out_axes=-1) for f in (one, apart))
    ways = {
        "cpu": partial(_map_in_parts, partial(of_one, numbers)),
        "default": partial(_map_at_once, partial(of_apart, numbers)),
    }
    return by_platform(samples, own, first, second, **ways)


def _map_at_once(each: Callable[[Any, Any, Any], Any], samples: Any, own: Any, first, second) -> Any:
    """The values each(a, b, c) of pairs."""

    def take(who):
        return jax.tree.map(lambda x: x.at[..., who].get(mode="promise_in_bounds"), samples)

    return each(take(first), take(second), own)


def _map_in_parts(each: Callable[[Any, Any, Any], Any], samples: Any, own: Any, first, second) -> Any:
    """The values each(a, b, c) of pairs, in parts that fit into a CPU's nearest cache; zero beyond the last pair."""
    room = first.shape[0]
    size = min(CHUNK, room)
    count = jnp.sum(first != second, dtype=first.dtype)

    def part(begin):
        cut = partial(jax.lax.dynamic_slice_in_dim, start_index=begin, slice_size=size, axis=-1)
        return _map_at_once(each, samples, *jax.tree.map(cut, (own, first, second)))

    like = jax.eval_shape(partial(_map_at_once, each), samples, own, first, second)
    return fill_by_parts(part, like, size, (count + size - 1) // size)
