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
    """`x` as a floating-point array; an array that is floating already keeps its precision.

    Physical numbers of a Module are arrays because a Python float is static to `jit`: each new value would be
    traced again, and its gradient would be missing without a warning. The array of a Python number is weakly
    typed, so that a float32 state stays float32 in sessions with float64 enabled.
    """
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x * 1.0


def number(**kwargs: Any) -> Any:
    """A Module field that holds a physical number (or an array of them), converted by `as_float`."""
    return eqx.field(converter=as_float, **kwargs)


ATTITUDE = "attitude"  # in the metadata of a field


def quaternion(**kwargs: Any) -> Any:
    """A Module field that holds an attitude, a unit quaternion [4], converted by `as_float`.

    Runs refuse a state whose attitude has another length (`difsim.body.attitude.require_attitude`).
    """
    return eqx.field(converter=as_float, metadata={ATTITUDE: True}, **kwargs)


def as_scalar(x: Any) -> Array:
    """`as_float` of one number.

    **Raises:** ValueError for several numbers.
    """
    x = as_float(x)
    if x.ndim:
        raise ValueError(
            f"{x} has shape {x.shape} where one number belongs: for a batch make the object inside `jax.vmap` "
            "(or `equinox.filter_vmap`) over a function of one number"
        )
    return x


def scalar(**kwargs: Any) -> Any:
    """A Module field that holds one physical number, converted by `as_scalar`.

    A vector would act as a batch, and the results would belong to no single law.
    """
    return eqx.field(converter=as_scalar, **kwargs)


def all_of(name: str, given: Any, *kinds: type) -> tuple[Any, ...]:
    """The objects `given` as a tuple, after a check of their types.

    **Arguments:** `name`, of the argument in the message; `given`, a tuple or a list; `kinds`, the types allowed.
    **Returns:** the objects as a tuple. **Raises:** ValueError for another container or an object of another type.
    """
    if not isinstance(given, tuple | list) or not all(isinstance(x, kinds) for x in given):
        known = " or ".join(kind.__name__ for kind in kinds)
        found = [type(x).__name__ for x in given] if isinstance(given, tuple | list) else type(given).__name__
        raise ValueError(f"{name} is {found}: give a tuple, each of it a {known}")
    return tuple(given)


def is_known(x: Any) -> bool:
    """True if all arrays of `x` have values now, and none is traced by `jit`, `vmap` or `grad`."""
    return not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(x))


def instants(times: Any, function: str) -> Float[Array, " T"]:
    """`times` as an array, after a check that they increase.

    **Arguments:** `times` [T], s; `function`, the name of the caller in the message.
    **Returns:** the times [T], s. **Raises:** ValueError unless there are two or more, all finite and increasing;
    values are checked only where they are not traced.
    """
    times = as_float(times)
    if times.ndim != 1 or times.shape[0] < 2:
        raise ValueError(f"{function}: times must be a vector of at least two times, got shape {times.shape}")
    if is_known(times) and not (np.isfinite(times).all() and (np.diff(np.asarray(times)) > 0).all()):
        raise ValueError(f"{function}: times must be finite and increase; they are {times}")
    return times


_TRACED: ContextVar[list[Array] | None] = ContextVar("conditions on traced values", default=None)


def require(condition: Any, message: str) -> None:
    """Raise a `ValueError` if a known condition is false.

    Traced values cannot be checked here: `is_valid` collects their conditions for a whole model, for a status.

    **Arguments:** `condition`, one boolean or an array of them; `message` of the error.
    **Raises:** ValueError.
    """
    if is_known(condition):
        if not np.all(condition):
            raise ValueError(message)
    elif (conditions := _TRACED.get()) is not None:
        conditions.append(jnp.all(condition))


def is_valid(model: Any) -> Bool[Array, ""]:
    """True if all Modules in a pytree satisfy what their `__check_init__` requires, also for traced values.

    **Raises:** ValueError for a known value that is wrong, for instance one set by `eqx.tree_at`.
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
    """All Modules in a pytree, nested ones too."""
    is_inner = lambda x: isinstance(x, eqx.Module) and x is not tree  # noqa: E731
    if isinstance(tree, eqx.Module):
        yield tree
    for inner in jax.tree.leaves(tree, is_leaf=is_inner):
        if is_inner(inner):
            yield from _modules(inner)


def require_last(name: str, value: Array, *shape: int) -> None:
    """Check the last axes of an array; axes before them are those of a batch.

    **Arguments:** `name`, of the argument in the message; `value`, the array; `shape` that its last axes must
    have.
    **Raises:** ValueError for another shape.
    """
    require(
        value.shape[max(0, value.ndim - len(shape)) :] == shape,
        f"{name} has shape {value.shape}: give [{', '.join(map(str, shape))}]",
    )


def require_finite(name: str, value: Array) -> None:
    """Check that known values are finite.

    **Arguments:** `name`, of the argument in the message; `value`, an array. **Raises:** ValueError otherwise.
    """
    require(jnp.isfinite(value), f"{name} = {value} must be finite")
