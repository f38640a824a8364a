"""Adaptive importance sampling of one posterior: kernels are placed again at draws until that gains nothing."""

import math
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from difsim.saving.checkpoint import Checkpoint

from .cube import Cube
from .draws import Draws, smallest_size
from .kernels import Kernels, Mixture
from .particles import Particles
from .peaks import Heights, climb, find_interior, measure, peak
from .placing import place_best
from .progress import Bar
from .sweeps import Piece, load_or_compute
from .tails import K_HAT, evidence_of, pareto_smoothed, share_of
from .threads import map_in_threads
from .weighted import WeightedDraws

# Kernels are settled when the effective share of their draws is good, new ones do not multiply it by so much, and
# evidences agree within so many standard errors, twice. After so many generations a lower share will do, and draws may
# end without that; after twice as many with weights that cannot be trusted.
GOOD, LATE, GROWTH, AGREES, GENERATIONS = 0.4, 0.2, 1.1, 3.0, 12
MORE = 1.25  # so many times the draws are worth to place kernels again, which takes as long as some hundred simulations
# A point whose posterior density is so many times the one that is drawn from is on a peak, which counts with this part
# of the evidence or more; the most peaks, and the least share of the draws from one and the most from all.
UNCOVERED, LIGHT, PEAKS, LEAST, MOST = 30.0, 1e-3, 8, 0.05, 0.8


