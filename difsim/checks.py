"""Checks of public arguments: each error says which argument it is about, what was given, and what is needed.

A public function checks its own arguments once, before any loop. Numbers that `jit`, `vmap` or a derivative traces have
no values yet: their types and shapes alone are checked, and a run reports wrong values as a status.
"""

import functools
from collections.abc import Callable
from types import UnionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from difsim.typing import as_float, as_integer, convert_named, describe, require_finite, require_sizes

# What Python and NumPy ask of a number that has no value yet.
NEEDS_A_VALUE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


class CallError(ValueError):
    """The error of a user's function, with the argument that it was given as."""


def instance(name: str, given: Any, kind: type | UnionType, needed: str) -> Any:
    """Check the class of an argument.

    **Arguments:** `name` of the argument; `given`; `kind`, its class or classes; `needed`, what to give instead.
    **Returns:** `given`. **Raises:** ValueError for an object of another class.
    """
    if not isinstance(given, kind):
        raise ValueError(f"{name}: got {describe(given)}: give {needed}")
    return given


def integer(name: str, given: Any, least: int = 1) -> int:
    """Check a count.

    **Arguments:** `name` of the argument; `given`; `least`, its smallest value.
    **Returns:** the integer. **Raises:** ValueError for another number, or one below `least`.
    """
    return convert_named(name, lambda x: as_integer(x, least), given)


def numbers(name: str, given: Any, sizes: str = "...", is_finite: bool = True) -> Array:
    """`given` as an array of real numbers.

    **Arguments:** `name` of the argument; `given`; `sizes` of all axes in the words of jaxtyping, such as "n 3" ("...":
    any); `is_finite`, whether all known values must be.
    **Returns:** the array. **Raises:** ValueError.
    """
    return _convert_sized(name, convert_named(name, as_float, given), sizes, is_finite)


def host_numbers(name: str, given: Any, sizes: str = "...", is_finite: bool = True) -> np.ndarray:
    """Check data or a mesh: as `numbers`, but as an array of NumPy, in double precision in any session.

    **Arguments:** as `numbers`. **Returns:** the array. **Raises:** ValueError.
    """

    def convert(given):
        try:
            x = np.asarray(None if isinstance(given, str) else given)
        except ValueError:  # rows of several lengths
            x = np.asarray(None)
        if x.dtype.kind not in "biuf":
            raise ValueError(f"got {describe(given)}: give a real number, or an array of them")
        return x.astype(float)

    return _convert_sized(name, convert_named(name, convert, given), sizes, is_finite)


def _convert_sized(name: str, x: Any, sizes: str, is_finite: bool) -> Any:
    if sizes != "...":
        require_sizes(name, sizes, x)
        if x.ndim != len(sizes.split()):
            raise ValueError(f"{name} has shape {x.shape}: give [{sizes}]; for several use `jax.vmap`")
    if is_finite:
        require_finite(name, x)
    return x


def random_key(name: str, given: Any) -> Any:
    """Check a key of `jax.random`.

    **Arguments:** `name` of the argument; `given`.
    **Returns:** `given`. **Raises:** ValueError for anything else, such as an integer.
    """
    typed = isinstance(given, jax.Array) and jnp.issubdtype(given.dtype, jax.dtypes.prng_key) and given.shape == ()
    plain = isinstance(given, jax.Array | np.ndarray) and given.dtype == jnp.uint32 and given.ndim == 1
    if not (typed or plain):
        raise ValueError(f"{name}: got {describe(given)}: give a random key, such as jax.random.key(0)")
    return given


