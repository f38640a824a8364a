"""`difsim contact --stage coverage`: do the intervals of the posterior hold the truth, on synthetic contacts?

A truth is drawn from the laws of a case. Its contact is simulated, and read by the sensor with its noise and the end
of its range. The posterior is drawn as for real data, with fewer draws.
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from experiments import ranks
from experiments.contact.case import Case
from experiments.contact.model import build_sensor, pose
from experiments.harness import Found
from experiments.variables import describe
from inversion import Checkpoint, Importance, Observation, Observations, Problem, Tempered, sample
from inversion.coordinates import strip_weak_types
from inversion.cube import Cube
from inversion.executors import Sent
from inversion.noise import Censored
from inversion.sweeps import compute_parts

BINS = 10
# Of a repetition: particles, draws of a generation, effective draws, and the most simulations.
SETTINGS = PARTICLES, GENERATION, SIZE, LIMIT = 600, 500, 200, 30_000
BATCH = 250


def cover(case: Case, repetitions: int, seed: int, out: Path, executor: Executor | None = None) -> Found:
    """Ranks and intervals of so many truths; an interrupted run goes on from its checkpoint.

    **Arguments:** `case`, whose measured numbers are replaced; `repetitions`; `seed`; `out`; `executor`.
    **Returns:** what the harness writes.
    """
    problem = pose(case)
    kept = Checkpoint(out / "coverage.checkpoint", (case.law, case.parameters, case.data, SETTINGS))
    repeat = Sent(partial(_repeat, problem))
    tasks = {f"{seed}-{i}": partial(repeat, seed + i) for i in range(repetitions)}
    pieces = list(compute_parts(tasks, kept, executor, "synthetic contacts").values())
    names = list(problem.names)
    table = {
        k: (("repetition", "parameter"), np.stack([p[k] for p in pieces])) for k in ("rank", "below", "truth")
    }
    table |= {k: ("repetition", np.array([p[k] for p in pieces])) for k in ("is_good", "simulations", "clipped")}
    units = {"rank": "1", "below": "1", "truth": "see the unknowns", "simulations": "1", "clipped": "1"}
    result = describe(
        xr.Dataset(table, coords={"parameter": names}), units=units, names={"below": "probability below the truth"}
    )
    summary = judge(result, set(problem.discrete))
    figure = ranks.draw({name: result["rank"].sel(parameter=name).values for name in names}, BINS)
    return Found(summary, {"coverage": result}, {"ranks": figure}, record="coverage")


def judge(result: xr.Dataset, discrete: set[str]) -> dict[str, Any]:
    """The tests of uniform ranks, and the shares of 95 % intervals that hold the truth."""
    good = result["is_good"].values
    below = {
        str(k): result["below"].sel(parameter=k).values[good]
        for k in result["parameter"].values
        if k not in discrete
    }
    return {
        "repetitions": result.sizes["repetition"],
        "draws": ranks.OF,
        "p_value": {
            str(k): ranks.p_value(result["rank"].sel(parameter=k).values, BINS) for k in result["parameter"].values
        },
        "holds_95": {k: ranks.holds(v) if v.size else None for k, v in below.items()},
        "without_intervals": int(np.sum(~good)),
        "with_clipped_readings": int(np.sum(result["clipped"].values > 0)),
        "simulations_of_all": int(np.sum(result["simulations"].values)),
    }


@eqx.filter_jit
def _predict(problem: Problem, p: dict[str, Array]) -> tuple[dict[str, Any], Array]:
    return problem.predict(p)


def synthesise(
    problem: Problem, truth: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, Float[np.ndarray, " k"]] | None:
    """What is measured of one truth: numbers with their errors; of a series, readings that end at the range.

    **Arguments:** `problem`; `truth`: all parameters; `rng`. **Returns:** values by name, or None where the contact
    has no end.
    """
    p = {name: jnp.asarray(value, float) for name, value in truth.items()}
    predicted, status = _predict(problem, p)
    if int(status) != 0:
        return None
    found = {}
    for name in problem.data.names:
        if name == "series":
            sensor = build_sensor(p)
            noise = float(sensor.noise) * rng.standard_normal(predicted[name].shape)
            found[name] = np.asarray(sensor.clip(predicted[name] + noise))
        else:
            found[name] = np.asarray(predicted[name] + problem.data[name].sigma * rng.standard_normal())
    return found


def replace_data(problem: Problem, found: Mapping[str, Float[np.ndarray, " k"]]) -> Problem:
    """The problem with other data, which needs no compilation. **Arguments:** `problem`; `found`, values by name."""
    data = {}
    for name, value in found.items():
        known, noise = problem.data[name], problem.data[name].noise
        if name == "series":
            limit = float(problem.parameters["range"].value)
            scale = noise.scale.name or float(noise.scale.number)
            noise = Censored(np.sign(value) * (np.abs(value) >= limit), scale)
        data[name] = Observation(value, known.sigma, known.unit, noise=noise)
    return eqx.tree_at(lambda p: p.data, problem, strip_weak_types(Observations(data)))


def _repeat(problem: Problem, seed: int) -> Mapping[str, np.ndarray]:
    cube, rng, found = Cube(problem), np.random.default_rng([seed, 0]), None
    while found is None:  # a contact that fails has the likelihood zero, so it is no truth
        s = problem.scale_probabilities(jnp.asarray(rng.random(problem.size)))
        drawn = dict(zip(problem.names, np.asarray(cube.relax.physical(s)), strict=True))
        fixed = {k: q.value for k, q in problem.parameters.items() if k not in drawn}
        found = synthesise(problem, fixed | drawn, rng)
    posed = replace_data(problem, found)
    method = Importance(Tempered(PARTICLES), generation=GENERATION)
    posterior = sample(
        posed, key=jax.random.PRNGKey(seed), method=method, effective_size=SIZE, limit=LIMIT, batch_size=BATCH
    )
    truth = {name: float(value) for name, value in drawn.items()}
    return {
        "rank": np.array(list(ranks.rank(posterior, truth, seed).values())),
        "below": np.array(list(ranks.probability_below(posterior, truth).values())),
        "truth": np.array(list(truth.values())),
        "is_good": np.asarray(posterior.fault is None),
        "simulations": np.asarray(posterior.calls.forward),
        "clipped": np.asarray(
            np.sum(np.asarray(posed.data["series"].noise.beyond) != 0) if "series" in found else 0
        ),
    }
