"""A posterior as a tree of xarray: the groups of ArviZ, weighted draws, and discrete choices."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from difsim.extras import require

from .draws import resample_draws
from .tails import count_effective


def datatree(posterior: Any) -> Any:
    """The groups of `Posterior.to_xarray`, as an xarray.DataTree. **Arguments:** `posterior`, a Posterior."""
    xr = require("inversion", "xarray")

    def group(values: Mapping[str, np.ndarray], dims: tuple[str, ...], attrs: dict[str, Any] | None = None):
        return xr.Dataset({k: (dims, v, _attributes(posterior, k)) for k, v in values.items()}, attrs=attrs)

    attrs = {
        "log_evidence": posterior.log_evidence,
        "log_evidence_error": posterior.log_evidence_error,
        "effective_size": posterior.effective_size,
        "k_hat": np.nan if posterior.k_hat is None else posterior.k_hat,
        "drift": posterior.drift,
        "p_value": posterior.p_value,
        "method": posterior.sampled.method,
        "verdict": posterior.verdict,
    }
    equal, chains, data = _equally_weighted_draws(posterior), ("chain", "draw"), posterior.problem.data
    weights = {"weight": posterior.weights, "lp": posterior.log_likelihood}
    groups = {
        "posterior": group({k: v[equal] for k, v in posterior.draws.items()}, chains, attrs),
        "sample_stats": xr.Dataset({"lp": (chains, posterior.log_likelihood[equal])}),
        "weighted_posterior": group(posterior.draws, ("weighted_draw",)),
        "weights": xr.Dataset({k: ("weighted_draw", v, {"units": "1"}) for k, v in weights.items()}),
        "prior": group({k: v[None] for k, v in posterior.prior.items()}, chains),
        "observed_data": xr.Dataset(
            {k: ([f"{k}_{i}" for i in range(data[k].value.ndim)], np.asarray(data[k].value)) for k in data.names}
        ),
    }
    if posterior.leaves:
        names = posterior.leaves[0].assignment
        table = {name: [leaf.assignment[name] for leaf in posterior.leaves] for name in names}
        for name in ("probability", "error", "log_evidence"):
            table[name] = [getattr(leaf, name) for leaf in posterior.leaves]
        groups["leaves"] = xr.Dataset({k: ("leaf_by_probability", np.asarray(v)) for k, v in table.items()})
    return xr.DataTree.from_dict(groups)


def _equally_weighted_draws(posterior: Any) -> Int[np.ndarray, "chains draws"]:
    """The numbers of draws that count the same: those of all chains, or one chain of resampled ones."""
    if posterior.k_hat is None:
        return np.arange(posterior.weights.size).reshape(posterior.sampled.weights.shape).T
    # As many as they are worth, so that ArviZ's own errors of means are right.
    count = int(max(2.0, min(posterior.effective_size, count_effective(posterior.weights))))
    order = np.asarray(jax.random.permutation(jax.random.PRNGKey(1), count))
    return resample_draws(jax.random.PRNGKey(0), posterior.weights, count)[order][None]


def _attributes(posterior: Any, name: str) -> dict[str, Any]:
    """The unit of an unknown, and the meanings of choices with names as NetCDF's conventions have them."""
    q = posterior.component(name)
    if name in posterior.numbers:
        return {"units": q.unit or "1"}
    return {"flag_values": np.asarray(q.values), "flag_meanings": " ".join(x.replace(" ", "_") for x in q.labels)}