def require_state(name: str, model: Any, state: Any) -> None:
    """Refuse a state that is not the model's.

    **Arguments:** `name`, the function that asks; `model`, with the classes of its states, `state_kinds`; `state`.
    **Raises:** ValueError, with the way to the right state where the model knows one.
    """
    if not isinstance(state, model.state_kinds):
        kinds = " or ".join(kind.__name__ for kind in model.state_kinds)
        ways = [way for way in ("start", "at_rest") if hasattr(model, way)]
        remedy = f"give model.{ways[0]}(...)" if ways else "give one"
        raise ValueError(
            f"{name}: state: got {describe(state)}, and the state of {type(model).__name__} is {kinds}: {remedy}"
        )
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        if not isinstance(leaf, jax.Array | np.ndarray | float | int):
            where = jax.tree_util.keystr(path)
            raise ValueError(
                f"{name}: state{where}: got {describe(leaf)}: give numbers alone, such as arrays of JAX"
            )
    if hasattr(model, "check_sizes"):
        model.check_sizes(f"{name}: state", state)


def check_point(method: Callable) -> Callable:
    """A method of one point [3] m, which checks it: lists become arrays, and other shapes and NaN are refused."""

    @functools.wraps(method)
    def wrapper(self: Any, x: Any) -> Array:
        # Nearly all calls are traced, with an array that is right.
        if not (isinstance(x, Tracer) and x.shape == (3,) and jnp.issubdtype(x.dtype, jnp.floating)):
            x = numbers(f"{type(self).__name__}.{method.__name__}: x", x, "3")
        return method(self, x)

    return wrapper


def check_points(kind: type, *names: str) -> None:
    """Make `check_point` of the methods of these names that a class defines."""
    for name in names:
        if name in vars(kind):
            setattr(kind, name, check_point(vars(kind)[name]))


def require_function(name: str, given: Any) -> Callable:
    """Check that an argument can be called.

    **Arguments:** `name` of the argument; `given`. **Returns:** `given`. **Raises:** ValueError otherwise.
    """
    if not callable(given):
        raise ValueError(f"{name}: got {describe(given)}: give a function, without calling it")
    return given


def explain_errors(name: str, given: Callable) -> Callable:
    """A user's function, whose errors tell the user what to change.

    It costs nothing where the function is traced anyway: a compiled program has no trace of it.

    **Arguments:** `name` of the argument; `given`, the function. **Returns:** the same function.
    **Raises:** ValueError, when the function is called, for whatever it raises, and for a result that is not made of
    numbers.
    """
    require_function(name, given)

    @functools.wraps(given, updated=())
    def wrapper(*args: Any) -> Any:
        try:
            out = given(*args)
        except CallError:
            raise
        except NEEDS_A_VALUE as error:
            raise CallError(
                f"{name} needs the value of a number that has none yet ({_first_line(error)}): JAX calls it once, with "
                "stand-ins for all numbers. Write `jnp.where(x > 0, a, b)` in place of `if x > 0: ... else: ...`, and "
                "`jax.numpy` in place of `numpy`, `math` and `float(x)`"
            ) from error
        except Exception as error:
            raise CallError(
                f"{name} raised {type(error).__name__}: {_first_line(error)}: correct it; it was called with "
                f"{', '.join(map(_outline, args))}"
            ) from error
        if out is None:
            raise CallError(f"{name} returned None: end it with `return`, and what it computes")
        for path, leaf in jax.tree_util.tree_leaves_with_path(out):
            if not _is_number(leaf):
                where = jax.tree_util.keystr(path) or "a result"
                raise CallError(
                    f"{name} returned {describe(leaf)} as {where}: return numbers alone, such as arrays of JAX"
                )
        return out

    return wrapper


def _is_number(x: Any) -> bool:
    return isinstance(x, jax.Array | np.ndarray | np.generic | float | int) and not (
        isinstance(x, np.ndarray | np.generic) and x.dtype.kind not in "biuf"
    )


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0]


def _outline(x: Any) -> str:
    """Names and shapes of what a function was called with."""
    if isinstance(x, dict):
        return "{" + ", ".join(f"{key!r}: {_outline(value)}" for key, value in x.items()) + "}"
    return f"[{', '.join(map(str, x.shape))}]" if hasattr(x, "shape") else type(x).__name__
