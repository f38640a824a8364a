"""Shape aliases and the converter that every physical number of a Module goes through."""

from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

Scalar = Float[Array, ""]
Vec2 = Float[Array, "2"]
Vec3 = Float[Array, "3"]
Quat = Float[Array, "4"]
Mat3 = Float[Array, "3 3"]


def as_float(x: Any) -> Array:
    """A floating array of `x`; an array that is floating already keeps its precision.

    Physical numbers of a Module are arrays because a Python float is static to `jit`: each new value would
    be traced again, and its gradient would silently be missing. The array of a Python number, 3 as well as
    3.0, is weakly typed: in float64 sessions too, a float32 state that meets it stays float32.
    """
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x * 1.0


def number(**kwargs: Any) -> Any:
    """A Module field that holds a physical number (or an array of them), converted by `as_float`."""
    return eqx.field(converter=as_float, **kwargs)


ATTITUDE = "attitude"  # in the metadata of a field


def quaternion(**kwargs: Any) -> Any:
    """A Module field that holds an attitude, a unit quaternion, converted by `as_float`: runs refuse a state with
    one of another length (`difsim.body.require_attitude`)."""
    return eqx.field(converter=as_float, metadata={ATTITUDE: True}, **kwargs)


def as_scalar(x: Any) -> Array:
    """`as_float` of one number; raises `ValueError` for several."""
    x = as_float(x)
    if x.ndim:
        raise ValueError(
            f"{x} has shape {x.shape} where one number belongs: for a batch make the object inside `jax.vmap` "
            "(or `equinox.filter_vmap`) over a function of one number"
        )
    return x


def scalar(**kwargs: Any) -> Any:
    """A Module field that holds one physical number, converted by `as_scalar`: a vector would act as a batch, and
    give forces that are no force of any one law."""
    return eqx.field(converter=as_scalar, **kwargs)


def all_of(name: str, given: Any, *kinds: type) -> tuple[Any, ...]:
    """`given`, which must be a tuple (or a list) of objects of these `kinds`; raises `ValueError` otherwise."""
    if not isinstance(given, tuple | list) or not all(isinstance(x, kinds) for x in given):
        known = " or ".join(kind.__name__ for kind in kinds)
        found = [type(x).__name__ for x in given] if isinstance(given, tuple | list) else type(given).__name__
        raise ValueError(f"{name} is {found}: give a tuple, each of it a {known}")
    return tuple(given)


def is_known(x: Any) -> bool:
    """Whether `x` has a value now, and is not traced by `jit`, `vmap` or `grad`."""
    return not isinstance(x, jax.core.Tracer)


def instants(times: Any, function: str) -> Float[Array, " T"]:
    """`times` [T] s as an array, checked for the `function` that is named.

    **Raises:** ValueError unless there are two or more, all finite (as far as they are known), in order.
    """
    times = as_float(times)
    if times.ndim != 1 or times.shape[0] < 2:
        raise ValueError(f"{function}: times must be a vector of at least two times, got shape {times.shape}")
    if is_known(times) and not (np.isfinite(times).all() and (np.diff(np.asarray(times)) > 0).all()):
        raise ValueError(f"{function}: times must be finite and increase; they are {times}")
    return times


_TRACED: ContextVar[list[Array] | None] = ContextVar("conditions on traced values", default=None)


def require(condition: Any, message: str) -> None:
    """Raise `ValueError(message)` where `condition` is known and false; say nothing about traced values.

    Inside `jit` a value is not known: there `is_valid` asks the same of a whole model, for a status.
    """
    if is_known(condition):
        if not np.all(condition):
            raise ValueError(message)
    elif (conditions := _TRACED.get()) is not None:
        conditions.append(jnp.all(condition))


def is_valid(model: Any) -> Bool[Array, ""]:
    """Whether all Modules in a pytree keep what their `__check_init__` requires, also where they are traced.

    **Raises** `ValueError` for what is known and wrong, such as a value put in by `eqx.tree_at`.
    """
    conditions: list[Array] = []
    token = _TRACED.set(conditions)
    try:
        for module in _modules(model):
            for kind in type(module).__mro__:
                if "__check_init__" in vars(kind):
                    vars(kind)["__check_init__"](module)
    finally:
        _TRACED.reset(token)
    return jnp.all(jnp.stack(conditions)) if conditions else jnp.asarray(True)


def _modules(tree: Any) -> Iterator[eqx.Module]:
    """All Modules in a pytree, those inside others too."""
    is_inner = lambda x: isinstance(x, eqx.Module) and x is not tree  # noqa: E731
    if isinstance(tree, eqx.Module):
        yield tree
    for inner in jax.tree.leaves(tree, is_leaf=is_inner):
        if is_inner(inner):
            yield from _modules(inner)


def require_last(name: str, value: Array, *shape: int) -> None:
    """Raise `ValueError` unless the last axes of `value` have `shape`; axes before them are those of a batch."""
    require(
        value.shape[max(0, value.ndim - len(shape)) :] == shape,
        f"{name} has shape {value.shape}: give [{', '.join(map(str, shape))}]",
    )


def require_finite(name: str, value: Array) -> None:
    """Raise `ValueError` where `value` is known and not finite."""
    require(jnp.isfinite(value), f"{name} = {value} must be finite")
