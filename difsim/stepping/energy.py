"""Whether the energy of a solution is accounted for: what no law of the model explains makes it worthless."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.typing import Scalar

SHARE = 1e-4  # of the energy that is there: what a solution may lose track of
PER_TOLERANCE = 100.0  # where a loose relative tolerance was asked for, as many times that
PER_ROUNDING = 1000.0  # and as many roundings: 1.2e-4 in float32


def energy_error(energy: dict[str, Float[Array, " T"]], dtype: jnp.dtype) -> Scalar:
    """The largest drift of the total energy from its first value, as a share of the energy that is there.

    That is the largest sum of the parts' sizes at any of the times: kinetic, potential (from its own zero), stored
    and lost energies. 0 where there is none at all, or where a model keeps no account.
    """
    if not energy:
        return jnp.zeros((), dtype)
    parts = jax.lax.stop_gradient(jnp.stack(list(energy.values())))
    total = jnp.sum(parts, axis=0)
    return safe.divide(jnp.max(jnp.abs(total - total[0])), jnp.max(jnp.sum(jnp.abs(parts), axis=0)))


def allowed_error(rtol: Scalar | float, dtype: jnp.dtype) -> Scalar:
    """The energy error with which a solution still counts, for a relative tolerance of its steps."""
    return jnp.maximum(jnp.maximum(SHARE, PER_TOLERANCE * rtol), PER_ROUNDING * jnp.finfo(dtype).eps)
