"""Simulations of draws of the prior, kept with their predictions: they serve all data of one model."""

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
from jaxtyping import Array, Float, Int

from difsim.saving.checkpoint import Checkpoint
from difsim.status import Status

from .cube import Cube
from .problem import Problem
from .progress import Bar, Progress
from .sweeps import Piece, load_or_compute

PART = 1000  # simulations between two savings


@dataclass(frozen=True)
class PriorRuns:
    """Draws of the prior with their predictions, from which a tempered run of any data may start.

    The posteriors of many data sets, such as those of simulation-based calibration, then share their first
    simulations, which are the ones far from the data.

    `u` [rows, k], points of the unit cube of the prior; `predictions`: observable -> values [rows, ...]; `statuses`
    [rows], by which each ended. `print` tells how many failed, and why.
    """

    u: Float[np.ndarray, "rows k"]
    predictions: dict[str, np.ndarray]
    statuses: Int[np.ndarray, " rows"]

    def __str__(self) -> str:
        return f"draws of the prior: {Status.summary(self.statuses)}"

    @classmethod
    def simulate(
        cls,
        problem: Problem,
        key: Array,
        count: int,
        checkpoint: Checkpoint | None = None,
        progress: Progress = False,
        executor: Executor | None = None,
    ) -> "PriorRuns":
        """So many draws of the prior of a problem, simulated.

        **Arguments:** `problem`, whose data's numbers do not matter; `key`; `count`; `checkpoint`: keeps finished
        parts; `progress`: as of `fit`; `executor`: simulates in place of this process.
        **Returns:** PriorRuns.
        """
        cube = Cube(problem, executor=executor)
        parts = []
        with Bar("simulations of the prior", count, progress) as bar:
            for start in range(0, count, PART):
                rows = min(PART, count - start)
                compute = partial(_simulate, cube, jax.random.fold_in(key, start), rows)
                parts.append(load_or_compute(checkpoint, f"prior-{start}-{rows}", compute))
                bar.reach(start + rows)
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        u, statuses = found.pop("u"), found.pop("statuses")
        return cls(u, {k.removeprefix("of-"): v for k, v in found.items()}, statuses)

    def log_likelihood(self, cube: Cube) -> Float[np.ndarray, " rows"]:
        """The log-likelihoods of the data of a problem at these draws, -infinity where the simulation failed.

        **Arguments:** `cube` of a problem that differs from that of `simulate` in its data alone, which are of any of
        its predictions.
        **Returns:** values [rows].
        """
        return np.where(self.statuses == Status.OK, cube.log_likelihoods(self.u, self.predictions), -np.inf)


def _simulate(cube: Cube, key: Array, rows: int) -> Piece:
    u = np.asarray(jax.random.uniform(key, (rows, cube.active.size)))
    seen = cube.simulations(u)
    made = {f"of-{name}": values for name, values in seen.predictions.items()}
    return {"u": u, "statuses": seen.status} | made
