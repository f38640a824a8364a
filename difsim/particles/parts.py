"""Long arrays made part by part on a CPU, so that what a part needs stays in its nearest cache."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

# Entries of a part. Not a power of two, whose arrays would all begin at the same line of that cache and push each
# other out.
CHUNK = 504


def by_parts(make: Callable[[Int[Array, ""]], Any], like: Any, size: int, count: Any) -> Any:
    """Arrays as `like`, by their last axis: `make(begin)` of each of the first `count` parts, zero in the others.

    **Arguments:** `make`: gives the same pytree with a last axis of `size`, from the entry `begin` on; `like`:
    shapes. The last part overlaps the one before.
    """
    length = jax.tree.leaves(like)[0].shape[-1]

    def put(i, made):
        begin = jnp.minimum(i * size, length - size).astype(jnp.int32)
        return jax.tree.map(lambda x, y: jax.lax.dynamic_update_slice_in_dim(x, y, begin, -1), made, make(begin))

    return jax.lax.fori_loop(0, count, put, jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), like))