@dataclass
class Search:
    """Two halves of draws: the kernels that one is drawn from are placed at the draws of the other.

    So no density depends on the draws that it weighs, and the halves stay unbiased.

    **Arguments:** `cube`; `generation`: draws from kernels before new ones are placed; `prior`: the share of draws
    from the prior; `seed`; `effective_size`; `limit` of simulations; `checkpoint`; `bar`, of the
    effective size so far.
    """

    cube: Cube
    generation: int
    prior: float
    seed: list[int]
    effective_size: int
    limit: int
    checkpoint: Checkpoint | None
    bar: Bar
    peaks: list[Kernels] = field(default_factory=list)
    masses: list[float] = field(default_factory=list)

    def begin(self, particles: Particles, worth: float, log_evidence: float) -> None:
        """Place the first kernels at particles.

        **Arguments:** `particles`; the number of independent draws that they are `worth`; `log_evidence`, a first
        estimate.
        """
        k = particles.u.shape[-1]
        self.log_evidence, self.halves = log_evidence, (WeightedDraws(k), WeightedDraws(k))
        self.number, self.share, self.is_settled = 0, 0.0, False
        self.windows: list[int | None] = [None, None]
        self.first, self.worth = [Particles(*(x[i::2] for x in particles)) for i in range(2)], 0.5 * worth
        self._place(self.first)

    def find_peaks(self, best: Float[np.ndarray, " k"], guesses: Float[np.ndarray, "guesses k"] | None) -> None:
        """Look for narrow peaks at guesses, or, without one, climb to one from the best particle.

        **Arguments:** `best`, a point; `guesses`, points, None for none.
        """
        if len(self.cube.choices) == best.size:
            return
        if guesses is None:
            find = lambda: climb(self._heights(best, 1))[None]  # noqa: E731
        else:
            find = lambda: np.stack([find_interior(self._heights(u, 2)) for u in guesses])  # noqa: E731
        found = load_or_compute(self.checkpoint, "guesses", lambda: self._evaluate(find()))
        points, values = found["u"], found["log_likelihood"]
        for i in np.argsort(-values):
            densities = [half.density.log_density(points[[i]])[0] for half in self.halves]
            self._add_peak(points[i], values[i] - np.logaddexp(*densities) + np.log(2.0))

    def run(self) -> None:
        """Draw until the kernels are settled and the draws are worth the effective size, or to the limit."""
        after = False
        while True:
            self._draw()
            before, after, size = after, self._settles(), self.size
            self.is_settled |= before and after  # once may be by chance
            self.bar.reach(min(size, self.effective_size))
            is_last = (self.is_settled or self.number >= GENERATIONS) and size >= self.effective_size
            if is_last and pareto_smoothed(self.log_ratio)[1] > K_HAT:
                is_last = not self._add_highest() and self.number >= 2 * GENERATIONS
            if is_last or self.cube.calls.forward >= self.limit:
                return
            if not self.is_settled and self.number >= MORE * self.placed:
                # With the particles, as long as these are worth more: few draws have no covariance.
                pairs = zip(self.first, self.halves, strict=True)
                self._place([first.join(self._particles_of(half), self.worth) for first, half in pairs])

    @property
    def log_ratio(self) -> Float[np.ndarray, " draws"]:
        """The logarithms of the importance ratios of all draws."""
        return np.concatenate([half.log_ratio for half in self.halves])

    @property
    def u(self) -> Float[np.ndarray, "draws k"]:
        return np.concatenate([half.u for half in self.halves])

    @property
    def log_likelihood(self) -> Float[np.ndarray, " draws"]:
        return np.concatenate([half.log_likelihood for half in self.halves])

    @property
    def size(self) -> float:
        """The effective size of the draws, for the unknown that has the fewest."""
        weights = np.exp(self.log_ratio - self.log_ratio.max())
        rows = np.arange(weights.size)
        return smallest_size(self.cube, self.u[None], weights[None] / weights.sum(), rows)

    def result(self, prior: Float[np.ndarray, "rows k"], other: tuple[float, float] | None = None) -> Draws:
        """All draws with their weights.

        **Arguments:** draws of the `prior`; `other`, as of `Draws`. **Returns:** Draws.
        """
        log_weights, k_hat = pareto_smoothed(self.log_ratio)
        evidence, error = self.evidence
        peaks = f" and {len(self.peaks)} narrow peaks" if self.peaks else ""
        return Draws(
            u=self.u[None],
            log_likelihood=self.log_likelihood[None],
            weights=np.exp(log_weights)[None],
            families=np.arange(log_weights.size),
            prior=prior,
            log_evidence=evidence,
            error=error,
            k_hat=k_hat,
            method=f"importance sampling ({self.number} generations of kernels{peaks})",
            other=other,
            is_settled=self.is_settled,
        )

    def _draw(self) -> None:
        """One more generation of draws, which is kept and shown."""
        self.number += 1
        rngs = [np.random.default_rng([*self.seed, self.number, i]) for i in range(2)]
        count = self.generation // 2
        u = np.stack([half.density.sample(rng, count) for half, rng in zip(self.halves, rngs, strict=True)])
        # The name has the number of peaks too: where a call for a larger size finds them later, it draws others.
        name = f"importance-{len(self.peaks)}-{self.number}"
        found = load_or_compute(self.checkpoint, name, lambda: self._evaluate(u.reshape(2 * count, -1)))
        values = found["log_likelihood"].reshape(2, count)
        for half, *rows in zip(self.halves, found["u"].reshape(u.shape), values, strict=True):
            half.add(*rows)

    def _settles(self) -> bool:
        """Whether the last kernels are good, no better than those before, and find the evidence that both halves do."""
        last = np.concatenate([half.last_log_ratio for half in self.halves])
        share, before, self.share = share_of(last), self.share, max(self.share, share_of(last))
        good = GOOD if self.number < GENERATIONS - 1 else LATE
        is_good = self.number > 1 and good <= share < GROWTH * before
        halves = [evidence_of(half.log_ratio) for half in self.halves]
        return is_good and agree(evidence_of(last), self.evidence) and agree(*halves)

    @property
    def evidence(self) -> tuple[float, float]:
        """The log evidence and its standard error."""
        return evidence_of(self.log_ratio)

    def _particles_of(self, half: WeightedDraws) -> Particles:
        """The draws of a half, with the weights that kernels, and no peaks, have to cover."""
        with np.errstate(divide="ignore"):
            by_kernels = np.log(half.density.responsibilities(half.u)[0])
        return Particles(half.u, half.log_likelihood, half.log_ratio + by_kernels)

    def _place(self, draws: list[Particles]) -> None:
        """Place the kernels of each half at the draws of the other, with the window that is best for its own."""
        given = zip(reversed(draws), draws, self.windows, strict=True)
        found = map_in_threads(lambda of: place_best(self.cube, of[0], self.prior, *of[1:]), given)
        for half, (placed, _) in zip(self.halves, found, strict=True):
            half.change(Mixture(placed, self.peaks, self._shares()))
        self.windows = [window for _, window in found]
        self.placed = self.number

    def _add_highest(self) -> bool:
        """Whether weights that cannot be trusted have a peak as their reason, which is then drawn from."""
        self.log_evidence = max(self.log_evidence, self.evidence[0])
        highest = int(np.argmax(self.log_ratio))
        return self._add_peak(self.u[highest], self.log_ratio[highest])

    def _add_peak(self, u: Float[np.ndarray, " k"], log_ratio: float) -> bool:
        """Add the peak next to a point to what is drawn from, if there is one with some weight.

        **Arguments:** `u`; `log_ratio`, the log-likelihood there less the logarithm of the density.
        **Returns:** whether it was added.
        """
        is_covered = not log_ratio - self.log_evidence > np.log(UNCOVERED)
        if is_covered or len(self.masses) >= PEAKS or len(self.cube.choices) == u.size:
            return False
        number = len(self.masses)
        shape = load_or_compute(self.checkpoint, f"peak-{number}", lambda: measure(self._heights(u, 3 + number)))
        log_mass = float(shape["log_mass"])
        if not log_mass - self.log_evidence > np.log(LIGHT):
            return False
        self.log_evidence = float(np.logaddexp(self.log_evidence, log_mass))
        self.masses.append(log_mass)
        self.peaks.append(peak(self.cube, shape))
        for half in self.halves:
            half.change(Mixture(half.density.kernels, self.peaks, self._shares()))
        return True

    def _shares(self) -> np.ndarray:
        """The shares of the draws that peaks get by their parts of the evidence; some are left for the kernels."""
        shares = np.maximum(np.exp(np.array(self.masses) - self.log_evidence), LEAST)
        return shares * min(1.0, MOST / max(shares.sum(), LEAST))

    def _evaluate(self, u: Float[np.ndarray, "rows k"]) -> Piece:
        return {"u": u, "log_likelihood": self.cube.log_likelihood(u)}

    def _heights(self, u: Float[np.ndarray, " k"], number: int) -> Heights:
        return Heights(self.cube, u, [*self.seed, 1000, number])


def agree(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two evidences with their errors may be of one posterior."""
    return abs(one[0] - other[0]) < AGREES * math.hypot(one[1], other[1])
