"""Functions of single pairs, such as the force of a contact and its history."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from difsim.particles.devices import EVERYWHERE, added, by_share, rounded, shares
from difsim.particles.parts import CHUNK, by_parts
from difsim.particles.transposed import changing, differentiable, opened


def pair_map(
    interaction: Callable[[Any, Any, Any], Any],
    samples: Any,
    own: Any,
    first: Int[Array, " p"],
    second: Int[Array, " p"],
    devices: int = 1,
) -> Any:
    """The function interaction(a, b, c) of the two particles of each pair and of the pair's `own` data.

    A CPU computes the pairs in parts whose data fit into its nearest cache, and skips the padding at the end of
    the list. So do derivatives of any order, which store nothing but the arguments.

    **Arguments:** `interaction`: returns floats; numbers that it closes over may be differentiated, and should be
    few: reverse mode computes their derivatives for each pair; `samples`, `own`: pytrees of arrays whose last axis
    are the particles, or the pairs; `first`, `second`: particles of a list (`Pairs`), with the padding at its end;
    `devices`, over how many the list is shared out.
    **Returns:** the results of `interaction`, with a last axis of p; zero or arbitrary for padding.
    **Raises:** ValueError for an interaction that does not return floats.
    """
    one, row = (jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), x) for x in (samples, own))
    numbers, of_pair = opened(interaction, one, one, row)
    return _mapped(of_pair, devices, numbers, samples, own, first, second)


def pair_totals(
    to_first: Any, to_second: Any, first: Int[Array, " p"], second: Int[Array, " p"], n: int, devices: int
):
    """The total of what all pairs give to each particle.

    **Arguments:** `to_first` and `to_second`, arrays with a last axis of p: what a pair gives to its two particles;
    `first`, `second`, `devices`: as of `pair_map`; `n`, the number of particles. **Returns:** arrays with a last axis
    of n.
    """

    def of(to_first, to_second, first, second):
        def total(a, b):
            none = jnp.zeros((*a.shape[:-1], rounded(n, devices)), a.dtype)
            return none.at[..., first].add(a).at[..., second].add(b)

        totals = jax.tree.map(total, to_first, to_second)
        return totals if devices == 1 else added(totals)

    given = to_first, to_second, first, second
    totals = by_share(of, devices, shares(given), shares(to_first))(*given)
    return jax.tree.map(lambda x: x[..., :n], totals)


def _mapped(one: Callable[..., Any], devices: int, numbers: Any, samples: Any, own: Any, *pairs) -> Any:
    """The values one(numbers, a, b, c) of each pair, with derivatives by all arguments."""

    def run(given, *pairs):
        return _shared(one, devices, *given, *pairs)

    push, pull = partial(_push, one, devices), partial(_pull, one, devices)
    return differentiable(run, push, pull, (numbers, samples, own), *pairs)


def _push(one, devices, at, along):
    """The forward derivative of the values."""
    moving, still, *pairs = at
    return _mapped(changing(one), devices, *zip(moving, still, along, strict=True), *pairs)


def _pull(one, devices, at, cotangent):
    """The transpose of `_push`: contributions of pairs to a particle are added up."""
    (numbers, samples, own), (constants, others, kept), *pairs = at

    def cause(numbers, a, b, c):
        *c, back = c
        x, fixed = zip(numbers, a, b, c, strict=True)
        return jax.vjp(lambda *x: one(*eqx.combine(x, fixed)), *x)[1](back)

    rows = own, kept, cotangent
    given = (numbers, constants), (samples, others), rows
    by_numbers, by_first, by_second, by_own = _mapped(cause, devices, *given, *pairs)
    n = jax.tree.leaves((samples, others))[0].shape[-1]
    by_samples = pair_totals(by_first, by_second, *pairs, n, devices)
    return jax.tree.map(lambda x: jnp.sum(x, axis=-1), by_numbers), by_samples, by_own


def _shared(one: Callable[..., Any], devices: int, numbers: Any, samples: Any, own: Any, first, second) -> Any:
    """The values one(numbers, a, b, c) of each pair: each device computes its own."""
    each = jax.vmap(one, in_axes=(None, -1, -1, -1), out_axes=-1)

    def of(numbers, samples, own, first, second):
        return _made(partial(each, numbers), samples, own, first, second)

    a = jax.tree.map(lambda x: jax.ShapeDtypeStruct((*x.shape[:-1], *first.shape), x.dtype), samples)
    gives = shares(jax.eval_shape(each, numbers, a, a, own))
    takes = EVERYWHERE, EVERYWHERE, *shares((own, first, second))
    return by_share(of, devices, takes, gives)(numbers, samples, own, first, second)


def _made(each: Callable[[Any, Any, Any], Any], samples: Any, own: Any, first, second) -> Any:
    """The values each(a, b, c) of pairs: in parts on a CPU, all together elsewhere."""
    room = first.shape[0]

    def of(samples, own, first, second):
        def at(who):
            return jax.tree.map(lambda x: x.at[..., who].get(mode="promise_in_bounds"), samples)

        return each(at(first), at(second), own)

    def parts(samples, own, first, second):
        size = min(CHUNK, room)
        count = jnp.sum(first != second, dtype=first.dtype)

        def part(begin):
            cut = partial(jax.lax.dynamic_slice_in_dim, start_index=begin, slice_size=size, axis=-1)
            return of(samples, *jax.tree.map(cut, (own, first, second)))

        like = jax.eval_shape(of, samples, own, first, second)
        return by_parts(part, like, size, (count + size - 1) // size)

    return jax.lax.platform_dependent(samples, own, first, second, cpu=parts, default=of)
