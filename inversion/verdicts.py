"""Verdicts on the unknowns of a posterior, in words."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from .information import SPLIT, ranges, verdict, verdict_of_choices


def verdict_of(posterior: Any, name: str) -> str:
    """The verdict on an unknown, see `information`, with the ranges that a posterior is split into.

    **Arguments:** `posterior`, a Posterior; `name` of an unknown. **Returns:** the words.
    """
    q, size = posterior.component(name), posterior.effective_size
    if name in posterior.probabilities:
        order = np.argsort(np.asarray(q.values))
        shares = np.array([p for p, _ in posterior.marginal(name).values()])[order]
        return verdict_of_choices(shares, size, q.is_ordered)
    u = np.asarray(q.probability(q.to_prior_scale(jnp.asarray(posterior.draws[name]))))
    said = verdict(u, posterior.weights, size, ends=not np.isinf(q.limits[1]))
    if said != SPLIT:
        return said
    parts = np.asarray(q.physical(q.quantile(jnp.array(ranges(u, posterior.weights)))))
    return f"{said}: {', '.join(f'{low:.3g} to {high:.3g}' for low, high in parts)}"
