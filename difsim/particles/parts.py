"""Long arrays made part by part on a CPU, so that what a part needs stays in its nearest cache."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

# Entries of a part. Not a power of two, whose arrays would all begin at the same line of that cache and push each
# other out.
CHUNK = 504


def by_parts(make: Callable[[Int[Array, ""]], Any], size: int, length: int, count: Any) -> Any:
    """Arrays whose last axis has `length`: `make(begin)` of each of the first `count` parts, zero in the others.

    **Arguments:** `make`: gives a pytree of arrays with a last axis of `size`, from the entry `begin` on. The last
    part overlaps the one before.
    """
    like = jax.eval_shape(make, jnp.zeros((), jnp.int32))

    def put(i, made):
        begin = jnp.minimum(i * size, length - size).astype(jnp.int32)
        return jax.tree.map(lambda x, y: jax.lax.dynamic_update_slice_in_dim(x, y, begin, -1), made, make(begin))

    none = jax.tree.map(lambda x: jnp.zeros((*x.shape[:-1], length), x.dtype), like)
    return jax.lax.fori_loop(0, count, put, none)
