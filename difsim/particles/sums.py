"""Sums over pairs: what each particle gets from all of its neighbours."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from difsim.particles.neighbours import Neighbours


def pair_sums(interaction: Callable[[Any, Any], Any], samples: Any, neighbours: Neighbours) -> Any:
    """Σ_b interaction(a, b) of every particle a with its neighbours b.

    One neighbour of each particle is taken at a time, so that what is computed are long arrays without gaps, and
    nothing of the size of all pairs is ever kept.

    **Arguments:** `interaction` of two particles, zero for a particle with itself; `samples`: a pytree of arrays
    whose last axis are the particles; `neighbours`: theirs.
    **Returns:** what `interaction` does, with a last axis of n.
    """
    each = jax.vmap(interaction, in_axes=-1, out_axes=-1)

    def add(total, slot):
        rank, who = slot

        def more():
            near = jax.tree.map(lambda x: x.at[..., who].get(mode="promise_in_bounds"), samples)
            return jax.tree.map(jnp.add, total, each(samples, near))

        # Past the longest row there is only room: a quarter of the list.
        return jax.lax.cond(rank < neighbours.longest, more, lambda: total), None

    none = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(each, samples, samples))
    ranks = jnp.arange(neighbours.index.shape[0])
    return jax.lax.scan(add, none, (ranks, neighbours.index))[0]
