"""Tolerances that the precision can hold, and a warning where float32 cannot."""

import functools
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from difsim.declarations import Quantity, custom_field
from difsim.typing import as_scalar, convert_named, is_known

Tolerance = Float[Array | np.ndarray, ""] | float  # a float is what a user gives

ROUNDINGS = 10  # of a number of size 1: a finer tolerance is met by no steps
USE_X64 = "for float64 call difsim.configure() before any array is made"


def finest_tolerance(dtype: jnp.dtype) -> float:
    """The finest tolerance that numbers of this type can meet: 2e-15 in float64, 1.2e-6 in float32."""
    return ROUNDINGS * float(jnp.finfo(dtype).eps)


def tolerance(meaning: str, default: float, **declaration: Any) -> Any:
    """A Module field that holds a tolerance, or another number of a solver.

    A Python number becomes an array of NumPy, which is known inside `jit` too, where an array of JAX would not be:
    `warn_of_single` needs it there; and constants of a file, which are made before a session chooses its precision, do
    not fix one.

    **Arguments:** `meaning`; `default`; `declaration`, the other arguments of `Quantity`. **Returns:** the field.
    """
    number = Quantity("", meaning, **declaration)

    def convert(name, annotation, given):
        x = convert_named(name, as_scalar, given)
        number.check(name, x)
        return np.asarray(given, float) if np.isscalar(given) else x

    return custom_field(convert, meaning, number, default=default)


def warn_of_single(asked: Any, state: Any) -> None:
    """Warn, once in a process, where a relative tolerance is `asked` that the `state`'s float32 cannot hold."""
    dtype = jax.eval_shape(lambda state: ravel_pytree(state)[0], state).dtype
    if dtype == jnp.float32 and asked is not None and is_known(asked) and asked < finest_tolerance(dtype):
        _warn_once()


@functools.cache
def _warn_once() -> None:
    least = finest_tolerance(jnp.dtype(jnp.float32))
    warnings.warn(
        f"simulate: the state is float32, in which no relative tolerance below {least:.1g} can be met; that is "
        "used instead of the method's, and derivatives through contact are good to some 1e-2 (`validity.error`); "
        f"{USE_X64}",
        stacklevel=4,
    )
