"""Draws of a posterior as a sampler leaves them: points of the unit cube with weights, and how good they are."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from difsim.extras import require

from .cube import Cube
from .tails import count_effective


@dataclass(frozen=True)
class Draws:
    """Points of the unit cube with weights, in `chains` of which those of one family have an ancestor in common.

    `u` [steps, chains, k]; `log_likelihood` and `weights` [steps, chains], the latter with a sum of 1; `families`
    [chains], the number of each one's ancestor in the prior; `prior` [rows, k]: draws of the prior; `log_evidence`
    with its standard `error`; `k_hat`: the shape of the tail of importance weights, None without them; `method`: the
    sampler in words; `other`: a second estimate of the log evidence and its error, by the tempered run for importance
    draws and the reverse, None without one; `is_settled`: False for importance draws whose kernels were still changing.
    """

    u: Float[np.ndarray, "steps chains k"]
    log_likelihood: Float[np.ndarray, "steps chains"]
    weights: Float[np.ndarray, "steps chains"]
    families: Int[np.ndarray, " chains"]
    prior: Float[np.ndarray, "rows k"]
    log_evidence: float
    error: float
    k_hat: float | None
    method: str
    other: tuple[float, float] | None = None
    is_settled: bool = True

    def mean(self, values: Float[np.ndarray, "steps chains"]) -> tuple[float, float]:
        """The weighted mean of values of the draws, and its standard error from the spread over the families."""
        return mean_of(values, self.weights, self.families)

    def probability(self, here: Bool[np.ndarray, " draws"]) -> tuple[float, float]:
        """The share of the posterior that lies here, and its error; for no draw what 95 % would exclude, 3 / n.

        **Arguments:** `here`: whether each draw does. **Returns:** share and error.
        """
        here = here.reshape(self.weights.shape).astype(float)
        if here.any():
            return self.mean(here)
        return 0.0, min(1.0, 3.0 / count_effective(self.weights))

    def effective_size(self, values: Float[np.ndarray, "steps chains"]) -> float:
        """The number of independent draws whose mean of these values would have the same error."""
        return size_of(values, self.weights, self.families)

    @property
    def family_count(self) -> int:
        """The number of particles of the prior from which all chains descend; of independent draws their number."""
        return np.unique(self.families).size

    def drift(self, values: Float[np.ndarray, "steps chains"]) -> float:
        """The change of the mean from the first to the second half of the chains, in its standard errors."""
        half = len(values) // 2
        if half == 0:
            return 0.0
        change = values[:half].mean(axis=0) - values[-half:].mean(axis=0)
        error = change.std(ddof=1) / np.sqrt(change.size)
        return float(abs(change.mean()) / error) if error > 0 else 0.0


def mean_of(values: np.ndarray, weights: np.ndarray, families: np.ndarray) -> tuple[float, float]:
    """The weighted mean of values [steps, chains], and its standard error from the spread over the families.

    Chains that begin at one particle, or at descendants of one, may be alike: only families are independent. Where
    moves forget the start, this is the spread over chains. One family alone has no spread, and an infinite error.

    **Arguments:** `values`; `weights`, with a sum of 1; `families` [chains]. **Returns:** mean and error.
    **Source:** Lee and Whiteley (2018), variance estimation in the particle filter.
    """
    mean = float(np.sum(weights * values))
    parts = np.bincount(families, np.sum(weights * (values - mean), axis=0))
    shares = np.bincount(families, np.sum(weights, axis=0))
    others = 1.0 - float(np.sum(shares**2))  # as n - 1 of n equal ones
    return mean, float(np.sqrt(np.sum(parts**2) / others)) if others > 1e-12 else np.inf


def error_of_evidence(families: np.ndarray) -> float:
    """The standard error of the log evidence of a tempered run, by the families that its chains are from.

    It is that of a mean to which each family adds its share: a peak that few particles of the prior have found is
    known by these few alone, though the weights of all chains agree.

    **Arguments:** `families` [chains]. **Returns:** the error. **Source:** Lee and Whiteley (2018).
    """
    return float(np.sqrt(np.sum((np.bincount(families) / families.size) ** 2)))


def size_of(values: np.ndarray, weights: np.ndarray, families: np.ndarray) -> float:
    """The number of independent draws whose mean would have the same error.

    **Arguments:** as `mean_of`. **Returns:** the number.
    """
    mean, error = mean_of(values, weights, families)
    variance = float(np.sum(weights * (values - mean) ** 2))
    return variance / error**2 if error > 0 else count_effective(weights)


def smallest_size(cube: Cube, u: np.ndarray, weights: np.ndarray, families: np.ndarray) -> float:
    """The effective size for the mean of the unknown that has the fewest.

    **Arguments:** `cube`; `u` [steps, chains, k], draws; `weights` [steps, chains] with a sum of 1; `families`
    [chains]. **Returns:** the size, 0 for draws that are all alike.
    """
    selected = cube.choice_indices(u.reshape(-1, u.shape[-1]))
    columns = [selected[k].reshape(weights.shape) if k in selected else u[..., k] for k in range(u.shape[-1])]
    # An unknown with one value in all draws has no error to be measured by.
    return min((size_of(x.astype(float), weights, families) for x in columns if np.ptp(x) > 0), default=0.0)


def resample_draws(key: Array, weights: Float[np.ndarray, " rows"], count: int) -> Int[np.ndarray, " count"]:
    """Indices of equally weighted draws, in order, by systematic resampling.

    **Arguments:** `key`; `weights` [rows], with a sum of 1; `count`. **Returns:** indices [count].
    """
    return np.asarray(_systematic(key, weights, count))


@partial(jax.jit, static_argnums=2)
def _systematic(key, weights, count):
    resampling = require("inversion", "blackjax.smc.resampling")
    return resampling.systematic(key, weights, count)


def weighted_quantile(
    values: Float[np.ndarray, " draws"], weights: Float[np.ndarray, " draws"], share: Any
) -> Float[np.ndarray, "..."]:
    """The values below which shares of weighted draws lie, linear between the middles of their weights.

    **Arguments:** `values` of the draws; their `weights`, of a sum of 1; `share` [...]. **Returns:** values [...].
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) - 0.5 * weights[order]
    return np.asarray(np.interp(share, below, values[order]))
