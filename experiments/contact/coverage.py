"""`difsim contact --stage coverage`: do the intervals of the posterior hold the truth, on synthetic contacts?

A truth is drawn from the laws of a case. Its contact is simulated, and read by the sensor with its noise and the end
of its range. The posterior is then sampled by importance from kernels, as `inversion.Importance` does, with one
difference: the first ones are at the truth and at the peak next to it. So no search is tested, and none costs time.
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from experiments import ranks
from experiments.calibration import add_error, calibrate, count_bounds, draw_truth
from experiments.contact.case import Case
from experiments.contact.model import build_sensor, pose
from experiments.harness import Found
from inversion import Checkpoint, Observation, Problem
from inversion.cube import Cube
from inversion.draws import resample_draws
from inversion.kernels import Kernels, Mixture, normal
from inversion.particles import Particles
from inversion.placing import place
from inversion.tails import K_HAT, count_effective, pareto_smoothed
from inversion.weighted import WeightedDraws

WIDER = 1.5  # standard deviations of the first kernels, by those of the linearised posterior
BINS = 10  # of the ranks
BATCH = 250  # simulations in one compiled call
SETTINGS = GENERATION, GENERATIONS = 750, 6  # draws of a half from its kernels, and how often these are placed
WINDOW, BROAD, PRIOR = 0.8, 0.3, 0.1  # of kernels; the shares of those of the likelihood's root, and of the prior


def cover(case: Case, repetitions: int, seed: int, out: Path, executor: Executor | None = None) -> Found:
    """Ranks and intervals of so many truths.

    **Arguments:** `case`, whose measured numbers are replaced; `repetitions`; `seed`; `out`; `executor`.
    **Returns:** what the harness writes. **Raises:** `ValueError` for a case with choices.
    """
    problem = pose(case)
    if problem.discrete:
        raise ValueError(f"--stage coverage is of numbers: decide {', '.join(problem.discrete)} in the case")
    kept = Checkpoint(out / "coverage.checkpoint", (case.made_of, SETTINGS))
    return calibrate(Repetition(problem).repeat, problem.names, (), repetitions, seed, BINS, kept, executor)


@dataclass(frozen=True)
class Repetition:
    """Posteriors of synthetic data. **Arguments:** `problem`, whose data are replaced."""

    problem: Problem

    def repeat(self, seed: int) -> dict[str, np.ndarray]:
        """The rank and the probability below the truth of each unknown, in one posterior. **Arguments:** `seed`."""
        truth, posed = draw_truth(self.problem, seed, observe)
        cube = Cube(posed, BATCH)
        at, rng = cube.at(truth), np.random.default_rng([seed, 1])
        u, log_weights, k_hat = sample_about(cube, at, seed)
        weights = np.exp(log_weights)
        rows = resample_draws(jax.random.PRNGKey(seed), weights, ranks.OF)
        return {
            "rank": np.array([ranks.rank_among(u[rows, i], at[i], rng) for i in range(at.size)]),
            "below": weights @ (u < at),
            "truth": np.array(list(truth.values())),
            "effective_size": np.asarray(count_effective(weights)),
            "simulations": np.asarray(cube.calls.forward),
            "is_good": np.asarray(k_hat <= K_HAT),
            "bounds": np.asarray(sum(count_bounds(posed.data[name]) for name in posed.data.names)),
        }


def sample_about(
    cube: Cube, start: Float[np.ndarray, " k"], seed: int
) -> tuple[Float[np.ndarray, "draws k"], Float[np.ndarray, " draws"], float]:
    """Weighted draws of a posterior with one peak, in two halves, each from kernels at the draws of the other one.

    **Arguments:** `cube`; `start`, a point next to the peak; `seed`. **Returns:** points; the logarithms of their
    weights; and k-hat, above 0.7 where these cannot be trusted.
    """
    at = normal(start)
    middle, curvature = linearise(cube.problem, at)
    root = WIDER * np.linalg.cholesky(np.linalg.inv(curvature))
    first = Kernels(cube, np.stack([at, middle]), np.stack([root, root]), {}, np.full(2, 0.5), PRIOR)
    kernels, halves = [first, first], [WeightedDraws(at.size), WeightedDraws(at.size)]
    for number in range(GENERATIONS):
        for i, half in enumerate(halves):
            half.change(Mixture(kernels[i]))
            u = half.density.sample(np.random.default_rng([seed, 3, number, i]), GENERATION)
            half.add(u, cube.log_likelihood(u))
        kernels = [_place(cube, half) for half in reversed(halves)]
    draws, log_ratio = (np.concatenate([getattr(half, k) for half in halves]) for k in ("u", "log_ratio"))
    return draws, *pareto_smoothed(log_ratio)


@eqx.filter_jit
def linearise(problem: Problem, z: Float[Array, " k"]) -> tuple[Array, Array]:
    """The peak of the linearised posterior, and its inverse covariance. **Arguments:** `problem`; `z`, normal
    coordinates."""

    def look(z):
        found = problem.evaluate(problem.scale_probabilities(jax.scipy.special.ndtr(z)))
        rows = jnp.append(found.residual[: problem.data.rows], z)
        return rows, rows

    slopes, rows = jax.jacfwd(look, has_aux=True)(z)
    curvature = slopes.T @ slopes
    return z - jnp.linalg.solve(curvature, slopes.T @ rows), curvature


def _place(cube: Cube, half: WeightedDraws) -> Kernels:
    draws = Particles(half.u, half.log_likelihood, half.log_ratio)
    narrow, broad = (place(cube, half.u, draws.weights(power), WINDOW, PRIOR) for power in (1.0, 0.5))
    return narrow.mix(broad, BROAD)


def observe(
    problem: Problem, p: Mapping[str, Array], predicted: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, Observation]:
    """The data of a truth: numbers with their errors; of a series, readings that end at the range.

    **Arguments:** `problem`; `p`, all parameters by name; `predicted` from them; `rng`. **Returns:** observations by
    name.
    """
    data = {}
    for name in problem.data.names:
        if name == "series":
            sensor, known = build_sensor(p), problem.data[name]
            noise = float(sensor.noise) * rng.standard_normal(predicted[name].shape)
            value = sensor.clip(predicted[name] + noise)
            beyond = jnp.sign(value) * (jnp.abs(value) >= sensor.range)
            data[name] = eqx.tree_at(lambda o: (o.value, o.noise.beyond), known, (value, beyond))
        else:
            data[name] = add_error(problem.data[name], predicted[name], rng)
    return data
