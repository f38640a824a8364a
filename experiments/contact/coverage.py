"""`difsim contact --stage coverage`: do the intervals of the posterior hold the truth, on synthetic contacts?

A truth is drawn from the laws of a case. Its contact is simulated, and read by the sensor with its noise and the end
of its range. The posterior is drawn as for real data, with fewer draws.
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from experiments.calibration import Calibration, add_error, calibrate
from experiments.contact.case import Case
from experiments.contact.model import build_sensor, pose
from experiments.harness import Found
from inversion import Checkpoint, Importance, Observation, Problem, Tempered

BINS = 10
# Of a repetition: particles, draws of a generation, effective draws, and the most simulations.
SETTINGS = PARTICLES, GENERATION, SIZE, LIMIT = 600, 500, 200, 30_000
BATCH = 250


def cover(case: Case, repetitions: int, seed: int, out: Path, executor: Executor | None = None) -> Found:
    """Ranks and intervals of so many truths.

    **Arguments:** `case`, whose measured numbers are replaced; `repetitions`; `seed`; `out`; `executor`.
    **Returns:** what the harness writes.
    """
    method = Importance(Tempered(PARTICLES), generation=GENERATION)
    calibration = Calibration(pose(case), method, SIZE, LIMIT, BATCH, observe)
    kept = Checkpoint(out / "coverage.checkpoint", (case.law, case.parameters, case.data, SETTINGS))
    return calibrate(calibration, repetitions, seed, BINS, kept, executor)


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
