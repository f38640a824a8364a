"""Adaptive tempered sequential Monte Carlo in the unit cube of the prior, on values alone.

Temperatures, resampling and Metropolis steps are blackjax's. Simulations are run in threads between its compiled
parts: inside of them they would be compiled once more, and a batch would wait for its slowest member at every step.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from difsim.checks import host_numbers, instance, integer
from difsim.extras import require
from difsim.saving.checkpoint import Checkpoint

from .cube import Cube
from .draws import Draws, error_of_evidence, resample_draws, smallest_size
from .prior_runs import PriorRuns
from .progress import Bar, Progress
from .sweeps import Piece, load_or_compute


@dataclass(frozen=True)
class Tempered:
    """Adaptive tempered sequential Monte Carlo without waste, and chains of the same moves after it.

    Particles start in the prior. Each stage raises the power of the likelihood until the weights are worth a `share`
    of the particles, resamples particles / steps of them, and keeps all `steps` states of the chain of each. A move
    adds the difference of two particles to a third, reflected at the faces of the unit cube, and is accepted by the
    rule of Metropolis. Undecided discrete unknowns move with the others.

    **Arguments:** `particles`; `steps` of a chain at each stage; `share`; `start`: draws of the prior that were
    simulated before, more of which leave fewer stages; None for `particles` new ones.
    **Raises:** ValueError for settings out of range.
    **Source:** Del Moral, Doucet and Jasra (2006); Dau and Chopin (2022), without waste; ter Braak (2006), the moves.
    """

    particles: int = 1600
    steps: int = 8
    share: float = 0.5
    start: PriorRuns | None = None

    def __post_init__(self):
        integer("Tempered: particles", self.particles)
        integer("Tempered: steps", self.steps)
        host_numbers("Tempered: share", self.share, "")
        if self.start is not None:
            instance("Tempered: start", self.start, PriorRuns, "PriorRuns.simulate(...)")
        if not (0.0 < self.share < 1.0 and self.steps >= 2 and self.particles >= 8 * self.steps):
            raise ValueError(
                f"Tempered: give 0 < share < 1 and particles >= 8 steps >= 16, not share {self.share}, "
                f"particles {self.particles}, steps {self.steps}"
            )

    @property
    def chains(self) -> int:
        return self.particles // self.steps

    def stages(self, cube: Cube, key: Array, checkpoint: Checkpoint | None, progress: Progress) -> list[Piece]:
        """The particles of all stages, from draws of the prior to draws of the posterior.

        **Arguments:** `cube`; `key`; `checkpoint`: keeps finished stages; `progress`: as of `fit`.
        **Returns:** for each stage `u` [steps, chains, k], `log_likelihood` [steps, chains], `families` [chains],
        `temperature` and `log_evidence`.
        **Raises:** RuntimeError when fewer than two draws of the prior can be simulated.
        """
        pieces = [load_or_compute(checkpoint, "tempering-0", lambda: self._prior(cube, key))]
        with Bar("tempering", 1.0, progress) as bar:
            while (piece := pieces[-1])["temperature"] < 1.0:
                compute = partial(self._stage, cube, jax.random.fold_in(key, len(pieces)), piece)
                pieces.append(load_or_compute(checkpoint, f"tempering-{len(pieces)}", compute))
                bar.reach(float(pieces[-1]["temperature"]))
        return pieces

    def population(self, stages: list[Piece], cube: Cube, key: Array) -> Draws:
        """The last stage and the evidence. **Arguments:** `stages`; their `cube` and `key`. **Returns:** Draws."""
        piece = stages[-1]
        return Draws(
            u=piece["u"],
            log_likelihood=piece["log_likelihood"],
            weights=np.full(piece["log_likelihood"].shape, 1.0 / piece["log_likelihood"].size),
            families=piece["families"],
            prior=self._uniform(cube, key),
            log_evidence=float(piece["log_evidence"]),
            error=error_of_evidence(piece["families"]),
            k_hat=None,
            method=f"tempered sequential Monte Carlo ({len(stages) - 1} stages)",
        )

    def draws(
        self,
        cube: Cube,
        key: Array,
        effective_size: int,
        limit: int,
        checkpoint: Checkpoint | None = None,
        progress: Progress = False,
    ) -> Draws:
        """Draws whose means of all unknowns are those of so many independent ones, by chains after the tempering.

        **Arguments:** `cube`; `key`; `effective_size`; `limit` of simulations; `checkpoint`: keeps finished parts;
        `progress`: as of `fit`.
        **Returns:** Draws. **Raises:** RuntimeError as `stages`.
        """
        tempering, going_on = jax.random.split(key)
        return self.extend(
            self.population(self.stages(cube, tempering, checkpoint, progress), cube, tempering),
            cube, going_on, effective_size, limit, checkpoint, progress,
        )  # fmt: skip

    def extend(
        self,
        start: Draws,
        cube: Cube,
        key: Array,
        effective_size: int,
        limit: int,
        checkpoint: Checkpoint | None,
        progress: Progress,
    ) -> Draws:
        """The draws of chains that go on from a population, which they include.

        **Arguments:** `start`, the population; the others as `draws`. **Returns:** Draws.
        """
        found, part = start, 0
        pool = start.u.reshape(-1, start.u.shape[-1])
        with Bar("chains", effective_size, progress) as bar:
            while (
                size := smallest_size(cube, found.u, found.weights, found.families)
            ) < effective_size and cube.calls.forward < limit:
                bar.reach(min(size, effective_size))
                part += 1
                compute = partial(
                    self._move, cube, jax.random.fold_in(key, part), found.u[-1], found.log_likelihood[-1], pool,
                    1.0, 4 * self.steps,
                )  # fmt: skip
                new = load_or_compute(checkpoint, f"chains-{part}", compute)
                u = np.concatenate([found.u, new["u"]])
                values = np.concatenate([found.log_likelihood, new["log_likelihood"]])
                weights = np.full(values.shape, 1.0 / values.size)
                found = Draws(
                    u, values, weights, start.families, start.prior, start.log_evidence, start.error, None,
                    f"{start.method}, then {values.shape[1]} chains of {values.shape[0]} steps",
                )  # fmt: skip
            bar.reach(min(size, effective_size))
        return found

    def _uniform(self, cube: Cube, key: Array) -> np.ndarray:
        return np.asarray(jax.random.uniform(key, (self.chains * self.steps, cube.active.size)))

    def _prior(self, cube: Cube, key: Array) -> Piece:
        """Draws of the prior of the kept leaves, at temperature 0."""
        if self.start is None:
            u = cube.confine(self._uniform(cube, key), np.random.default_rng(np.asarray(jax.random.key_data(key))))
            values, kept = cube.log_likelihood(u), np.mean(cube.kept)
        else:  # of all leaves
            u, values, kept = self.start.u, self.start.log_likelihood(cube), 1.0
        if np.sum(np.isfinite(values)) < 2:
            raise RuntimeError(
                f"sample: {np.sum(np.isfinite(values))} of {values.size} simulations of draws of the prior were "
                "valid, and two are needed: narrow the priors, or look at problem.evaluate at one point"
            )
        # One step of as many chains: draws of the prior are independent.
        return {
            "u": u[None],
            "log_likelihood": values[None],
            "families": np.arange(len(u)),
            "temperature": np.zeros(()),
            "log_evidence": np.log(kept),
        }

    def _stage(self, cube: Cube, key: Array, piece: Piece) -> Piece:
        """The particles at the next temperature."""
        resample, move = jax.random.split(key)
        u, values = piece["u"].reshape(-1, cube.active.size), jnp.asarray(piece["log_likelihood"].ravel())
        left, valid = 1.0 - float(piece["temperature"]), float(np.isfinite(values).mean())
        share = self.share * valid * self.chains * self.steps / len(u)  # of as many as there will be
        raised = min(float(_power_step(values, share, left)), left)
        weights = np.exp(raised * (piece["log_likelihood"] - values.max()))
        gained = np.log(weights.mean()) + raised * float(values.max())

        # Systematic resampling is sorted: every so many of its rows are a systematic resampling of so many fewer.
        chosen = resample_draws(resample, weights.ravel() / weights.sum(), len(u))
        starts = chosen[:: len(u) // self.chains][: self.chains]
        temperature = 1.0 if raised >= left else float(piece["temperature"]) + raised
        begin = {"u": u[starts], "log_likelihood": np.asarray(values)[starts]}
        new = self._move(cube, move, begin["u"], begin["log_likelihood"], u[chosen], temperature, self.steps - 1)
        return {name: np.concatenate([begin[name][None], new[name]]) for name in begin} | {
            "families": np.tile(piece["families"], len(piece["u"]))[starts],
            "temperature": np.asarray(temperature),
            "log_evidence": piece["log_evidence"] + gained,
        }

    def _move(
        self, cube: Cube, key: Array, u: np.ndarray, values: np.ndarray, pool: np.ndarray, power: float, steps: int
    ) -> Piece:
        """The states [steps, chains] of chains after each of so many moves."""
        states = []
        for step in range(steps):
            propose, accept = jax.random.split(jax.random.fold_in(key, step))
            proposed = np.asarray(_propose(jax.random.split(propose, len(u)), u, pool))
            there = cube.log_likelihood(proposed)
            keys = jax.random.split(accept, len(u))
            u, values = (np.asarray(x) for x in _accept(keys, power, (u, values), (proposed, there)))
            states.append((u, values))
        return {"u": np.stack([s[0] for s in states]), "log_likelihood": np.stack([s[1] for s in states])}


@jax.jit
def _power_step(log_likelihood, share, left):
    """The change of temperature, at most `left`, after which the weights have an effective share."""
    ess, solver = (require("inversion", f"blackjax.smc.{name}") for name in ("ess", "solver"))
    return ess.ess_solver(lambda values: values, log_likelihood, share, left, solver.dichotomy)


@jax.jit
def _propose(keys, u, pool):
    """Each point plus a multiple of the difference of two of the pool, in some of its coordinates, reflected."""

    def one(key, u):
        picks, whole, size, many, which, noise = jax.random.split(key, 6)
        a, b = pool[jax.random.randint(picks, (2,), 0, len(pool))]
        # Now and then the whole difference, which leads from one mode into another.
        usual = 2.38 / jnp.sqrt(2 * u.size) * jnp.exp(0.5 * jax.random.normal(size))
        factor = jnp.where(jax.random.uniform(whole) < 0.1, 1.0, usual)
        chosen = jax.random.uniform(which, u.shape) < jax.random.choice(many, jnp.array([0.3, 0.6, 1.0]))
        there = u + jnp.where(chosen, factor * (a - b) + 1e-4 * jax.random.normal(noise, u.shape), 0.0)
        return 1.0 - jnp.abs(1.0 - jnp.abs(there) % 2.0)

    return jax.vmap(one)(keys, u)


@jax.jit
def _accept(keys, power, here, there):
    """The states after blackjax's step of Metropolis with a symmetric proposal, simulated already."""
    random_walk = require("inversion", "blackjax.mcmc.random_walk")
    kernel = random_walk.build_rmh()

    def one(key, here, there):
        state = random_walk.RWState(here, power * here[1])
        new, _ = kernel(key, state, lambda position: power * position[1], lambda key, position: there)
        return new.position

    return jax.vmap(one)(keys, here, there)
