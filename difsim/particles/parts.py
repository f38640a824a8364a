"""Long arrays computed in parts on a CPU, so that the data of a part fit into its nearest cache."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

# Entries per part. It is not a power of two, for which all arrays would begin at the same line of the cache and evict
# each other.
CHUNK = 504


def fill_by_parts(make: Callable[[Int[Array, ""]], Any], like: Any, size: int, count: Any) -> Any:
    """Arrays like `like`, from `make(begin)` for each of the first `count` parts, zero elsewhere.

    **Arguments:** `make`: returns the same pytree with a last axis of `size`, from the entry `begin` on; `like`:
    shapes; `size`, entries per part; `count`, parts. **Returns:** the pytree; the last part overlaps the previous
    one.
    """
    length = jax.tree.leaves(like)[0].shape[-1]

    def put(i, made):
        begin = jnp.minimum(i * size, length - size).astype(jnp.int32)
        return jax.tree.map(lambda x, y: jax.lax.dynamic_update_slice_in_dim(x, y, begin, -1), made, make(begin))

    return jax.lax.fori_loop(0, count, put, jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), like))
