"""`difsim agilkia --stage coverage`: do the intervals of the posterior hold the truth, on synthetic touchdowns?

A truth is drawn from the prior, its touchdown is simulated and read with the errors of the data set, and the posterior
is drawn as for the data themselves, with fewer draws and from a start that all of them share: simulations of draws of
the prior, whose predictions serve any data.
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from experiments import ranks
from experiments.harness import Found
from experiments.variables import describe
from inversion import Checkpoint, Importance, Observation, Observations, Problem, Tempered, sample
from inversion.coordinates import strip_weak_types
from inversion.cube import Cube
from inversion.executors import Sent
from inversion.prior_runs import PriorRuns
from inversion.sweeps import compute_parts

BINS = 5  # of the ranks: 64 of them are 13 each
START, QUICK = 30_000, 3000  # simulations of draws of the prior
# Of a repetition: particles, draws of the first kernels, effective draws, and the most simulations.
SETTINGS = PARTICLES, GENERATION, SIZE, LIMIT = 400, 600, 120, 8000
PIECES = ("rank", "below", "truth")


def cover(
    problem: Problem,
    prior: PriorRuns,
    repetitions: int,
    seed: int,
    checkpoint: Checkpoint,
    executor: Executor | None = None,
) -> Found:
    """Ranks and intervals of so many truths; an interrupted run goes on from its checkpoint.

    **Arguments:** `problem` of the data set, whose numbers are replaced; `prior`: simulations of its prior;
    `repetitions`; `seed`; `checkpoint`; `executor`. **Returns:** what the harness writes.
    """
    repeat = Sent(partial(_repetition, problem, prior))
    tasks = {f"{seed}-{i}": partial(repeat, seed + i) for i in range(repetitions)}
    pieces = list(compute_parts(tasks, checkpoint, executor, "synthetic touchdowns").values())
    names = list(problem.names)
    table = {k: (("repetition", "parameter"), np.stack([p[k] for p in pieces])) for k in PIECES}
    table["effective_size"] = "repetition", np.array([float(p["effective_size"]) for p in pieces])
    table["simulations"] = "repetition", np.array([int(p["simulations"]) for p in pieces])
    table["is_good"] = "repetition", np.array([bool(p["is_good"]) for p in pieces])
    result = xr.Dataset(table, coords={"parameter": names})
    units = {"rank": "1", "below": "1", "truth": "see the unknowns", "effective_size": "1", "simulations": "1"}
    result = describe(result, units=units, names={"below": "probability below the truth"})
    summary = judge(result, set(problem.discrete))
    figures = {"ranks": ranks.draw({k: result["rank"].sel(parameter=k).values for k in names}, BINS)}
    return Found(summary, {"coverage": result}, figures, record="coverage")


def judge(result: xr.Dataset, discrete: set[str]) -> dict[str, Any]:
    """The tests of uniform ranks, and the shares of 95 % intervals that hold the truth."""
    good = result["below"].values[result["is_good"].values]  # the others have no intervals
    below = {k: good[:, i] for i, k in enumerate(result["parameter"].values) if k not in discrete}
    return {
        "repetitions": result.sizes["repetition"],
        "draws": ranks.OF,
        "p_value": {
            str(k): ranks.p_value(result["rank"].sel(parameter=k).values, BINS) for k in result["parameter"].values
        },
        "holds_95": {str(k): ranks.holds(v) if len(v) else None for k, v in below.items()},
        "all_hold_95": ranks.holds(np.stack(list(below.values()))) if len(good) else None,
        "without_intervals": int(np.sum(~result["is_good"].values)),
        "simulations_median": float(np.median(result["simulations"].values)),
        "effective_size_median": float(np.median(result["effective_size"].values)),
    }


def synthetic(problem: Problem, seed: int) -> tuple[dict[str, float], Problem]:
    """A truth from the prior whose touchdown is valid, and the problem with its data.

    **Arguments:** `problem`; `seed`. **Returns:** unknown -> value; the problem, which needs no compilation.
    """
    cube, rng, ok = Cube(problem), np.random.default_rng([seed, 0]), False
    while not ok:
        s = problem.scale_probabilities(jnp.asarray(rng.random(problem.size)))
        truth = {k: float(v) for k, v in zip(problem.names, cube.relax.physical(s), strict=True)}
        seen = cube.programs.simulate(cube.relax.unfold(s, 0.0))
        ok = bool(seen.ok)  # a failed touchdown has the likelihood zero, so it is no truth
    data = {}
    for name in problem.data.names:
        value, known = np.asarray(seen.predictions[name]), problem.data[name]
        noise = np.asarray(known.sigma) * rng.standard_normal(value.shape)
        data[name] = Observation(value + noise, known.sigma, known.unit)
    return truth, eqx.tree_at(lambda p: p.data, problem, strip_weak_types(Observations(data)))


def _repetition(problem: Problem, prior: PriorRuns, seed: int) -> Mapping[str, np.ndarray]:
    truth, posed = synthetic(problem, seed)
    method = Importance(Tempered(PARTICLES, start=prior), generation=GENERATION)
    found = sample(posed, key=jax.random.PRNGKey(seed), method=method, effective_size=SIZE, limit=LIMIT)
    return {
        "rank": np.array(list(ranks.rank(found, truth, seed).values())),
        "below": np.array(list(ranks.probability_below(found, truth).values())),
        "truth": np.array(list(truth.values())),
        "effective_size": np.asarray(found.effective_size),
        "is_good": np.asarray(found.fault is None),
        "simulations": np.asarray(found.calls.forward),
    }
