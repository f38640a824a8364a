"""The modes of differentiation that a run does not have: they are refused by name as the derivative is traced.

Without this JAX names an internal rule that is missing, or takes a derivative that is wrong or that nothing watches.
"""

from typing import Any

import equinox as eqx
import jax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, partial_eval

NONE = (
    "simulate: a run of particles without a derivative was differentiated: the tangents of such a run grow by orders "
    "of magnitude among grains, and nothing would watch them. Give solver=FixedSteps(n) and derivative=Unrolled(), or "
    "derivative=Reverse() for jax.grad, and compare with differences; or stop the derivative of what you give by "
    "jax.lax.stop_gradient"
)
REVERSE = (
    "simulate: derivative=Reverse() has first derivatives in reverse mode (jax.grad, jax.jacrev, jax.vjp) and no "
    "others: give derivative=Forward() for jax.jacfwd, and for jax.jacfwd of jax.jacfwd in the place of jax.hessian "
    "(particles have none); or solver=FixedSteps(n) and derivative=Unrolled() for both modes"
)
FORWARD = (
    "simulate: derivative=Forward() has derivatives in forward mode (jax.jacfwd, jax.jvp), and jax.grad, jax.jacrev "
    "and jax.hessian need reverse mode: give derivative=Reverse() for jax.grad, solver=FixedSteps(n) and "
    "derivative=Unrolled() for both modes, or take jax.jacfwd of jax.jacfwd in the place of jax.hessian"
)
STONES = (
    "simulate: a pair of stones has first derivatives in forward mode (jax.jacfwd, jax.jvp) and no others, such as "
    "jax.grad or jax.hessian: take differences of first derivatives for a second one"
)


def refuse_derivatives(given: Any, message: str) -> Any:
    """`given`, any structure, as it is; a derivative by any number of it raises `ValueError` with the message."""
    return _mark_arrays(given, message, order=1, is_forward=True)


def allow_one_reverse(given: Any, message: str) -> Any:
    """`given` as it is; a derivative in forward mode, or a second one, raises `ValueError` with the message."""
    return _mark_arrays(given, message, order=0, is_forward=False)


def allow_one_forward(given: Any, message: str) -> Any:
    """`given` as it is; a derivative in reverse mode, or a second one, raises `ValueError` with the message."""
    return _mark_arrays(given, message, order=0, is_forward=True)


def refuse_unknown(primitive: Primitive, message: str) -> None:
    """Let a primitive raise `ValueError` where its tangents are not known yet, which is reverse mode.

    JAX then asks for the values first, and for the tangents as a program to be transposed.
    """

    def rule(trace, *tracers, **parameters):
        if not all(tracer.is_known() for tracer in tracers):
            raise ValueError(parameters.get("message", message))
        return trace.default_process_primitive(primitive, tracers, parameters)

    partial_eval.custom_partial_eval_rules[primitive] = rule


def _mark_arrays(given: Any, message: str, **how: Any) -> Any:
    arrays, rest = eqx.partition(given, eqx.is_inexact_array)
    return eqx.combine(jax.tree.map(lambda x: _mark.bind(x, message=message, **how), arrays), rest)


def _refuse(*_: Any, message: str, **__: Any) -> Any:
    raise ValueError(message)


def _identity(name: str) -> Primitive:
    primitive = Primitive(name)
    primitive.def_impl(lambda x, **_: x)
    primitive.def_abstract_eval(lambda x, **_: x)
    batching.primitive_batchers[primitive] = lambda flat, axes, **how: (primitive.bind(*flat, **how), axes[0])
    mlir.register_lowering(primitive, lambda context, x, **_: [x])
    return primitive


# What is given goes through `_mark`, whose value after a derivative has the next `order`: a second derivative meets it.
# A tangent in reverse mode is transposed and never computed; one in forward mode is computed and known.
_mark, _forward, _reverse = (
    _identity(f"{name}_of_a_run") for name in ("mark", "forward_tangent", "reverse_tangent")
)


def _differentiate(primals: Any, tangents: Any, *, message: str, order: int, is_forward: bool) -> Any:
    if order:
        raise ValueError(message)
    out = _mark.bind(*primals, message=message, order=order + 1, is_forward=is_forward)
    (tangent,) = tangents
    if type(tangent) is ad.Zero:
        return out, tangent
    return out, (_forward if is_forward else _reverse).bind(tangent, message=message)


ad.primitive_jvps[_mark] = _differentiate
ad.primitive_jvps[_forward] = ad.primitive_jvps[_reverse] = _refuse
ad.primitive_transposes[_forward] = _refuse
ad.primitive_transposes[_reverse] = lambda cotangent, *_, **__: [cotangent]
refuse_unknown(_forward, FORWARD)
_reverse.def_impl(_refuse)
batching.primitive_batchers[_reverse] = _refuse
mlir.register_lowering(_reverse, _refuse)
