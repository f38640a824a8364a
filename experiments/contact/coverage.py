"""`difsim contact --stage coverage`: do the intervals of the posterior hold the truth, on synthetic contacts?

A truth is drawn from the laws of a case. Its contact is simulated, and read by the sensor with its noise and the end
of its range. The posterior is then found from the truth: by a climb to the peak, and by importance sampling about it.
So the ranks test laws, motion, sensor and likelihood, and not whether a search finds the peak.
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal

from experiments import ranks
from experiments.calibration import add_error, calibrate, count_bounds, draw_truth
from experiments.contact.case import Case
from experiments.contact.model import build_sensor, pose
from experiments.harness import Found
from inversion import Checkpoint, Observation, Problem
from inversion.cube import Cube
from inversion.draws import resample_draws
from inversion.kernels import normal
from inversion.tails import K_HAT, count_effective, pareto_smoothed

BINS = 10
# Draws of a generation, generations, and the effective size at which the next one gets their covariance.
SETTINGS = GENERATION, GENERATIONS, ENOUGH = 1000, 7, 60
BROAD, CENTRES, WINDOW = (
    3,
    200,
    0.4,
)  # generations of one kernel; kernels of the others, and their part of its width
FREEDOM, PRIOR = 4, 0.05  # degrees of freedom of the t that is drawn from, and the share of draws of the prior
ITERATIONS = 25  # of the climb


def cover(case: Case, repetitions: int, seed: int, out: Path, executor: Executor | None = None) -> Found:
    """Ranks and intervals of so many truths.

    **Arguments:** `case`, whose measured numbers are replaced; `repetitions`; `seed`; `out`; `executor`.
    **Returns:** what the harness writes. **Raises:** `ValueError` for a case with choices.
    """
    problem = pose(case)
    if problem.discrete:
        raise ValueError(f"--stage coverage is of numbers: decide {', '.join(problem.discrete)} in the case")
    kept = Checkpoint(out / "coverage.checkpoint", (case.law, case.parameters, case.data, SETTINGS))
    return calibrate(Repetition(problem), repetitions, seed, BINS, kept, executor)


@dataclass(frozen=True)
class Repetition:
    """Posteriors of synthetic data. **Arguments:** `problem`, whose data are replaced."""

    problem: Problem

    @property
    def names(self) -> tuple[str, ...]:
        return self.problem.names

    @property
    def discrete(self) -> set[str]:
        return set()

    def repeat(self, seed: int) -> dict[str, np.ndarray]:
        """The rank and the probability below the truth of each unknown, in one posterior. **Arguments:** `seed`."""
        truth, posed = draw_truth(self.problem, seed, observe)
        rng = np.random.default_rng([seed, 1])
        at = normal(Cube(posed).at(truth))  # coordinates in which the prior is a unit normal
        z, log_weights, k_hat = sample_about(posed, at, rng)
        weights = np.exp(log_weights)
        rows = resample_draws(jax.random.PRNGKey(seed), weights, ranks.OF)
        return {
            "rank": np.array([ranks.rank_among(z[rows, i], at[i], rng) for i in range(at.size)]),
            "below": weights @ (z < at),
            "truth": np.array(list(truth.values())),
            "effective_size": np.asarray(count_effective(weights)),
            "simulations": np.asarray(len(z)),
            "is_good": np.asarray(k_hat <= K_HAT),
            "bounds": np.asarray(sum(count_bounds(posed.data[name]) for name in posed.data.names)),
        }


class Kernels(NamedTuple):
    """A mixture of t kernels of one `factor` [k, k], the root of their covariance, at `centres` [n, k]."""

    centres: Float[np.ndarray, "n k"]
    factor: Float[np.ndarray, "k k"]

    def draw(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "count k"]:
        """Draws. **Arguments:** `count`; `rng`."""
        away = rng.standard_normal((count, len(self.factor))) @ self.factor.T
        away /= np.sqrt(rng.chisquare(FREEDOM, count) / FREEDOM)[:, None]
        return self.centres[rng.integers(len(self.centres), size=count)] + away

    def log_density(self, z: Float[np.ndarray, "rows k"]) -> Float[np.ndarray, " rows"]:
        """The logarithm of the density. **Arguments:** `z`."""
        k = len(self.factor)
        y, c = (np.linalg.solve(self.factor, x.T).T for x in (z, self.centres))
        distance = np.maximum(np.sum(y**2, axis=1)[:, None] + np.sum(c**2, axis=1) - 2 * y @ c.T, 0.0)
        shape = gammaln((FREEDOM + k) / 2) - gammaln(FREEDOM / 2) - k / 2 * np.log(FREEDOM * np.pi)
        each = -(FREEDOM + k) / 2 * np.log1p(distance / FREEDOM)
        return shape - np.linalg.slogdet(self.factor)[1] + logsumexp(each, axis=1) - np.log(len(c))


def sample_about(
    problem: Problem, start: Float[np.ndarray, " k"], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """Weighted draws of a posterior with one peak.

    All generations count, weighted by the mixture of the densities of all. The first one is about the peak of the
    linearised problem, the next ones have the mean and the covariance of the draws before them, and the last ones are
    from narrower kernels at these draws, by the roots of their weights: so they follow a bent tail.

    **Arguments:** `problem`; `start`, normal coordinates next to the peak; `rng`. **Returns:** draws [n, k], the
    logarithms of their weights [n], and k-hat, above 0.7 where these cannot be trusted.
    **Source:** Cornuet et al. (2012), adaptive multiple importance sampling; Vehtari et al. (2024), k-hat.
    """
    mean, curvature = map(np.asarray, climb(problem, jnp.asarray(start)))
    prior = multivariate_normal(np.zeros(start.size))
    laws = [Kernels(mean[None], np.linalg.cholesky(np.linalg.inv(curvature)))]
    z, values, parts = np.empty((0, start.size)), [], []
    for number in range(GENERATIONS):
        new = laws[-1].draw(GENERATION, rng)
        count = rng.binomial(GENERATION, PRIOR)
        new[:count] = rng.standard_normal((count, start.size))
        z = np.concatenate([z, new])
        values.append(np.asarray(measure(problem, jnp.asarray(new))))
        parts = [np.append(part, law.log_density(new)) for part, law in zip(parts, laws[:-1], strict=True)]
        parts.append(laws[-1].log_density(z))
        before, mixed = prior.logpdf(z), logsumexp(parts, axis=0) - np.log(len(parts))
        density = np.logaddexp(np.log1p(-PRIOR) + mixed, np.log(PRIOR) + before)
        log_ratio = np.concatenate(values) + before - density
        weights, power = np.exp(log_ratio - log_ratio.max()), 1.0
        while count_effective(weights**power) < ENOUGH:
            power *= 0.8
        roots, weights = np.sqrt(weights**power), weights**power / np.sum(weights**power)
        mean = weights @ z
        spread = (weights * (z - mean).T) @ (z - mean)
        factor = np.linalg.cholesky(spread + 1e-9 * np.diag(np.diag(spread)))
        centres = mean[None]
        if number >= BROAD - 1:
            centres, factor = z[rng.choice(len(z), CENTRES, p=roots / roots.sum())], WINDOW * factor
        laws.append(Kernels(centres, factor))
    return z, *pareto_smoothed(log_ratio)


@eqx.filter_jit
def climb(problem: Problem, start: Float[Array, " k"]) -> tuple[Array, Array]:
    """The peak of a posterior next to a point, by Levenberg and Marquardt, and the matrix of the linearised problem.

    **Arguments:** `problem`; `start`, normal coordinates. **Returns:** coordinates [k]; inverse covariance [k, k].
    """

    def look(z):
        found = problem.evaluate(problem.scale_probabilities(jax.scipy.special.ndtr(z)))
        rows = jnp.concatenate([found.residual[: problem.data.rows], z])
        return rows, (rows, z @ z - 2 * found.log_likelihood)

    def linearise(z):
        slopes, (rows, misfit) = jax.jacfwd(look, has_aux=True)(z)
        return z, slopes.T @ slopes, slopes.T @ rows, misfit

    def step(carry, _):
        here, damping = carry
        z, curvature, gradient, misfit = here
        there = linearise(z - jnp.linalg.solve(curvature + damping * jnp.diag(jnp.diag(curvature)), gradient))
        is_better = there[-1] < misfit
        here = jax.tree.map(lambda new, old: jnp.where(is_better, new, old), there, here)
        return (here, jnp.where(is_better, damping / 5, damping * 4)), None

    ((z, curvature, *_), _), _ = jax.lax.scan(step, (linearise(start), jnp.asarray(0.01)), None, length=ITERATIONS)
    return z, curvature


@eqx.filter_jit
def measure(problem: Problem, z: Float[Array, "n k"]) -> Float[Array, " n"]:
    """The log-likelihoods at normal coordinates. **Arguments:** `problem`; `z` [n, k]. **Returns:** values [n]."""
    return jax.vmap(lambda x: problem.log_likelihood(problem.scale_probabilities(jax.scipy.special.ndtr(x))))(z)


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
