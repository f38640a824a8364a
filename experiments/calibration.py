"""Simulation-based calibration: do the intervals of a posterior hold the truth, on synthetic data?

Truths are drawn from the prior and their data from the model. The rank of a truth among draws of its posterior, and
how often intervals hold it, test priors, likelihood and sampler together.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array

from experiments import ranks
from experiments.harness import Found
from experiments.variables import describe
from inversion import Checkpoint, Importance, Observation, Observations, Problem, sample
from inversion.cube import Cube
from inversion.executors import Sent
from inversion.noise import Censored
from inversion.sweeps import compute_parts

Observe = Callable[..., dict[str, Observation]]

UNITS = {"below": "1", "truth": "see the unknowns", "effective_size": "1"}
NAMES = {"below": "probability below the truth", "bounds": "data that are bounds"}


def add_error(known: Observation, predicted: Any, rng: np.random.Generator) -> Observation:
    """The datum of a prediction, with a normal error. **Arguments:** `known`, with its sigma; `predicted`; `rng`."""
    value = np.asarray(predicted) + np.asarray(known.sigma) * rng.standard_normal(np.shape(predicted))
    return eqx.tree_at(lambda o: o.value, known, jnp.asarray(value))


def observe(
    problem: Problem, p: Mapping[str, Array], predicted: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, Observation]:
    """The data of a truth, with normal errors.

    **Arguments:** `problem`; `p`, all parameters by name; `predicted` from them; `rng`. **Returns:** observations by
    name, of the structure of the problem's own.
    """
    return {name: add_error(problem.data[name], predicted[name], rng) for name in problem.data.names}


def draw_truth(problem: Problem, seed: int, observe: Observe = observe) -> tuple[dict[str, float], Problem]:
    """A truth from the prior, and the problem with its data, which needs no compilation.

    **Arguments:** `problem`, whose data are replaced; `seed`; `observe`, which makes the data of a truth, with
    arguments and result as of `observe` here. **Returns:** unknown -> value; the problem.
    """
    cube, rng, ok = Cube(problem), np.random.default_rng([seed, 0]), False
    while not ok:  # a failed simulation has the likelihood zero, so it is no truth
        s = problem.scale_probabilities(jnp.asarray(rng.random(problem.size)))
        found = cube.programs.simulate(cube.relax.unfold(s, 0.0))
        ok = bool(found.ok)
    values = cube.relax.physical(s)
    data = Observations(observe(problem, problem.to_dict(values), found.predictions, rng))
    truth = {k: float(v) for k, v in zip(problem.names, values, strict=True)}
    return truth, eqx.tree_at(lambda p: p.data, problem, data)


@dataclass(frozen=True)
class Calibration:
    """Posteriors of synthetic data.

    **Arguments:** `problem`, whose data are replaced; `method`, `effective_size` and `limit` of each posterior, as of
    `sample`.
    """

    problem: Problem
    method: Importance
    effective_size: int
    limit: int

    def repeat(self, seed: int) -> dict[str, np.ndarray]:
        """The rank and the probability below the truth of each unknown, in one posterior. **Arguments:** `seed`."""
        truth, posed = draw_truth(self.problem, seed)
        key = jax.random.PRNGKey(seed)
        found = sample(posed, key=key, method=self.method, effective_size=self.effective_size, limit=self.limit)
        return {
            "rank": np.array(list(ranks.rank(found, truth, seed).values())),
            "below": np.array(list(ranks.probability_below(found, truth).values())),
            "truth": np.array(list(truth.values())),
            "effective_size": np.asarray(found.effective_size),
            "simulations": np.asarray(found.calls.forward),
            "is_good": np.asarray(found.fault is None),
            "bounds": np.asarray(sum(count_bounds(posed.data[name]) for name in posed.data.names)),
        }


def calibrate(
    repeat: Callable[[int], dict[str, np.ndarray]],
    names: Sequence[str],
    discrete: Collection[str],
    repetitions: int,
    seed: int,
    bins: int,
    checkpoint: Checkpoint,
    executor: Executor | None = None,
) -> Found:
    """Ranks and intervals of so many truths; an interrupted run goes on from its checkpoint.

    **Arguments:** `repeat`, as of `Calibration`; the `names` of its unknowns, and those of the `discrete` ones, which
    have no intervals; `repetitions`; `seed`; `bins` of the ranks; `checkpoint`; `executor`. **Returns:** what the
    harness writes.
    """
    repeat = Sent(repeat)
    tasks = {f"{seed}-{i}": partial(repeat, seed + i) for i in range(repetitions)}
    pieces = list(compute_parts(tasks, checkpoint, executor, "synthetic data").values())
    table = {
        k: (("repetition", "parameter")[: 1 + np.ndim(v)], np.stack([p[k] for p in pieces]))
        for k, v in pieces[0].items()
    }
    result = xr.Dataset(table, coords={"parameter": list(names)})
    result = describe(result, units=UNITS, names=NAMES)
    summary = judge(result, discrete, bins)
    figure = ranks.draw({k: result["rank"].sel(parameter=k).values for k in names}, bins)
    return Found(summary, {"coverage": result}, {"ranks": figure}, record="coverage")


def count_bounds(data: Observation) -> int:
    """The number of the data that only say that the truth lies beyond."""
    return int(np.sum(np.asarray(data.noise.beyond) != 0)) if isinstance(data.noise, Censored) else 0


def judge(result: xr.Dataset, discrete: Collection[str], bins: int) -> dict[str, Any]:
    """The tests of uniform ranks, and the shares of 95 % intervals that hold the truth.

    **Arguments:** `result`; `discrete`, the unknowns without intervals; `bins` of the ranks. **Returns:** a summary.
    """
    good = result["below"].values[result["is_good"].values]  # the others have no intervals
    names = [str(k) for k in result["parameter"].values]
    below = {k: good[:, i] for i, k in enumerate(names) if k not in discrete}
    return {
        "repetitions": result.sizes["repetition"],
        "draws": ranks.OF,
        "p_value": {k: ranks.p_value(result["rank"].sel(parameter=k).values, bins) for k in names},
        "holds_95": {k: ranks.holds(v) if len(v) else None for k, v in below.items()},
        "all_hold_95": ranks.holds(np.stack(list(below.values()))) if len(good) else None,
        "without_intervals": int(np.sum(~result["is_good"].values)),
        **({"with_bounds": int(np.sum(result["bounds"].values > 0))} if "bounds" in result else {}),
        "simulations": int(np.sum(result["simulations"].values)),
        "effective_size_median": float(np.median(result["effective_size"].values)),
    }
