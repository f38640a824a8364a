"""Draws from densities one after the other, weighted by the mixture of all of them."""

import numpy as np
from jaxtyping import Float

from .kernels import Mixture


class WeightedDraws:
    """Draws of a posterior from several densities, each weighted as a draw from the mixture of all densities.

    Draws from a poor density then count for what they are worth against those from a better one, and no region that an
    earlier density covered is lost. A density that is added must not depend on these draws themselves: kernels at the
    draws would be largest just there, and the evidence would be too small.

    **Arguments:** `k`, the number of coordinates.
    **Source:** Owen and Zhou (2000), the weights of a deterministic mixture.
    """

    def __init__(self, k: int):
        self.u, self.log_likelihood = np.empty((0, k)), np.empty(0)
        self.densities: list[Mixture] = []
        self.counts: list[int] = []
        self._log_densities = np.empty((0, 0))  # [densities, draws]

    def change(self, density: Mixture) -> None:
        """Draw from another density from now on. **Arguments:** `density`."""
        used = [i for i, count in enumerate(self.counts) if count]
        self.densities = [*(self.densities[i] for i in used), density]
        self.counts = [*(self.counts[i] for i in used), 0]
        self._log_densities = np.vstack([self._log_densities[used], self._evaluate(density, self.u)])

    def add(self, u: Float[np.ndarray, "rows k"], log_likelihood: Float[np.ndarray, " rows"]) -> None:
        """Add draws from the last density. **Arguments:** points `u`; their `log_likelihood`."""
        self.u = np.concatenate([self.u, u])
        self.log_likelihood = np.concatenate([self.log_likelihood, log_likelihood])
        self.counts[-1] += len(u)
        new = np.vstack([self._evaluate(density, u) for density in self.densities])
        self._log_densities = np.hstack([self._log_densities, new])

    @property
    def log_ratio(self) -> Float[np.ndarray, " draws"]:
        """The logarithms of the likelihood by the density of the mixture."""
        from scipy.special import logsumexp

        shares = np.array(self.counts)[:, None] / len(self.u)
        return self.log_likelihood - np.asarray(logsumexp(self._log_densities, axis=0, b=shares))

    @property
    def density(self) -> Mixture:
        """The last density."""
        return self.densities[-1]

    @property
    def last_log_ratio(self) -> Float[np.ndarray, " rows"]:
        """The logarithms of the likelihood by the last density alone, for its own draws."""
        own = slice(len(self.u) - self.counts[-1], None)
        return self.log_likelihood[own] - self._log_densities[-1, own]

    @staticmethod
    def _evaluate(density: Mixture, u: np.ndarray) -> np.ndarray:
        return (density.log_density(u) if len(u) else np.empty(0))[None]
