"""Differential evolution by SciPy, which takes values alone: what searches with derivatives are compared with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import differential_evolution
from scipy.stats import qmc

from difsim import Status
from inversion import Problem, map_batched
from inversion.coordinates import to_plain
from inversion.outcome import Calls

Objective = Callable[[Problem, dict[str, Array]], Array]
CROSSOVER, WEIGHT = 0.8, 0.47  # CR and F of Wu et al. (2019), sect. 4.2


@dataclass(frozen=True)
class Evolution:
    """The best of a search: all `values`, its objective as `misfit`, the best objective of each generation."""

    values: dict[str, Any]
    misfit: float
    calls: Calls
    status: Status
    history: np.ndarray

    @property
    def minima(self) -> tuple[float, ...]:
        """The misfit of the one search, for branch and bound."""
        return (self.misfit,) if np.isfinite(self.misfit) else ()


def evolve(
    problem: Problem,
    seed: int,
    objective: Objective | None = None,
    population: int = 100,
    generations: int = 500,
    stop: float = 1e-4,
    stall: int | None = None,
) -> Evolution:
    """Find the smallest objective by DE/rand/1/bin in the unit cube of prior probabilities.

    One generation is one compiled call, and failed simulations have an infinite objective.

    **Arguments:** `problem`; `seed`; `objective`: (problem, predictions) -> scalar, the same function each time, or
    None for the misfit with its priors; `population`: NP; `generations` at most; `stop`: the target of the objective;
    `stall`: generations without improvement before the end. **Returns:** Evolution, with status TARGET or LIMIT.
    **Source:** Storn and Price (1997), by scipy.optimize.differential_evolution.
    """
    free, history, failed = np.flatnonzero(problem.free_mask), [], 0

    def values(rows: Float[np.ndarray, "free members"]) -> Float[np.ndarray, " members"]:
        nonlocal failed
        u = np.full((rows.shape[1], problem.size), 0.5)
        u[:, free] = rows.T
        found = np.asarray(_evaluate(problem, objective, jnp.asarray(u)))
        failed += int(np.sum(~np.isfinite(found)))
        history.append(float(min([found.min(), *history[-1:]])))
        return found

    def end(intermediate_result) -> None:
        is_stalled = stall is not None and len(history) > stall and history[-1 - stall] == history[-1]
        if history[-1] < stop or is_stalled:
            raise StopIteration

    found = differential_evolution(
        values, [(0.0, 1.0)] * free.size, strategy="rand1bin", mutation=WEIGHT, recombination=CROSSOVER,
        init=qmc.LatinHypercube(free.size, rng=seed).random(population), rng=seed, maxiter=generations, tol=0.0,
        callback=end, polish=False, vectorized=True, updating="deferred",
    )  # fmt: skip
    u = jnp.full(problem.size, 0.5).at[free].set(found.x)
    return Evolution(
        values={k: to_plain(v) for k, v in problem.to_dict(problem.physical(problem.quantile(u))).items()},
        misfit=history[-1],
        calls=Calls(population * len(history), 0, failed),
        status=Status.TARGET if history[-1] < stop else Status.LIMIT,
        history=np.asarray(history),
    )


@eqx.filter_jit
def _evaluate(problem: Problem, objective: Objective | None, u: Float[Array, "members n"]) -> Array:
    def cost(u):
        found = problem.evaluate(problem.quantile(u))
        value = found.misfit if objective is None else objective(problem, found.predictions)
        return jnp.where(found.ok & jnp.isfinite(value), value, jnp.inf)

    return map_batched(cost, u)
