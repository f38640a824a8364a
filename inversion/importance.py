"""Importance sampling of a posterior from a mixture of kernels at the particles of a tempered run."""

from dataclasses import dataclass, field, replace

import jax
import numpy as np
from jaxtyping import Array, Float

from difsim.checks import host_numbers, instance, integer
from difsim.saving.checkpoint import Checkpoint

from .cube import Cube
from .draws import Draws, smallest_size
from .particles import pool_stages
from .progress import Bar, Progress
from .search import Search
from .tails import K_HAT
from .tempered import Tempered

LARGE = 0.5  # the largest error of a log evidence that counts, where it is compared with that of chains


@dataclass(frozen=True)
class Importance:
    """Independent draws from kernels at the particles of a tempered run, weighted by importance.

    Kernels are placed again at the draws until that gains nothing, and all draws count, weighted by the mixture of all
    kernels (`search`, `weighted`, `placing`). Weights are smoothed by a Pareto tail, whose shape k-hat says whether
    they can be trusted. Where it is above 0.7, the chains of the tempered run go on instead.

    **Arguments:** `tempered`: the run that finds the posterior; `generation`: draws from kernels before new ones are
    placed; `prior`: share of draws from the prior itself, which bounds all weights.
    **Raises:** ValueError for settings out of range.
    **Source:** Cornuet et al. (2012), adaptive multiple importance sampling; Vehtari et al. (2024), Pareto smoothing.
    """

    tempered: Tempered = field(default_factory=Tempered)
    generation: int = 1000
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
        progress: Progress = False,
        guesses: Float[np.ndarray, "guesses k"] | None = None,
    ) -> Draws:
        """Draws of this effective size, or those of chains where importance weights cannot be trusted.

        **Arguments:** as `Tempered.draws`; `guesses`: points where the posterior may have a narrow peak.
        **Returns:** Draws. **Raises:** RuntimeError as `Tempered.draws`.
        """
        tempering, drawing, going_on = jax.random.split(key, 3)
        stages = self.tempered.stages(cube, tempering, checkpoint, progress)
        start = self.tempered.population(stages, cube, tempering)
        seed = np.asarray(jax.random.key_data(drawing)).ravel().tolist()
        with Bar("importance sampling", effective_size, progress) as bar:
            search = Search(cube, self.generation, self.prior, seed, effective_size, limit, checkpoint, bar)
            particles = pool_stages(stages)
            worth = smallest_size(cube, start.u, start.weights, start.families)
            search.begin(particles, worth, start.log_evidence)
            search.find_peaks(particles.u[np.argmax(particles.log_likelihood)], guesses)
            search.run()
        found = search.result(start.prior, (start.log_evidence, start.error))
        if found.k_hat is not None and found.k_hat <= K_HAT:
            return replace(found, method=f"{start.method}, then {found.method}")
        chains = self.tempered.extend(start, cube, going_on, effective_size, limit, checkpoint, progress)
        # Importance draws of which one has all the weight have an error of 1, and hardly ever too much evidence.
        return replace(chains, other=(found.log_evidence, min(found.error, LARGE)))
