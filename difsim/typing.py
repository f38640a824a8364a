"""Shape aliases and the converter that every physical number of a Module goes through."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Scalar = Float[Array, ""]
Vec2 = Float[Array, "2"]
Vec3 = Float[Array, "3"]
Quat = Float[Array, "4"]
Mat3 = Float[Array, "3 3"]


def as_float(x: Any) -> Array:
    """A floating array of `x`; an array that is floating already keeps its precision.

    Physical numbers of a Module are arrays because a Python float is static to `jit`: each new value would
    be traced again, and its gradient would silently be missing.
    """
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.result_type(float))


def number(**kwargs: Any) -> Any:
    """A Module field that holds a physical number (or an array of them), converted by `as_float`."""
    return eqx.field(converter=as_float, **kwargs)


def require(condition: Any, message: str) -> None:
    """Raise `ValueError(message)` unless `condition` holds for every element.

    For `__check_init__` of Modules. A condition on traced values cannot be read, and is let through: such
    values were checked where they were first made, and what goes wrong inside `jit` is a status.
    """
    if not isinstance(condition, jax.core.Tracer) and not np.all(condition):
        raise ValueError(message)
