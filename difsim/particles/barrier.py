"""Barriers that keep a compiler from computing the same values again."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from difsim.wide import by_platform


def optimisation_barrier(values: Any, known: Bool[Array, ""]) -> Any:
    """`values`, each computed once on a CPU, however many results need them.

    XLA's loops on a CPU recompute cheap values for each result and each of its components, which doubles the cost
    of a contact law. Fusion stops at a branch whose direction is known at run time only.

    **Arguments:** `values`: a pytree of floats; `known`: a boolean that is always true, one for all pairs or
    particles, which the compiler cannot evaluate, unlike a constant. If it were false, the values would be NaN on
    a CPU.
    **Returns:** the values.
    """

    def branch(values, known):
        unknown = jax.tree.map(lambda x: jnp.full_like(x, jnp.nan), values)
        return jax.lax.cond(known, lambda: values, lambda: unknown)

    return by_platform(values, known, cpu=branch, default=lambda values, known: values)


def accelerator_barrier(values: Any) -> Any:
    """`values`, each computed once on an accelerator, where a kernel that joins components computes them all again.

    **Arguments:** `values`: a pytree of floats. **Returns:** the values.
    """
    return by_platform(values, cpu=lambda values: values, default=jax.lax.optimization_barrier)
