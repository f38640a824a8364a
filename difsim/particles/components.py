"""Functions of short vectors, computed component by component.

For many pairs a number is one long array, and a vector a few of them one after the other. XLA fuses operations of
equal length only: on a GPU each change between vectors and numbers is a kernel, which writes its results to memory.
Of components alone it makes one kernel.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np

MOST = 36  # components: longer arrays, such as tables, stay whole
# fmt: off
ELEMENTWISE = {
    "abs", "acos", "acosh", "add", "add_any", "and", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil",
    "clamp", "convert_element_type", "copy", "cos", "cosh", "div", "eq", "exp", "exp2", "expm1", "floor", "ge",
    "gt", "integer_pow", "is_finite", "le", "log", "log1p", "logistic", "lt", "max", "min", "mul", "ne", "neg",
    "not", "or", "pow", "rem", "round", "rsqrt", "select_n", "sign", "sin", "sinh", "sqrt", "square",
    "stop_gradient", "sub", "tan", "tanh", "xor",
}
# fmt: on
INSIDE = {"jit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}


def split_components(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, in which all that is done with short arrays is done with each of their components.

    **Arguments:** `f`, of pytrees of arrays, on no CPU. **Returns:** the function.
    """

    def wrapper(*args):
        traced, gives = jax.make_jaxpr(f, return_shape=True)(*args)
        made = _run(traced.jaxpr, traced.consts, jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(gives), map(_stack, made))

    return wrapper


def _run(jaxpr: Any, consts: Any, args: Any) -> list[Any]:
    """The results of a program; short arrays are NumPy's, of components."""
    known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args), strict=True))

    def value(x):
        return x.val if isinstance(x, jax.extend.core.Literal) else known[x]

    for each in jaxpr.eqns:
        made = _evaluate(each, [value(x) for x in each.invars])
        known.update(zip(each.outvars, made, strict=True))
    return [value(x) for x in jaxpr.outvars]


def _evaluate(each: Any, args: list[Any]) -> list[Any]:
    """The results of one operation."""
    name, params = each.primitive.name, each.params
    if name in INSIDE:
        inner = params[INSIDE[name]]
        return _run(inner.jaxpr, inner.consts, args)
    if name == "platform_index" and params["platforms"] == (("cpu",), None):
        return [1]  # a branch for a CPU, and one for all others
    if name == "cond" and isinstance(args[0], int):
        inner = params["branches"][args[0]]
        return _run(inner.jaxpr, inner.consts, args[1:])
    if name == "optimization_barrier":
        parts, structure = jax.tree.flatten([list(_parts(x).ravel()) for x in args])
        parts = jax.tree.unflatten(structure, jax.lax.optimization_barrier(parts))
        return [_array(some, x.aval.shape) for some, x in zip(parts, each.outvars, strict=True)]
    shapes = [x.aval.shape for x in (*each.invars, *each.outvars)]
    short = all(np.prod(shape, dtype=int) <= MOST for shape in shapes) and any(shapes)
    if short and name in ELEMENTWISE:
        parts = np.broadcast_arrays(*map(_parts, args))
        found = [each.primitive.bind(*some, **params) for some in zip(*(x.ravel() for x in parts), strict=True)]
        return [_array(found, parts[0].shape)]
    if short and name in REARRANGED:
        return REARRANGED[name](params, *map(_parts, args))
    found = each.primitive.bind(*map(_stack, args), **each.primitive.get_bind_params(params))
    return found if each.primitive.multiple_results else [found]


def _array(parts: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    made = np.empty(len(parts), object)
    for i, part in enumerate(parts):  # at once NumPy would ask each for its values
        made[i] = part
    return made.reshape(shape)


def _parts(x: Any) -> np.ndarray:
    """The components of an array."""
    if isinstance(x, np.ndarray) and x.dtype == object:
        return x
    x = jnp.asarray(x)
    flat = x.reshape(-1)
    return _array([flat[i] for i in range(flat.size)] if x.ndim else [x], x.shape)


def _stack(x: Any) -> Any:
    """The array of components."""
    if not (isinstance(x, np.ndarray) and x.dtype == object):
        return x
    return jnp.stack(list(x.ravel())).reshape(x.shape) if x.ndim else x.item()


def _spread(params: dict[str, Any], x: np.ndarray, *_: Any) -> list[np.ndarray]:
    shape, axes = params["shape"], params["broadcast_dimensions"]
    longer = np.ones(len(shape), int)
    longer[list(axes)] = x.shape
    return [np.broadcast_to(x.reshape(longer), shape)]


def _cut(params: dict[str, Any], x: np.ndarray) -> list[np.ndarray]:
    strides = params["strides"] or (1,) * x.ndim
    ends = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return [x[tuple(slice(*end) for end in ends)]]


def _sum(params: dict[str, Any], x: np.ndarray) -> list[np.ndarray]:
    kept = [i for i in range(x.ndim) if i not in params["axes"]]
    rows = np.transpose(x, (*kept, *params["axes"])).reshape(
        -1, np.prod([x.shape[i] for i in params["axes"]], dtype=int)
    )
    return [_array([sum(row[1:], row[0]) for row in rows], tuple(x.shape[i] for i in kept))]


def _pad(params: dict[str, Any], x: np.ndarray, fill: np.ndarray) -> list[np.ndarray]:
    config = params["padding_config"]
    ends = [(low, low + n, low + n + high) for n, (low, high, _) in zip(x.shape, config, strict=True)]
    shape = tuple(int(end) for _, _, end in ends)
    longer = _array([fill.item()] * int(np.prod(shape)), shape)
    longer[tuple(slice(low, high) for low, high, _ in ends)] = x
    return [longer]


def _split(params: dict[str, Any], x: np.ndarray) -> list[np.ndarray]:
    return np.split(x, np.cumsum(params["sizes"])[:-1], axis=params["axis"])


# What only moves components, by the names and parameters of JAX's operations.
REARRANGED: dict[str, Callable[..., list[np.ndarray]]] = {
    "broadcast_in_dim": _spread,
    "concatenate": lambda params, *x: [np.concatenate(x, axis=params["dimension"])],
    "pad": _pad,
    "reduce_sum": _sum,
    "reshape": lambda params, x: [x.reshape(params["new_sizes"])],
    "slice": _cut,
    "split": _split,
    "squeeze": lambda params, x: [x.squeeze(params["dimensions"])],
    "stack": lambda params, *x: [np.stack(x, axis=params["axis"])],
    "transpose": lambda params, x: [x.transpose(params["permutation"])],
    "unstack": lambda params, x: list(np.moveaxis(x, params["axis"], 0)),
}
