"""Importance sampling of a posterior from a mixture of kernels at the particles of a tempered run."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from tqdm import tqdm

from difsim.checks import host_numbers, instance, integer

from .cube import Cube
from .draws import Draws
from .kernels import Kernels, Mixture
from .peaks import Heights, climbed, inside, measured, peak
from .sweeps import Checkpoint, Piece, stored
from .tempered import Tempered, smallest_size

K_HAT = 0.7  # the largest shape of the weights' tail whose means can be trusted (Vehtari et al. 2024)
BANDWIDTHS = np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
# Kernels are kept whose draws have this effective share, or not this many times that of the kernels before.
GOOD, GAIN, GENERATIONS = 0.25, 1.5, 4
LARGE = 0.5  # the largest error of a log evidence that counts, where it is compared with that of chains
# A point whose posterior density is so many times the one that is drawn from is on a peak, which counts with this part
# of the evidence or more; the most peaks, and the least share of the draws from one and the most from all.
UNCOVERED, LIGHT, PEAKS, LEAST, MOST = 30.0, 1e-3, 8, 0.05, 0.8


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
        guesses: Float[np.ndarray, "guesses k"] | None = None,
    ) -> Draws:
        """Draws of this effective size, or those of chains where importance weights cannot be trusted.

        **Arguments:** as `Tempered.draws`; `guesses`: points where the posterior may have a narrow peak.
        **Returns:** Draws. **Raises:** RuntimeError as `Tempered.draws`.
        """
        tempering, drawing, going_on = jax.random.split(key, 3)
        start = self.tempered.population(cube, tempering, checkpoint, progress)
        seed = np.asarray(jax.random.key_data(drawing)).ravel().tolist()
        with tqdm(disable=not progress, desc="importance sampling", total=effective_size) as bar:
            search = _Search(self, cube, seed, effective_size, limit, checkpoint, bar)
            search.begin(start, guesses)
            found = search.run()
        log_weights, k_hat = _k_hat(found["log_ratio"])
        evidence = _evidence(found["log_ratio"])
        if not k_hat <= K_HAT:
            chains = self.tempered.extended(start, cube, going_on, effective_size, limit, checkpoint, progress)
            # Importance draws of which one has all the weight have an error of 1, and hardly ever too much evidence.
            return replace(chains, other=(evidence[0], min(evidence[1], LARGE)))
        peaks = f" and {len(search.mixture.peaks)} narrow peaks" if search.mixture.peaks else ""
        return Draws(
            u=found["u"][None],
            log_likelihood=found["log_likelihood"][None],
            weights=np.exp(log_weights)[None],
            families=np.arange(log_weights.size),
            prior=start.prior,
            log_evidence=evidence[0],
            error=evidence[1],
            k_hat=k_hat,
            method=f"{start.method}, then importance sampling (generation {search.generation} of kernels{peaks})",
            other=(start.log_evidence, start.error),
        )


class _Search:
    """The draws of one posterior, from the densities that they are drawn from one after the other.

    **Arguments:** `settings`; `cube`; `seed`; `effective_size`; `limit`; `checkpoint`; `bar` of the draws' progress.
    """

    def __init__(
        self,
        settings: Importance,
        cube: Cube,
        seed: list[int],
        effective_size: int,
        limit: int,
        checkpoint: Checkpoint | None,
        bar: tqdm,
    ):
        self.settings, self.cube, self.seed, self.effective_size = settings, cube, seed, effective_size
        self.limit, self.checkpoint, self.bar = limit, checkpoint, bar
        self.generation, self.masses = 0, []

    def begin(self, start: Draws, guesses: Float[np.ndarray, "guesses k"] | None) -> None:
        """Place the first kernels at a tempered run, and look for a narrow peak at guesses.

        Without a guess one is climbed to from the best particle.
        """
        self.mixture = Mixture(self._placed(start.u, start.log_likelihood, start.weights))
        self.log_evidence = start.log_evidence
        if len(self.cube.choices) == start.u.shape[-1]:
            return
        if guesses is None:
            best = start.u.reshape(-1, start.u.shape[-1])[np.argmax(start.log_likelihood)]
            find = lambda: climbed(self._heights(best, 1))[None]  # noqa: E731
        else:
            find = lambda: np.stack([inside(self._heights(u, 2)) for u in guesses])  # noqa: E731
        found = stored(self.checkpoint, "guesses", lambda: self._evaluate(find()))
        points, values = found["u"], found["log_likelihood"]
        for i in np.argsort(-values):
            self._add_peak(points[i], values[i] - self.mixture.log_density(points[[i]])[0])

    def _evaluate(self, u: Float[np.ndarray, "rows k"]) -> Piece:
        return {"u": u, "log_likelihood": self.cube.log_likelihood(u)}

    def _heights(self, u: Float[np.ndarray, " k"], number: int) -> Heights:
        return Heights(self.cube, u, [*self.seed, 1000, number])

    def run(self) -> Piece:
        """Weighted draws of the effective size, or fewer where the limit of simulations ends them.

        A draw whose weight is far above all others is on a peak that nothing covers: its shape is measured, and all is
        drawn again with the peak.
        """
        while True:
            found = self._generations()
            if not self._misses_peak(found):
                found = self._extend(found)
                if not self._misses_peak(found):
                    return found

    def _misses_peak(self, found: Piece) -> bool:
        """Whether weights that cannot be trusted have a peak as their reason, which is then drawn from."""
        if _k_hat(found["log_ratio"])[1] <= K_HAT or self.cube.calls.forward >= self.limit:
            return False
        self.log_evidence = max(self.log_evidence, _evidence(found["log_ratio"])[0])
        highest = int(np.argmax(found["log_ratio"]))
        return self._add_peak(found["u"][highest], found["log_ratio"][highest])

    def _add_peak(self, u: Float[np.ndarray, " k"], log_ratio: float) -> bool:
        """Add the peak next to a point to what is drawn from, if there is one with some weight.

        **Arguments:** `u`; `log_ratio`, the log-likelihood there less the logarithm of the density.
        **Returns:** whether it was added.
        """
        is_covered = not log_ratio - self.log_evidence > np.log(UNCOVERED)
        if is_covered or len(self.masses) >= PEAKS or len(self.cube.choices) == u.size:
            return False
        number = len(self.masses)
        shape = stored(self.checkpoint, f"peak-{number}", lambda: measured(self._heights(u, 3 + number)))
        log_mass = float(shape["log_mass"])
        if not log_mass - self.log_evidence > np.log(LIGHT):
            return False
        self.log_evidence = float(np.logaddexp(self.log_evidence, log_mass))
        self.masses.append(log_mass)
        shares = _shares(np.exp(np.array(self.masses) - self.log_evidence))
        self.mixture = Mixture(self.mixture.kernels, [*self.mixture.peaks, peak(self.cube, shape)], shares)
        return True

    def _generations(self) -> Piece:
        """The draws of the last kernels: these are placed anew at the weighted draws, as long as that helps."""
        before = 0.0
        for count in range(1, GENERATIONS + 1):
            self.generation += 1
            (found,) = self._drawn(0, 1)
            share = _size(self.cube, found) / self.settings.generation
            self.bar.update(round(share * self.settings.generation) - self.bar.n)
            if share >= GOOD or share < GAIN * before or count == GENERATIONS:
                return found
            before = share
            weights = np.exp(found["log_ratio"] - found["log_ratio"].max())
            part = self.mixture.responsibilities(found["u"])
            # Two halves of independent draws, as of chains.
            kernels = self._placed(found["u"][None], found["log_likelihood"][None], (weights * part[0])[None])
            shares = _shares(part[1:] @ weights / weights.sum())
            self.mixture = Mixture(kernels, self.mixture.peaks, shares)

    def _extend(self, found: Piece) -> Piece:
        """These draws and as many more as the effective size asks for."""
        rows_at_once = self.settings.generation
        part, size = 0, _size(self.cube, found)
        while size < self.effective_size and self.cube.calls.forward < self.limit:
            part, rows = part + 1, found["log_ratio"].size
            # As many more as the effective share so far asks for, and at most four times as many as there are.
            missing = (self.effective_size / size - 1.0) * rows * 1.05
            missing = min(missing, 4.0 * rows, self.limit - self.cube.calls.forward)
            for new in self._drawn(part, max(1, int(np.ceil(missing / rows_at_once)))):
                found = {name: np.concatenate([found[name], new[name]]) for name in found}
                size = _size(self.cube, found)
                self.bar.update(round(min(size, self.effective_size)) - self.bar.n)
        return found

    def _drawn(self, part: int, count: int) -> Iterator[Piece]:
        """Draws in so many pieces of one size: each is kept and shown, and one program serves all."""
        rng = np.random.default_rng([*self.seed, self.generation, part])
        u = self.mixture.sample(rng, count * self.settings.generation)
        for piece, rows in enumerate(np.split(u, count)):
            compute = partial(_weighed, self.cube, self.mixture, rows)
            yield stored(self.checkpoint, f"importance-{self.generation}-{part}-{piece}", compute)

    def _placed(self, u: np.ndarray, log_likelihood: np.ndarray, weights: np.ndarray) -> Kernels:
        """The kernels at particles [steps, chains], with the width that promises the largest effective share."""
        from scipy.special import logsumexp

        cube, prior = self.cube, self.settings.prior
        half, k = u.shape[1] // 2, u.shape[-1]
        centres = u[:, :half].reshape(-1, k), weights[:, :half].ravel()
        probes = u[:, half:].reshape(-1, k)
        with np.errstate(divide="ignore"):  # a failed simulation has the weight 0
            probable = np.log(weights[:, half:].ravel()) + log_likelihood[:, half:].ravel()
        densities = [Kernels(cube, *centres, h, prior).log_density(probes) for h in BANDWIDTHS]
        # 1 / share = E[likelihood / density] over the posterior, relative to the evidence.
        h = float(BANDWIDTHS[np.argmin([logsumexp(probable - density) for density in densities])])
        return Kernels(cube, u.reshape(-1, k), weights.ravel(), h, prior)


def _shares(masses: np.ndarray) -> np.ndarray:
    """The shares of the draws that peaks of these parts of the evidence get; some are left for the kernels."""
    shares = np.maximum(masses, LEAST)
    return shares * min(1.0, MOST / max(shares.sum(), LEAST))


def _weighed(cube: Cube, mixture: Mixture, u: np.ndarray) -> Piece:
    """Draws of the mixture with their log-likelihoods and log importance ratios."""
    values = cube.log_likelihood(u)
    return {"u": u, "log_likelihood": values, "log_ratio": values - mixture.log_density(u)}


def _size(cube: Cube, found: Piece) -> float:
    """The effective size of weighted draws, for the unknown that has the fewest."""
    weights = np.exp(found["log_ratio"] - found["log_ratio"].max())
    return smallest_size(cube, found["u"][None], weights[None] / weights.sum(), np.arange(weights.size))


def _evidence(log_ratios: np.ndarray) -> tuple[float, float]:
    """The log evidence by importance ratios, and its standard error."""
    largest = log_ratios.max()
    ratio = np.exp(log_ratios - largest)
    return float(np.log(ratio.mean()) + largest), float(ratio.std(ddof=1) / ratio.mean() / np.sqrt(ratio.size))


def _k_hat(log_ratios: np.ndarray) -> tuple[np.ndarray, float]:
    """The logarithms of smoothed weights with a sum of 1, and the shape of their tail."""
    log_weights, k_hat = _smoothed(jnp.asarray(log_ratios))
    return np.asarray(log_weights), float(k_hat)


@jax.jit
def _smoothed(log_ratios):
    from blackjax.diagnostics import psis_weights

    return psis_weights(log_ratios)
