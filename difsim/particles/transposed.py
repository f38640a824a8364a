"""Functions with given derivatives in both modes, and linear maps with given transposes.

JAX supports only one mode at a time: a `custom_vjp` has no forward derivatives, and a
`jax.custom_derivatives.linear_call` no `vmap`. So `linear` is a primitive of its own, with the rules below.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import ShapedArray, eval_jaxpr
from jax.custom_derivatives import SymbolicZero
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir


def hoist_constants(f: Callable[..., Any], *like: Any) -> tuple[Any, Callable[..., Any]]:
    """The arrays that `f` closes over, and `f` as a function of these and of its own arguments.

    **Arguments:** `f`; `like`, its arguments. **Returns:** the arrays and the function.
    **Raises:** ValueError if `f` does not return floats.
    """
    traced, gives = jax.make_jaxpr(f, return_shape=True)(*like)
    numbers, fixed = eqx.partition(traced.consts, eqx.is_array)

    def call(numbers, *args):
        made = eval_jaxpr(traced.jaxpr, eqx.combine(numbers, fixed), *jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(gives), made)

    for x in jax.tree.leaves(jax.eval_shape(call, numbers, *like)):
        if not jnp.issubdtype(x.dtype, jnp.floating):
            raise ValueError(f"an interaction of particles gives {x.dtype} where floats belong")
    return numbers, jax.jit(call)  # traced once for the values, the derivatives and each platform


def tangent_map(f: Callable[..., Any]) -> Callable[..., Any]:
    """The forward derivative of `f`, as a function of triples (moving, fixed, tangent), one per argument.

    The first two have None for each other, as those of `differentiable`.
    """

    def change(*given):
        moving, still, along = zip(*given, strict=True)
        return jax.jvp(lambda *x: f(*eqx.combine(x, still)), moving, along)[1]

    return change


def differentiable(run: Callable[..., Any], push, pull, given: Any, *fixed: Any) -> Any:
    """The value `run(given, *fixed)` with a given derivative by `given`.

    **Arguments:** `run`: a function that closes over no traced array; `push(at, tangent)`, the derivative, and
    `pull(at, cotangent)`, its transpose, as those of `linear`, with at = (moving, still, *fixed): the
    differentiated and the other parts of `given`, each with None for the other; `given`; `fixed`. **Returns:** the
    value.
    """

    @jax.custom_jvp
    def call(given, *fixed):
        return run(given, *fixed)

    @partial(call.defjvp, symbolic_zeros=True)
    def _(primals, tangents):
        live = jax.tree.map(lambda t: not isinstance(t, SymbolicZero), tangents[0])
        at = *eqx.partition(primals[0], live), *primals[1:]
        return call(*primals), linear(push, pull, at, eqx.filter(tangents[0], live))

    return call(given, *fixed)


def linear(push: Callable[[Any, Any], Any], pull: Callable[[Any, Any], Any], at: Any, tangent: Any) -> Any:
    """The map `push(at, tangent)`, linear in `tangent`, with a given transpose in reverse mode.

    **Arguments:** `push`, and `pull(at, cotangent)`, its transpose: functions of pytrees that close over no traced
    array; `at`, `tangent`: pytrees of arrays. **Returns:** the result of `push`, whose derivatives by `at` are
    JAX's. Call it under `jit`: otherwise each call is compiled again.
    """
    at, of_at = jax.tree.flatten(at)
    tangent, of_tangent = jax.tree.flatten(tangent)
    of_image = jax.tree.structure(jax.eval_shape(push, of_at.unflatten(at), of_tangent.unflatten(tangent)))

    def flat_push(at, tangent):
        return jax.tree.leaves(push(of_at.unflatten(at), of_tangent.unflatten(tangent)))

    def flat_pull(at, cotangent):
        return jax.tree.leaves(pull(of_at.unflatten(at), of_image.unflatten(cotangent)))

    image = _linear.bind(*at, *tangent, push=flat_push, pull=flat_pull, count=len(at))
    return of_image.unflatten(image)


def _run(*args, push, pull, count):
    return push(list(args[:count]), list(args[count:]))


def _shape(*avals, **params):
    shapes = jax.eval_shape(partial(_run, **params), *avals)
    return [ShapedArray(s.shape, s.dtype) for s in shapes]


def _jvp(primals, tangents, *, push, pull, count):
    image = _linear.bind(*primals, push=push, pull=pull, count=count)
    at, along = list(primals[:count]), list(primals[count:])
    moved = [ad.Zero(jax.typeof(x).to_tangent_aval()) for x in image]
    changes = [ad.instantiate_zeros(t) for t in tangents[count:]]
    if any(not isinstance(t, ad.Zero) for t in tangents[count:]):
        moved = _linear.bind(*at, *changes, push=push, pull=pull, count=count)
    live = [i for i, t in enumerate(tangents[:count]) if not isinstance(t, ad.Zero)]
    if live:

        def push_from(some):
            there = list(at)
            for i, x in zip(live, some, strict=True):
                there[i] = x
            return push(there, along)

        _, turned = jax.jvp(push_from, ([at[i] for i in live],), ([tangents[i] for i in live],))
        moved = [ad.add_tangents(a, b) for a, b in zip(moved, turned, strict=True)]
    return image, moved


def _transpose(cotangents, *args, push, pull, count):
    cotangents = [ad.instantiate_zeros(c) for c in cotangents]
    pulled = _linear.bind(*args[:count], *cotangents, push=pull, pull=push, count=count)
    asked = [ad.is_undefined_primal(x) for x in args[count:]]
    return [None] * count + [c if a else None for c, a in zip(pulled, asked, strict=True)]


def _batch(args, axes, *, push, pull, count):
    size = next(x.shape[i] for x, i in zip(args, axes, strict=True) if i is not None)
    # A shared tangent is repeated for each member: JAX's transpose of that sums the cotangents.
    tangents = [batching.bdim_at_front(x, i, size) for x, i in zip(args[count:], axes[count:], strict=True)]
    inside = list(axes[:count]), 0
    push, pull = (jax.vmap(f, in_axes=inside) for f in (push, pull))
    image = _linear.bind(*args[:count], *tangents, push=push, pull=pull, count=count)
    return image, [0] * len(image)


_linear = Primitive("linear_with_transpose")
_linear.multiple_results = True
_linear.def_impl(lambda *args, **params: jax.jit(partial(_run, **params))(*args))
_linear.def_abstract_eval(_shape)
mlir.register_lowering(_linear, mlir.lower_fun(_run, multiple_results=True))
ad.primitive_jvps[_linear] = _jvp
ad.primitive_transposes[_linear] = _transpose
batching.primitive_batchers[_linear] = _batch
