"""`difsim agilkia --stage coverage`: do the intervals of the posterior hold the truth, on synthetic touchdowns?

The posterior is drawn as for the data themselves, with fewer draws and from a start that all repetitions share:
simulations of draws of the prior, whose predictions serve any data.
"""

from concurrent.futures import Executor

from experiments.calibration import Calibration, calibrate
from experiments.harness import Found
from inversion import Checkpoint, Importance, Problem, Tempered
from inversion.prior_runs import PriorRuns

BINS = 5  # of the ranks: 64 of them are 13 each
START, QUICK = 30_000, 3000  # simulations of draws of the prior
# Of a repetition: particles, draws of the first kernels, effective draws, and the most simulations.
SETTINGS = PARTICLES, GENERATION, SIZE, LIMIT = 400, 600, 120, 8000


def cover(
    problem: Problem,
    prior: PriorRuns,
    repetitions: int,
    seed: int,
    checkpoint: Checkpoint,
    executor: Executor | None = None,
) -> Found:
    """Ranks and intervals of so many truths.

    **Arguments:** `problem` of the data set, whose numbers are replaced; `prior`: simulations of its prior;
    `repetitions`; `seed`; `checkpoint`; `executor`. **Returns:** what the harness writes.
    """
    method = Importance(Tempered(PARTICLES, start=prior), generation=GENERATION)
    return calibrate(Calibration(problem, method, SIZE, LIMIT), repetitions, seed, BINS, checkpoint, executor)
