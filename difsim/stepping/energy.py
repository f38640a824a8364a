"""Whether the energy of a solution is accounted for: what no law of the model explains makes it worthless."""

from functools import reduce
from operator import add

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.typing import Scalar

SHARE = 1e-4  # of the energy that is there: what a solution may lose track of
PER_TOLERANCE = 100.0  # where a loose relative tolerance was asked for, as many times that
PER_ROUNDING = 10_000.0  # and as many roundings: 1.2e-3 in float32
RELATIVE = (
    "potential",
    "centrifugal",
)  # parts whose zero is a choice: only their changes are energy that is there
ROUNDINGS = 100  # of the parts as they are: what their sum cannot be known to


def energy_error(energy: dict[str, Float[Array, " T"]], unit: Scalar, dtype: jnp.dtype) -> Scalar:
    """The largest drift of the total energy from its first value, as a share of the energy that is there.

    That is the largest sum of the parts' sizes at any of the times: kinetic, stored and lost energies, and the
    changes of potential ones, whose zero says nothing (in a body's field a hop's energy is a thousandth of its
    potential). It is at least `unit` J: a body at rest on its springs stores less than the tolerance resolves. 0 where
    there is none at all, NaN where a model keeps no account.
    """
    if not energy:
        return jnp.full((), jnp.nan, dtype)
    parts = {name: jax.lax.stop_gradient(part) for name, part in energy.items()}
    there = [jnp.abs(part - part[0] if name in RELATIVE else part) for name, part in parts.items()]
    total = reduce(add, parts.values())
    unknown = ROUNDINGS * jnp.finfo(dtype).eps * jnp.max(sum(jnp.abs(part) for part in parts.values()))
    drift = jnp.maximum(jnp.max(jnp.abs(total - total[0])) - unknown, 0.0)
    return safe.divide(drift, jnp.maximum(jnp.max(sum(there)), jax.lax.stop_gradient(unit)))


def allowed_error(rtol: Scalar | float, dtype: jnp.dtype) -> Scalar:
    """The energy error with which a solution still counts, for a relative tolerance of its steps."""
    return jnp.maximum(jnp.maximum(SHARE, PER_TOLERANCE * rtol), PER_ROUNDING * jnp.finfo(dtype).eps)
