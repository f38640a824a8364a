"""Weighted draws of a posterior, which kernels are placed at."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .sweeps import Piece
from .tails import count_effective


class Particles(NamedTuple):
    """Weighted draws of a posterior: points `u`, their log-likelihoods, and the logarithms of their weights."""

    u: Float[np.ndarray, "rows k"]
    log_likelihood: Float[np.ndarray, " rows"]
    log_weight: Float[np.ndarray, " rows"]

    @property
    def size(self) -> float:
        """The number of equally weighted draws that these are worth."""
        return count_effective(self.weights(1.0)) if np.isfinite(self.log_weight).any() else 0.0

    def fewer(self, count: int) -> "Particles":
        """Equally weighted ones, some of them more than once. **Arguments:** `count`. **Returns:** Particles."""
        rows = choose_evenly(self.weights(1.0), count)
        return Particles(self.u[rows], self.log_likelihood[rows], np.zeros(count))

    def join(self, other: "Particles", worth: float) -> "Particles":
        """Both sets. **Arguments:** `other` draws; `worth`: as how many of them these count. **Returns:** Particles."""
        u, values = (np.concatenate([self[i], other[i]]) for i in range(2))
        weights = np.concatenate([worth * self.weights(1.0), other.size * other.weights(1.0)])
        with np.errstate(divide="ignore"):
            return Particles(u, values, np.log(weights))

    def weights(self, power: float) -> Float[np.ndarray, " rows"]:
        """The weights for another power of the likelihood. **Arguments:** `power`. **Returns:** weights, sum 1."""
        with np.errstate(invalid="ignore"):  # a failed simulation has the weight 0
            log = np.nan_to_num(self.log_weight - (1.0 - power) * self.log_likelihood, nan=-np.inf, neginf=-np.inf)
        weights = np.exp(log - log.max())
        return weights / weights.sum()


def choose_evenly(weights: Float[np.ndarray, " rows"], count: int) -> Int[np.ndarray, " count"]:
    """The numbers of equally weighted draws, in order. **Arguments:** `weights`, with a sum of 1; `count`."""
    rows = np.searchsorted(np.cumsum(weights), (np.arange(count) + 0.5) / count)
    return np.minimum(rows, weights.size - 1)


def pool_stages(stages: list[Piece]) -> Particles:
    """The particles of all stages as weighted draws of the posterior, at no simulation.

    Each is weighted as a draw from the mixture of the tempered posteriors of all stages. The broad ones have particles
    where the last one, whose particles are of few families, happens to have lost them.

    **Arguments:** `stages` of a tempered run. **Returns:** Particles.
    **Source:** Nguyen et al. (2014), recycling of all particles.
    """
    from scipy.special import logsumexp

    u = np.concatenate([piece["u"].reshape(-1, piece["u"].shape[-1]) for piece in stages])
    values = np.concatenate([piece["log_likelihood"].ravel() for piece in stages])
    is_valid = np.isfinite(values)
    densities = [float(piece["temperature"]) * values[is_valid] - float(piece["log_evidence"]) for piece in stages]
    sizes = np.array([piece["log_likelihood"].size for piece in stages])[:, None]
    log_weight = np.full(values.size, -np.inf)
    log_weight[is_valid] = values[is_valid] - logsumexp(densities, axis=0, b=sizes)
    return Particles(u, values, log_weight)
