"""Importance sampling of a posterior from a mixture of kernels at the particles of a tempered run."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from tqdm import tqdm

from difsim.checks import host_numbers, instance, integer

from .cube import Cube
from .draws import Draws
from .sweeps import Checkpoint, Piece, stored
from .tempered import Tempered, smallest_size

TINY = 1e-6  # of the largest weight: particles with less are no centres
K_HAT = 0.7  # the largest shape of the weights' tail whose means can be trusted (Vehtari et al. 2024)
STAYS = 0.8  # probability that a kernel keeps a discrete value of its particle
BANDWIDTHS = np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
# Kernels are kept whose draws have this effective share, or not this many times that of the kernels before.
GOOD, GAIN, GENERATIONS = 0.25, 1.5, 4


class Kernels:
    """A mixture of kernels at particles, with a share of the prior, as a density in the unit cube.

    Coordinates are z with u = Phi(z), in which the prior is a unit normal. A kernel has the covariance of the
    particles times h^2, about a centre that is moved towards their mean so that the mixture has their covariance:
    h = 1 is one Gaussian. **Arguments:** `cube`; `u` [rows, k], particles; their `weights` [rows]; `h`; `prior`: its
    share.
    """

    def __init__(self, cube: Cube, u: np.ndarray, weights: np.ndarray, h: float, prior: float):
        u, weights = u[weights > TINY * weights.max()], weights[weights > TINY * weights.max()]
        self.choices, self.h, self.prior, self.weights = cube.choices, h, prior, weights / weights.sum()
        self.smooth = [k for k in range(u.shape[1]) if k not in cube.choices]
        self.values = cube.selected(u)
        z = _normal(u[:, self.smooth])
        self.mean = self.weights @ z
        spread = (self.weights * (z - self.mean).T) @ (z - self.mean)
        # 1e-6: particles that agree in a coordinate leave a width there.
        self.factor = np.linalg.cholesky(spread + 1e-6 * np.eye(len(self.smooth)))
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
        u[:, self.smooth] = np.where(from_prior[:, None], u[:, self.smooth], _uniform(z))
        for k, number in self.choices.items():
            kept = ~from_prior & (rng.random(count) < STAYS)
            u[:, k] = np.where(kept, (self.values[k][rows] + u[:, k]) / number, u[:, k])
        return u

    def log_density(self, u: Float[np.ndarray, "rows k"]) -> Float[np.ndarray, " rows"]:
        """The logarithm of the density by the prior's."""
        from scipy.special import logsumexp

        values = self.cube.selected(u)
        z = _normal(u[:, self.smooth])
        whitened = np.linalg.solve(self.factor, (z - self.mean).T).T / self.h
        centres = np.linalg.solve(self.factor, (self.centres - self.mean).T).T / self.h
        constant = -len(self.smooth) * np.log(self.h) - np.log(np.diag(self.factor)).sum()
        found = []
        for part in np.array_split(np.arange(len(u)), len(u) // 500 + 1):
            distance = _squares(whitened[part])[:, None] + _squares(centres) - 2.0 * whitened[part] @ centres.T
            log = constant - 0.5 * distance
            for k, number in self.choices.items():
                same = values[k][part][:, None] == self.values[k]
                log += np.log(np.where(same, STAYS * number + 1.0 - STAYS, 1.0 - STAYS))
            found.append(logsumexp(log + np.log(self.weights), axis=1))
        by_prior = np.concatenate(found) + 0.5 * _squares(z)
        return np.logaddexp(np.log1p(-self.prior) + by_prior, np.log(self.prior))


def _squares(x: np.ndarray) -> np.ndarray:
    return np.sum(x**2, axis=-1)


def _normal(u: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return ndtri(np.clip(u, 1e-12, 1.0 - 1e-12))


def _uniform(z: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return ndtr(z)


@dataclass(frozen=True)
class Importance:
    """Independent draws from kernels at the particles of a tempered run, weighted by importance.

    Kernels whose draws have an effective share below 0.25 are placed anew at the weighted draws, as long as that
    helps. The width of the kernels is the one that promises the largest share, estimated with one half of the
    particles as centres and the other half as draws of the posterior, so without a simulation. Weights are smoothed
    by a Pareto tail, whose shape k-hat says whether they can be trusted. Where it is above 0.7, the chains of the
    tempered run go on instead.

    **Arguments:** `tempered`: the run that finds the posterior; `generation`: draws of the first kernels; `prior`:
    share of draws from the prior itself, which bounds all weights.
    **Raises:** ValueError for settings out of range.
    **Source:** Vehtari et al. (2024), Pareto smoothing; West (1993), kernels with the covariance of the particles.
    """

    tempered: Tempered = field(default_factory=Tempered)
    generation: int = 2000
    prior: float = 0.1

    def __post_init__(self):
        instance("Importance: tempered", self.tempered, Tempered, "Tempered(...)")
        integer("Importance: generation", self.generation)
        host_numbers("Importance: prior", self.prior, "")
        if not (0.0 < self.prior < 1.0 and self.generation >= 100):
            raise ValueError(
                f"Importance: give 0 < prior < 1 and a generation of at least 100, not {self.prior} and "
                f"{self.generation}"
            )

    def draws(
        self,
        cube: Cube,
        key: Array,
        effective_size: int,
        limit: int,
        checkpoint: Checkpoint | None = None,
        progress: bool = False,
    ) -> Draws:
        """Draws of this effective size, or those of chains where importance weights cannot be trusted.

        **Arguments:** as `Tempered.draws`. **Returns:** Draws. **Raises:** RuntimeError as `Tempered.draws`.
        """
        tempering, drawing, going_on = jax.random.split(key, 3)
        start = self.tempered.population(cube, tempering, checkpoint, progress)
        seed = np.asarray(jax.random.key_data(drawing)).ravel().tolist()
        with tqdm(disable=not progress, desc="importance sampling", total=effective_size) as bar:

            def drawn(kernels: Kernels, generation: int, part: int, count: int) -> Iterator[Piece]:
                """As many draws in pieces of one size: each is kept and shown, and one program serves all."""
                u = kernels.sample(np.random.default_rng([*seed, generation, part]), count * self.generation)
                for piece, rows in enumerate(np.split(u, count)):
                    compute = partial(_weighed, cube, kernels, rows)
                    yield stored(checkpoint, f"importance-{generation}-{part}-{piece}", compute)

            kernels = self._placed(cube, start.u, start.log_likelihood, start.weights)
            before = 0.0
            for generation in range(1, GENERATIONS + 1):
                (found,) = drawn(kernels, generation, 0, 1)
                share = _size(cube, found) / self.generation
                bar.update(round(share * self.generation) - bar.n)
                if share >= GOOD or share < GAIN * before or generation == GENERATIONS:
                    break
                before = share
                weights = np.exp(found["log_ratio"] - found["log_ratio"].max())
                # Two halves of independent draws, as of chains.
                kernels = self._placed(cube, found["u"][None], found["log_likelihood"][None], weights[None])
            part, size = 0, _size(cube, found)
            while size < effective_size and cube.calls.forward < limit:
                part, rows = part + 1, found["log_ratio"].size
                # As many more as the effective share so far asks for, and at most four times as many as there are.
                missing = min((effective_size / size - 1.0) * rows * 1.05, 4.0 * rows, limit - cube.calls.forward)
                for new in drawn(kernels, generation, part, max(1, int(np.ceil(missing / self.generation)))):
                    found = {name: np.concatenate([found[name], new[name]]) for name in found}
                    size = _size(cube, found)
                    bar.update(round(min(size, effective_size)) - bar.n)
        log_weights, k_hat = _k_hat(found["log_ratio"])
        if not k_hat <= K_HAT:
            return self.tempered.extended(start, cube, going_on, effective_size, limit, checkpoint, progress)
        largest = found["log_ratio"].max()
        ratio = np.exp(found["log_ratio"] - largest)
        return Draws(
            u=found["u"][None],
            log_likelihood=found["log_likelihood"][None],
            weights=np.exp(log_weights)[None],
            families=np.arange(log_weights.size),
            prior=start.prior,
            log_evidence=float(np.log(ratio.mean()) + largest),
            error=float(ratio.std(ddof=1) / ratio.mean() / np.sqrt(ratio.size)),
            k_hat=k_hat,
            method=f"{start.method}, then importance sampling (generation {generation} of kernels)",
        )

    def _placed(self, cube: Cube, u: np.ndarray, log_likelihood: np.ndarray, weights: np.ndarray) -> Kernels:
        """The mixture at particles [steps, chains], with the width that promises the largest effective share."""
        from scipy.special import logsumexp

        half, k = u.shape[1] // 2, u.shape[-1]
        centres = u[:, :half].reshape(-1, k), weights[:, :half].ravel()
        probes = u[:, half:].reshape(-1, k)
        with np.errstate(divide="ignore"):  # a failed simulation has the weight 0
            probable = np.log(weights[:, half:].ravel()) + log_likelihood[:, half:].ravel()
        densities = [Kernels(cube, *centres, h, self.prior).log_density(probes) for h in BANDWIDTHS]
        # 1 / share = E[likelihood / density] over the posterior, relative to the evidence.
        h = float(BANDWIDTHS[np.argmin([logsumexp(probable - density) for density in densities])])
        return Kernels(cube, u.reshape(-1, k), weights.ravel(), h, self.prior)


def _weighed(cube: Cube, kernels: Kernels, u: np.ndarray) -> Piece:
    """Draws of the kernels with their log-likelihoods and log importance ratios."""
    values = cube.log_likelihood(u)
    return {"u": u, "log_likelihood": values, "log_ratio": values - kernels.log_density(u)}


def _size(cube: Cube, found: Piece) -> float:
    """The effective size of weighted draws, for the unknown that has the fewest."""
    weights = np.exp(found["log_ratio"] - found["log_ratio"].max())
    return smallest_size(cube, found["u"][None], weights[None] / weights.sum(), np.arange(weights.size))


def _k_hat(log_ratios: np.ndarray) -> tuple[np.ndarray, float]:
    """The logarithms of smoothed weights with a sum of 1, and the shape of their tail."""
    log_weights, k_hat = _smoothed(jnp.asarray(log_ratios))
    return np.asarray(log_weights), float(k_hat)


@jax.jit
def _smoothed(log_ratios):
    from blackjax.diagnostics import psis_weights

    return psis_weights(log_ratios)
