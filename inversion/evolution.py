"""Differential evolution: the papers' baseline, and the fallback if derivatives are unusable."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.checks import instance, integer, random_key, require_function, traceable
from difsim.status import Status
from difsim.typing import Scalar

from .coordinates import plain
from .leastsq import latin_hypercube
from .outcome import Calls
from .problem import Problem
from .progress import Bar
from .sweeps import map_batched

OBJECTIVE = "differential_evolution: objective"
Objective = Callable[[Problem, dict[str, Array]], Array]


@dataclass(frozen=True)
class Evolution:
    """The best member: all `values`, its objective as `misfit`, the best objective of each generation."""

    values: dict[str, Any]
    misfit: float
    calls: Calls
    generations: int
    status: Status
    history: np.ndarray

    @property
    def minima(self) -> tuple[float, ...]:
        """The misfit of the one search, for branch and bound."""
        return (self.misfit,) if np.isfinite(self.misfit) else ()


def differential_evolution(
    problem: Problem,
    key: Array,
    *,
    objective: Objective | None = None,
    population: int = 100,
    crossover: float = 0.8,
    weight: float = 0.47,
    stop: float | None = None,
    max_generations: int = 500,
    stall: int | None = None,
    batch_size: int | None = None,
    throw: bool = True,
    progress: bool = False,
) -> Evolution:
    """The smallest objective by DE/rand/1/bin: v = u_a + F (u_b - u_c), crossed with a member.

    Members are points of the unit cube of prior probabilities, reflected at its faces. One generation is one
    compiled call, and failed simulations have an infinite objective.

    **Arguments:** `problem`; `key`; `objective`: (problem, predictions) -> scalar, the same function each time, or
    None for the misfit with its priors; `population`: NP; `crossover`: CR; `weight`: F; `stop`: the target of the
    objective, by default 1e-4, and none for a misfit that is no sum of squares and may be negative;
    `max_generations`; `stall`: generations without improvement before the end; `batch_size`: see `map_batched`;
    `throw`: raise if all simulations failed; `progress`: show a bar.
    **Returns:** Evolution, with status TARGET (`stop` was reached), STALLED, LIMIT or FAILED.
    **Raises:** ValueError for undecided Discrete parameters or settings out of range; RuntimeError when every
    simulation failed (unless throw=False).
    **Source:** Storn and Price (1997); CR, F, NP and stop of Cui et al. (paper 000), sect. 4.2.
    """
    instance("differential_evolution: problem", problem, Problem, "a Problem of parameters, predict and data")
    random_key("differential_evolution: key", key)
    integer("differential_evolution: max_generations", max_generations, 0)
    population = integer("differential_evolution: population", population)
    if objective is not None:
        require_function(OBJECTIVE, objective)
    problem.require_decided()
    if population < 4:
        raise ValueError(f"population {population} must be at least 4: a trial needs three other members")
    if not (0.0 <= crossover <= 1.0 and 0.0 < weight <= 2.0):
        raise ValueError(f"crossover {crossover} must be in [0, 1] and weight {weight} in (0, 2]")
    if stop is None:
        stop = 1e-4 if objective is not None or problem.data.is_sum_of_squares else -np.inf
    key, first = jax.random.split(key)
    members = latin_hypercube(first, population, problem.size).astype(problem.held.dtype)
    costs = _unplaced(_first(problem, objective, members, batch_size))
    failed = int(np.sum(~np.isfinite(costs)))
    history, status, since = [float(costs.min())], Status.RUNNING, 0
    with Bar("differential evolution", max_generations, progress) as bar:
        while status == Status.RUNNING:
            if history[-1] < stop:
                status = Status.TARGET
            elif stall is not None and since >= stall:
                status = Status.STALLED
            elif len(history) > max_generations:
                status = Status.LIMIT
            else:
                key, this = jax.random.split(key)
                members, costs, lost = _unplaced(
                    _generation(problem, objective, this, members, costs, crossover, weight, batch_size)
                )
                failed += int(lost)
                history.append(float(costs.min()))
                since = 0 if history[-1] < history[-2] else since + 1
                bar.advance()
                bar.note(f"best {history[-1]:.3g}")
    if not np.isfinite(history[-1]):
        status = Status.FAILED
        if throw:
            raise RuntimeError(
                f"differential_evolution: all {population * len(history)} simulations failed: narrow the "
                "priors, or look at problem.evaluate at one point"
            )
    best = members[jnp.argmin(costs)]
    return Evolution(
        values={k: plain(v) for k, v in problem.named(problem.physical(problem.quantile(best))).items()},
        misfit=history[-1],
        calls=Calls(population * len(history), 0, failed),
        generations=len(history) - 1,
        status=status,
        history=np.asarray(history),
    )


def confidence(samples: Float[np.ndarray, "samples ..."], z: float = 1.96) -> tuple[np.ndarray, np.ndarray]:
    """The confidence interval mean -+ z sigma / sqrt(n) of the mean of n optimiser restarts.

    It shrinks with the number of restarts and does not depend on the data: an uncertainty of the optimiser, not of
    the parameters (use `identify` and `profile` for those).

    **Arguments:** `samples` [n, ...]: one row per restart; `z`. **Returns:** lower and upper ends [...].
    **Raises:** ValueError for fewer than two. **Source:** Cui et al. (paper 000), Eqs 46-47.
    """
    samples = np.asarray(samples, float)
    if samples.ndim == 0 or len(samples) < 2:
        raise ValueError(f"confidence: a spread needs at least two samples, got shape {samples.shape}")
    half = z * samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    return samples.mean(axis=0) - half, samples.mean(axis=0) + half


def _unplaced(arrays):
    """The arrays by way of the host: a call would be compiled again for arrays distributed over devices."""
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x)), arrays)


def _cost(problem: Problem, objective: Objective | None, u: Float[Array, " n"]) -> Scalar:
    evaluation = problem.evaluate(problem.quantile(u))
    cost = (
        evaluation.misfit
        if objective is None
        else traceable(OBJECTIVE, objective)(problem, evaluation.predictions)
    )
    return jnp.where(evaluation.ok & jnp.isfinite(cost), cost, jnp.inf)


@eqx.filter_jit
def _first(problem, objective, members, batch_size):
    return map_batched(lambda u: _cost(problem, objective, u), members, batch_size)


@eqx.filter_jit
def _generation(problem, objective, key, members, costs, crossover, weight, batch_size):
    count, n = members.shape
    mask = problem.free_mask

    def trial(key, i):
        pick, point, cross = jax.random.split(key, 3)
        # Three different members other than i: drawn from the count - 1 others, shifted past i.
        others = jax.random.choice(pick, count - 1, (3,), replace=False)
        a, b, c = members[others + (others >= i)]
        mutant = jnp.abs(a + weight * (b - c))
        mutant = jnp.clip(1.0 - jnp.abs(1.0 - mutant), 0.0, 1.0)  # reflected at both ends
        # At least one free component is the mutant's, otherwise the trial would equal the member.
        forced = jax.random.categorical(point, jnp.where(mask, 0.0, -jnp.inf))
        crossed = (jax.random.uniform(cross, (n,)) < crossover) | (jnp.arange(n) == forced)
        return jnp.where(crossed & mask, mutant, members[i])

    trials = jax.vmap(trial)(jax.random.split(key, count), jnp.arange(count))
    found = map_batched(lambda u: _cost(problem, objective, u), trials, batch_size)
    better = found <= costs  # an equal trial replaces the member, to cross plateaus
    members = jnp.where(better[:, None], trials, members)
    return members, jnp.where(better, found, costs), jnp.sum(~jnp.isfinite(found))
