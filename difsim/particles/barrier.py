"""Where a compiler is to stop making the same thing again."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool


def optimisation_barrier(values: Any, known: Bool[Array, ""]) -> Any:
    """`values`, each made once on a CPU, however many results need them.

    XLA's loops there make anew whatever is cheap, for each result and each of its components: of a contact's law
    twice what it costs. They stop at a branch of which only the run knows the way.

    **Arguments:** `values`: a pytree of floats; `known`: always true, one for all pairs or particles, which the
    compiler must not be able to tell, as it can of a constant. Were it false, the values would be NaN on a CPU.
    """

    def branch(values, known):
        unknown = jax.tree.map(lambda x: jnp.full_like(x, jnp.nan), values)
        return jax.lax.cond(known, lambda: values, lambda: unknown)

    return jax.lax.platform_dependent(values, known, cpu=branch, default=lambda values, known: values)
