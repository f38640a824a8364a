"""Shape aliases and the converter that every physical number of a Module goes through."""

import inspect
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

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

    **Raises:** ValueError for what is no real number, and no array of them.
    """
    if isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jnp.floating):
        return x
    try:
        found = jnp.asarray(None if isinstance(x, str) else x)
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or not any(jnp.issubdtype(found.dtype, kind) for kind in (bool, jnp.integer, jnp.floating)):
        raise ValueError(f"got {describe(x)}: give a real number, or an array of them") from None
    return found if jnp.issubdtype(found.dtype, jnp.floating) else found * 1.0


def describe(x: Any) -> str:
    """The value, if it is short, and the type of something unexpected, for a message."""
    if x is None:
        return "None"
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"an array of {x.dtype} {list(x.shape)}"
    if isinstance(x, tuple | list) and len(x) < 5:
        return f"a {type(x).__name__} of {', '.join(type(each).__name__ for each in x) or 'nothing'}"
    if inspect.isroutine(x) or inspect.isclass(x):
        return f"the {'class' if inspect.isclass(x) else 'function'} {x.__name__}"
    kind = type(x).__name__
    return f"{x!r:.40}, of type {kind}" if isinstance(x, str | complex | int | float) else f"an object {kind}"


def is_known(x: Any) -> bool:
    """True if all arrays of `x` have values now, and none is traced by `jit`, `vmap` or `grad`."""
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(x))


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


def as_integer(x: Any, least: int = 1) -> int:
    """`x` as an integer.

    **Arguments:** `x`; `least`, its smallest value. **Returns:** the integer.
    **Raises:** ValueError for another number, or one below `least`.
    """
    if isinstance(x, bool | np.bool_) or not hasattr(type(x), "__index__") or np.ndim(x) or not is_known(x):
        raise ValueError(f"got {describe(x)}: give an integer, {least} or more")
    if (x := operator.index(x)) < least:
        raise ValueError(f"{x} must be {least} or more")
    return x


def convert_named(name: str, convert: Callable[[Any], Any], given: Any) -> Any:
    """The result of a conversion, whose error gets the name of the argument.

    **Arguments:** `name`; `convert`, a function of one value that may raise ValueError; `given`, the value.
    **Returns:** the result. **Raises:** ValueError, with the name in front.
    """
    try:
        return convert(given)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def require_finite(name: str, x: Any) -> None:
    """Check that known numbers are finite.

    **Arguments:** `name` of them in the message; `x`. **Raises:** ValueError otherwise.
    """
    if is_known(x) and not (good := np.isfinite(x)).all():
        first = np.argwhere(~good)[0].tolist()
        where = f" = {x}" if good.size < 10 else f": {(~good).sum()} of {good.size} numbers, the first at {first},"
        raise ValueError(f"{name}{where} must be finite: look at what it was computed from")


def require_sizes(name: str, dimensions: str, x: Any) -> None:
    """Check the last axes of an array.

    **Arguments:** `name` of it in the message; `dimensions` in the words of jaxtyping, such as "n 3"; with a * in them
    any are right; `x`. **Raises:** ValueError for other sizes, or fewer axes.
    """
    sizes = dimensions.split()
    if any(size.startswith(("*", ".")) for size in sizes):
        return
    last = x.shape[x.ndim - len(sizes) :]
    fits = x.ndim >= len(sizes) and all(
        not size.isdigit() or int(size) == n for size, n in zip(sizes, last, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} has shape {x.shape}: give [{', '.join(sizes)}]")


def as_tuple_of(name: str, given: Any, *kinds: type) -> tuple[Any, ...]:
    """The objects `given` as a tuple, after a check of their types.

    **Arguments:** `name`, of the argument in the message; `given`, a tuple or a list; `kinds`, the types allowed.
    **Returns:** the objects as a tuple. **Raises:** ValueError for another container or an object of another type.
    """
    if not isinstance(given, tuple | list) or not all(isinstance(x, kinds) for x in given):
        known = " or ".join(kind.__name__ for kind in kinds)
        found = [type(x).__name__ for x in given] if isinstance(given, tuple | list) else type(given).__name__
        raise ValueError(f"{name} is {found}: give a tuple, each of it a {known}")
    return tuple(given)


def instants(times: Any, function: str) -> Float[Array, " T"]:
    """`times` as an array, after a check that they increase.

    **Arguments:** `times` [T], s; `function`, the name of the caller in the message.
    **Returns:** the times [T], s. **Raises:** ValueError unless there are two or more, all finite and increasing;
    values are checked only where they are not traced.
    """
    times = convert_named(f"{function}: times", as_float, times)
    if times.ndim != 1 or times.shape[0] < 2:
        raise ValueError(f"{function}: times must be a vector of at least two times, got shape {times.shape}")
    if is_known(times) and not (np.isfinite(times).all() and (np.diff(np.asarray(times, float)) > 0).all()):
        raise ValueError(f"{function}: times must be finite and increase; they are {times}")
    return times


def require(condition: Any, message: str) -> None:
    """Raise a `ValueError` if a known condition is false.

    Traced values have no value yet: a condition on them passes.

    **Arguments:** `condition`, one boolean or an array of them; `message` of the error.
    **Raises:** ValueError.
    """
    if is_known(condition) and not np.all(condition):
        raise ValueError(message)


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
