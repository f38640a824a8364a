"""Densities that importance sampling draws from: Gaussian kernels with the prior, and the peaks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from .cube import Cube
from .parameters import END

STAYS = 0.8  # probability that a kernel keeps the discrete values of its centre


@dataclass(frozen=True)
class Kernels:
    """A mixture of Gaussian kernels, with a share of the prior, as a density in the unit cube.

    Continuous coordinates are z with u = Phi(z), in which the prior is a unit normal.

    **Arguments:** `cube`; `centres` [kernels, d] in z; `factors` [kernels, d, d], of Cholesky, of their covariances;
    `values`: the numbers [kernels] of the values of each discrete coordinate; `weights` [kernels], with a sum of 1;
    `prior`: its share of the draws.
    """

    cube: Cube
    centres: Float[np.ndarray, "kernels d"]
    factors: Float[np.ndarray, "kernels d d"]
    values: dict[int, np.ndarray]
    weights: Float[np.ndarray, " kernels"]
    prior: float

    @cached_property
    def smooth(self) -> list[int]:
        """The numbers of the continuous coordinates."""
        return continuous(self.cube)

    def mix(self, other: "Kernels", share: float) -> "Kernels":
        """A mixture with other kernels. **Arguments:** `other`; their `share`. **Returns:** Kernels."""
        return replace(
            self,
            centres=np.concatenate([self.centres, other.centres]),
            factors=np.concatenate([self.factors, other.factors]),
            values={k: np.concatenate([values, other.values[k]]) for k, values in self.values.items()},
            weights=np.concatenate([(1.0 - share) * self.weights, share * other.weights]),
        )

    def sample(self, rng: np.random.Generator, count: int) -> Float[np.ndarray, "count k"]:
        """Independent draws of the mixture.

        **Arguments:** `rng`; `count`. **Returns:** points [count, k].
        """
        rows = rng.choice(len(self.centres), size=count, p=self.weights)
        u = rng.random((count, len(self.smooth) + len(self.values)))
        from_prior = rng.random(count) < self.prior
        away = rng.standard_normal((count, len(self.smooth)))
        z = self.centres[rows] + np.einsum("nij,nj->ni", self.factors[rows], away)
        u[:, self.smooth] = np.where(from_prior[:, None], u[:, self.smooth], uniform(z))
        for k, chosen in self.values.items():
            kept = ~from_prior & (rng.random(count) < STAYS)
            u[:, k] = np.where(kept, (chosen[rows] + u[:, k]) / self.cube.choices[k], u[:, k])
        return u

    def log_density(self, u: Float[np.ndarray, "rows k"]) -> Float[np.ndarray, " rows"]:
        """The logarithm of the density by the prior's."""
        from scipy.special import logsumexp

        values, z = self.cube.choice_indices(u), normal(u[:, self.smooth])
        inverse = np.linalg.inv(self.factors)
        size = np.log(np.diagonal(self.factors, axis1=1, axis2=2)).sum(axis=1)
        # The square of a distance from a centre is linear in the products of coordinates: one matrix product for all.
        precision = np.swapaxes(inverse, 1, 2) @ inverse
        slope = np.einsum("mij,mj->mi", precision, self.centres)
        level = np.log(self.weights) - size - 0.5 * np.einsum("mi,mi->m", slope, self.centres)
        by = np.concatenate([-0.5 * precision.reshape(len(slope), -1), slope], axis=1).T
        found = []
        for part in np.array_split(np.arange(len(u)), len(u) // 500 + 1):
            products = (z[part, :, None] * z[part, None, :]).reshape(len(part), -1)
            log = np.concatenate([products, z[part]], axis=1) @ by + level
            for k, chosen in self.values.items():
                log += np.log(discrete_density(values[k][part], chosen, self.cube.choices[k]))
            found.append(logsumexp(log, axis=1))
        by_prior = np.concatenate(found) + 0.5 * squares(z)
        return np.logaddexp(np.log1p(-self.prior) + by_prior, np.log(self.prior)) if self.prior else by_prior


def continuous(cube: Cube) -> list[int]:
    """The numbers of the continuous coordinates."""
    return [k for k in range(cube.active.size) if k not in cube.choices]


def discrete_density(values: np.ndarray, of: np.ndarray, number: int) -> Float[np.ndarray, "rows kernels"]:
    """The density of values of a discrete coordinate in kernels with the values `of`, by the prior's."""
    return np.where(values[:, None] == of, STAYS * number + 1.0 - STAYS, 1.0 - STAYS)


def squares(x: np.ndarray) -> np.ndarray:
    """The squares of the lengths of rows."""
    return np.einsum("...i,...i->...", x, x)


def normal(u: np.ndarray) -> np.ndarray:
    """The coordinates z of u, in which the prior is a unit normal."""
    from scipy.special import ndtri

    return ndtri(np.clip(u, END, 1.0 - END))


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

        return np.asarray(logsumexp(self._parts(u), axis=0))

    def responsibilities(self, u: Float[np.ndarray, "rows k"]) -> Float[np.ndarray, "parts rows"]:
        """The probability that a draw at each point is from the kernels, or from each of the peaks."""
        parts = self._parts(u)
        return np.exp(parts - parts.max(axis=0)) / np.exp(parts - parts.max(axis=0)).sum(axis=0)

    def _parts(self, u: np.ndarray) -> np.ndarray:
        parts = np.stack([part.log_density(u) for part in (self.kernels, *self.peaks)])
        return parts + np.log(self.shares)[:, None]
