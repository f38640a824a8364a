"""Touchdown alone and with its next contact, each without and with an error of the law: sums over draws of `Joint`.

The components of the error are normal. Their standard deviation, the size of the error, is an unknown with a prior over
two decades. All data with an error are sums over pairs of a ground and a real rebound, weighted by the density of the
error that leads from one to the other.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from experiments.agilkia.joint import Ground, Joint, Sampled
from experiments.agilkia.predictive import flatten
from experiments.agilkia.scenario import Experiment
from inversion import Observation, Problem
from inversion.draws import resample_draws
from inversion.predicting import predictions
from inversion.tails import count_effective

# m/s. The lower end moves the contact by less than its sigma (1e4 s per m/s), the upper one is the rebound itself.
SIZES = np.geomspace(0.003, 0.3, 81)
ERRORS = 16  # errors of the law that are drawn for each ground
TOUCHDOWN, JOINT = "touchdown", "touchdown and contact"
TOUCHDOWN_ERROR, JOINT_ERROR = "touchdown, law's error", "touchdown and contact, law's error"


class Case(NamedTuple):
    """Equally weighted draws of a case: `rows` [n] of the `ground`, and the real rebounds [n, 3] m/s; how many
    independent draws they are worth; the log evidence of the case's data and its error."""

    ground: Ground
    rows: np.ndarray
    rebounds: Float[np.ndarray, "n 3"]
    worth: float
    log_evidence: float
    error: float


class Pairs(NamedTuple):
    """Pairs of a ground and a real rebound: the `rebounds` [m, 3], m/s; the `density` [n, m], s³/m³, of the errors that
    lead to them, over all sizes; and its mean over the pairs for each of the `SIZES`, the evidence of the size but for
    a common factor."""

    rebounds: Float[np.ndarray, "m 3"]
    density: Float[np.ndarray, "n m"]
    by_size: Float[np.ndarray, " sizes"]


def list_cases(joint: Joint, sampled: Sampled, pairs: Pairs) -> dict[str, Case]:
    """The cases by name."""
    exact, free, flight = sampled
    rows = np.arange(len(exact.rebounds))
    contacts = fly(flight.problem, exact.rebounds)
    cases = {
        TOUCHDOWN: _weigh(joint, exact, rows, exact.rebounds, np.zeros(len(rows))),
        JOINT: _weigh(joint, exact, rows, exact.rebounds, -0.5 * misfits(joint.data("contact"), contacts)),
    }
    rng, rows = np.random.default_rng(joint.seed), np.tile(np.arange(len(free.rebounds)), ERRORS)
    sizes = rng.choice(SIZES, len(rows))
    moved = free.rebounds[rows] + sizes[:, None] * rng.standard_normal((len(rows), 3))
    speeds = read_rebounds(joint.whole.predict, moved)
    cases[TOUCHDOWN_ERROR] = _weigh(joint, free, rows, moved, -0.5 * misfits(joint.data("rebound"), speeds))
    return cases | {JOINT_ERROR: weigh_pairs(joint, sampled, pairs)}


def fly(problem: Problem, rebounds: Float[np.ndarray, "n 3"]) -> dict[str, np.ndarray]:
    """The observables of real rebounds and of the flights from there, by name."""
    return predictions(float, lambda p: problem.predict(p)[0], {"rebound": rebounds}, False)


def read_rebounds(known: Experiment, rebounds: Float[np.ndarray, "n 3"]) -> dict[str, np.ndarray]:
    """The observables of the velocities of rebounds, given in the surface frame, by name."""
    return {
        "rebound_speed": np.linalg.norm(rebounds, axis=1),
        "rebound_velocity": rebounds @ np.asarray(known.frame.matrix),
    }


def misfits(data: Mapping[str, Observation], predicted: Mapping[str, np.ndarray]) -> Float[np.ndarray, " n"]:
    """The sums of squares of the misses in sigmas; infinite where there is no prediction."""
    if not data:
        return np.zeros(len(next(iter(predicted.values()))))
    values, value, sigma = flatten(data, predicted)
    return np.nan_to_num(np.sum(((values - value) / sigma) ** 2, axis=1), nan=np.inf)


def pair_rebounds(joint: Joint, sampled: Sampled) -> Pairs:
    """Pair the law's rebounds with the real ones."""
    count = joint.effort.pairs  # the order of draws is random
    law, real = sampled.free.rebounds[:count], sampled.flight.resample(joint.key, count)["rebound"]
    squares = np.sum((law[:, None] - real[None]) ** 2, axis=2)
    density, by_size = np.zeros_like(squares), []
    for size in SIZES:
        of_size = np.exp(-0.5 * squares / size**2) / (np.sqrt(2 * np.pi) * size) ** 3
        density += of_size
        by_size.append(of_size.mean())
    return Pairs(real, density / len(SIZES), np.array(by_size))


def weigh_pairs(joint: Joint, sampled: Sampled, paired: Pairs) -> Case:
    """All data with an error: pairs of a ground and of a rebound from which a flight leads to the contact."""
    real, density, _ = paired
    i, j = (index.ravel() for index in np.indices(density.shape))
    with np.errstate(divide="ignore"):
        pairs = _weigh(joint, sampled.free, i, real[j], np.log(density.ravel()))
    flight = sampled.flight
    worth = min(pairs.worth, count_effective(np.bincount(_distinct(real), density.sum(axis=0))))
    errors = pairs.error, flight.log_evidence_error, worth**-0.5
    return pairs._replace(
        worth=worth, log_evidence=pairs.log_evidence + flight.log_evidence, error=float(np.linalg.norm(errors))
    )


def _weigh(joint: Joint, ground: Ground, rows: np.ndarray, rebounds: np.ndarray, log_weights: np.ndarray) -> Case:
    """Draws that are resampled by further weights."""
    weights = np.exp(log_weights - log_weights.max())
    chosen = resample_draws(joint.key, weights / weights.sum(), joint.effort.draws)
    of_draws = np.bincount(_distinct(ground.rebounds)[rows], weights)
    worth = min(ground.posterior.effective_size, count_effective(of_draws))
    evidence = ground.posterior.log_evidence + float(np.log(weights.mean()) + log_weights.max())
    gained = 0.0 if np.ptp(log_weights) == 0 else worth**-0.5
    error = float(np.hypot(ground.posterior.log_evidence_error, gained))
    return Case(ground, rows[chosen], rebounds[chosen], worth, evidence, error)


def _distinct(rows: Float[np.ndarray, "n 3"]) -> np.ndarray:
    """The number of the draw that each row is, since resampled draws are there several times."""
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()
