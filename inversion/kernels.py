"""Densities that importance sampling draws from: Gaussian kernels at particles, and peaks beside them."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from .cube import Cube

TINY = 1e-6  # of the largest weight: particles with less are no centres
STAYS = 0.8  # probability that a kernel keeps a discrete value of its particle


class Kernels:
    """A mixture of kernels at particles, with a share of the prior, as a density in the unit cube.

    Coordinates are z with u = Phi(z), in which the prior is a unit normal. A kernel has the covariance of the
    particles times h^2, about a centre that is moved towards their mean so that the mixture has their covariance:
    h = 1 is one Gaussian. **Arguments:** `cube`; `u` [rows, k], particles; their `weights` [rows]; `h`; `prior`: its
    share; `spread`: the covariance in z, None for that of the particles.
    """

    def __init__(
        self,
        cube: Cube,
        u: np.ndarray,
        weights: np.ndarray,
        h: float,
        prior: float,
        spread: np.ndarray | None = None,
    ):
        u, weights = u[weights > TINY * weights.max()], weights[weights > TINY * weights.max()]
        self.choices, self.h, self.prior, self.weights = cube.choices, h, prior, weights / weights.sum()
        self.smooth = [k for k in range(u.shape[1]) if k not in cube.choices]
        self.values = cube.selected(u)
        z = normal(u[:, self.smooth])
        self.mean = self.weights @ z
        if spread is None:
            # 1e-6: particles that agree in a coordinate leave a width there.
            spread = (self.weights * (z - self.mean).T) @ (z - self.mean) + 1e-6 * np.eye(len(self.smooth))
        self.factor = np.linalg.cholesky(spread)
        self.centres = self.mean + np.sqrt(1.0 - h**2) * (z - self.mean)
        self.cube = cube

    def sample(self, rng: np.random.Generator, count: int) -> Float[np.ndarray, "count k"]:
        """Independent draws of the mixture.

        **Arguments:** `rng`; `count`. **Returns:** points [count, k].
        """
        rows = rng.choice(len(self.centres), size=count, p=self.weights)
        u = rng.random((count, len(self.smooth) + len(self.choices)))
        from_prior = rng.random(count) < self.prior
        z = self.centres[rows] + self.h * rng.standard_normal((count, len(self.smooth))) @ self.factor.T
        u[:, self.smooth] = np.where(from_prior[:, None], u[:, self.smooth], uniform(z))
        for k, number in self.choices.items():
            kept = ~from_prior & (rng.random(count) < STAYS)
            u[:, k] = np.where(kept, (self.values[k][rows] + u[:, k]) / number, u[:, k])
        return u

    def log_density(self, u: Float[np.ndarray, "rows k"]) -> Float[np.ndarray, " rows"]:
        """The logarithm of the density by the prior's."""
        from scipy.special import logsumexp

        values = self.cube.selected(u)
        z = normal(u[:, self.smooth])
        whitened = np.linalg.solve(self.factor, (z - self.mean).T).T / self.h
        centres = np.linalg.solve(self.factor, (self.centres - self.mean).T).T / self.h
        constant = -len(self.smooth) * np.log(self.h) - np.log(np.diag(self.factor)).sum()
        found = []
        for part in np.array_split(np.arange(len(u)), len(u) // 500 + 1):
            distance = squares(whitened[part])[:, None] + squares(centres) - 2.0 * whitened[part] @ centres.T
            log = constant - 0.5 * distance
            for k, number in self.choices.items():
                same = values[k][part][:, None] == self.values[k]
                log += np.log(np.where(same, STAYS * number + 1.0 - STAYS, 1.0 - STAYS))
            found.append(logsumexp(log + np.log(self.weights), axis=1))
        by_prior = np.concatenate(found) + 0.5 * squares(z)
        return np.logaddexp(np.log1p(-self.prior) + by_prior, np.log(self.prior)) if self.prior else by_prior


def squares(x: np.ndarray) -> np.ndarray:
    """The squares of the lengths of rows."""
    return np.sum(x**2, axis=-1)


def normal(u: np.ndarray) -> np.ndarray:
    """The coordinates z of u, in which the prior is a unit normal."""
    from scipy.special import ndtri

    return ndtri(np.clip(u, 1e-12, 1.0 - 1e-12))


def uniform(z: np.ndarray) -> np.ndarray:
    """The prior probabilities u of z."""
    from scipy.special import ndtr

    return ndtr(z)


class Mixture:
    """Kernels at all particles, and peaks that these are too wide for, each with its share of the draws.

    **Arguments:** `kernels`; `peaks`; their `shares` [peaks], with a sum below 1.
    """

    def __init__(self, kernels: Kernels, peaks: Sequence[Kernels] = (), shares: np.ndarray | None = None):
        self.kernels, self.peaks = kernels, tuple(peaks)
        self.shares = np.ones(1) if shares is None else np.array([1.0 - np.sum(shares), *shares])

    def sample(self, rng: np.random.Generator, count: int) -> Float[np.ndarray, "count k"]:
        """Independent draws. **Arguments:** `rng`; `count`. **Returns:** points [count, k]."""
        u = self.kernels.sample(rng, count)
        which = rng.choice(self.shares.size, size=count, p=self.shares)
        for i, peak in enumerate(self.peaks, 1):
            u[which == i] = peak.sample(rng, int(np.sum(which == i)))
        return u

    def log_density(self, u: Float[np.ndarray, "rows k"]) -> Float[np.ndarray, " rows"]:
        """The logarithm of the density by the prior's."""
        from scipy.special import logsumexp

        return logsumexp(self._parts(u), axis=0)

    def responsibilities(self, u: Float[np.ndarray, "rows k"]) -> Float[np.ndarray, "parts rows"]:
        """The probability that a draw at each point came from the kernels, or from each of the peaks."""
        parts = self._parts(u)
        return np.exp(parts - parts.max(axis=0)) / np.exp(parts - parts.max(axis=0)).sum(axis=0)

    def _parts(self, u: np.ndarray) -> np.ndarray:
        parts = np.stack([part.log_density(u) for part in (self.kernels, *self.peaks)])
        return parts + np.log(self.shares)[:, None]
