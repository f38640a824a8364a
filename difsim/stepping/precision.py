"""What float32 cannot hold, and how a user is told."""

import functools
import warnings
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from difsim.typing import is_known

ROUNDINGS = 10  # of a number of size 1: a finer tolerance is met by no steps
USE_X64 = "for float64 call jax.config.update('jax_enable_x64', True) before any array is made"


def finest_tolerance(dtype: jnp.dtype) -> float:
    """The finest tolerance that numbers of this type can meet: 2e-15 in float64, 1.2e-6 in float32."""
    return ROUNDINGS * float(jnp.finfo(dtype).eps)


def warn_of_single(method: Any, state: Any) -> None:
    """Warn, once in a process, where a `method` is asked for more than the `state`'s float32 can hold."""
    dtype = jax.eval_shape(lambda state: ravel_pytree(state)[0], state).dtype
    asked = getattr(method, "rtol", None)
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
