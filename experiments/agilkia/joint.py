"""`difsim agilkia --stage joint`: touchdown and next contact in one posterior, each alone, and with the law's error.

The flight to the next contact is part of each simulation. What one posterior has not seen is predicted by its draws.
The error of the law is the velocity by which its rebound differs from the real one. Its standard deviation is an
unknown with a prior over two decades. Where the contact is fitted, the real rebound is the other unknown: the contact
follows from it alone, whatever the ground is. Where it is not, the error in standard deviations is.
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import xarray as xr
from jaxtyping import Array

from experiments.agilkia.catalogue import FLIGHT
from experiments.agilkia.predictive import flatten, score
from experiments.agilkia.scenario import Experiment
from experiments.agilkia.solve import order_parameters
from experiments.variables import describe
from inversion import (
    Bounded,
    Checkpoint,
    Gaussian,
    Importance,
    Log,
    Observation,
    Observations,
    Problem,
    Tempered,
    sample,
)
from inversion.cube import Cube
from inversion.draws import resample_draws, weighted_quantile
from inversion.noise import Normal
from inversion.posterior import Posterior
from inversion.prior_runs import PriorRuns

# m/s. The lower end moves the contact by less than its sigma (1e4 s per m/s), the upper one is the rebound itself.
ERROR_SIZE = Log(0.003, 0.3, unit="m/s")
# By what the law's error is unknown: in standard deviations, or by the real rebound, m/s in the surface frame. The box
# is wider than the published speed lets it be, and its volume is 1, as is then its density.
SCALED = {"error_size": ERROR_SIZE, "error_direction": Gaussian(0.0, 1.0, unit="1", shape=3)}
REAL = {"error_size": ERROR_SIZE, "rebound": Bounded(-0.5, 0.5, unit="m/s", shape=3)}
LAW_ERROR = Observation(np.zeros(3), 1.0, unit="m/s", noise=Normal("error_size"))
HEADLINES = ("thickness", "grain_diameter", "friction", "grain_modulus", "scenario")
TOUCHDOWN, CONTACT, JOINT = "touchdown alone", "next contact alone", "joint"
TOUCHDOWN_ERROR, JOINT_ERROR = "touchdown alone, law's error", "joint, law's error"
# Which data each posterior fits, and its unknowns of the law's error.
CASES = {
    TOUCHDOWN: ((TOUCHDOWN,), {}),
    CONTACT: ((CONTACT,), {}),
    JOINT: ((TOUCHDOWN, CONTACT), {}),
    TOUCHDOWN_ERROR: ((TOUCHDOWN,), SCALED),
    JOINT_ERROR: ((TOUCHDOWN, CONTACT), REAL),
}


@dataclass(frozen=True)
class Sizes:
    """Simulations of draws of the prior, particles, draws of the first kernels, effective draws of a posterior, the
    most simulations of one, and draws that predict."""

    prior: int
    particles: int
    generation: int
    effective: int
    limit: int
    predict: int


USUAL, QUICK = Sizes(8000, 1600, 1000, 200, 40_000, 400), Sizes(600, 128, 200, 10, 300, 60)


class WithError(eqx.Module):
    """The touchdown whose rebound is off by `error_size` m/s times `error_direction` [3], in the surface frame."""

    known: Experiment

    def __call__(self, p: Mapping[str, Array]) -> tuple[dict[str, Array], Array]:
        return self.known(dict(p) | {"rebound_error": p["error_size"] * p["error_direction"]})


@dataclass(frozen=True)
class Joint:
    """The posteriors of `CASES` of one data set that has a touchdown and a next contact.

    **Arguments:** `whole`, the problem of all data, with a world; `sizes`; `seed`.
    **Raises:** ValueError where the data set lacks one of the two.
    """

    whole: Problem
    sizes: Sizes
    seed: int = 0

    def __post_init__(self):
        if not all(self.parts.values()):
            raise ValueError(
                "--stage joint needs a touchdown and its next contact: a data set with both, such as --data bounce"
            )

    @cached_property
    def parts(self) -> dict[str, dict[str, Any]]:
        """The observations of the touchdown and of the next contact."""
        needs = {name: self.whole.predict.catalogue.observable(name).needs for name in self.whole.data.names}
        return {
            part: {k: self.whole.data[k] for k, need in needs.items() if (need == FLIGHT) == (part == CONTACT)}
            for part in (TOUCHDOWN, CONTACT)
        }

    def problem(self, case: str) -> Problem:
        """The problem of one of the `CASES`."""
        fitted, error = CASES[case]
        data = {name: each for part in fitted for name, each in self.parts[part].items()}
        known = WithError(self.whole.predict) if error is SCALED else self.whole.predict
        if error is REAL:
            data |= {"law_error": LAW_ERROR}
        return Problem(order_parameters(self.whole) | error, known, Observations(data))

    def sample(
        self, folder: Path, made_of: Any, progress: bool, executor: Executor | None = None
    ) -> dict[str, Posterior]:
        """The posteriors by case. Those of one model start from the same simulations of draws of its prior.

        **Arguments:** `folder` of checkpoints; `made_of`: what the problem was made of; `progress`; `executor`.
        """
        sizes, found, starts = self.sizes, {}, {}
        # Without the limit: a larger one goes on with the draws of a smaller one.
        drawn = sizes.prior, sizes.particles, sizes.generation
        for i, (case, (_, error)) in enumerate(CASES.items()):
            kept = Checkpoint(folder, (made_of, self.seed, drawn, case))
            key = jax.random.PRNGKey(self.seed + i)
            if (model := tuple(error)) not in starts:
                # By the touchdown's data: one that never comes down again is no failure of the touchdown.
                starts[model] = PriorRuns.simulate(self.problem(case), key, sizes.prior, kept, progress, executor)
            method = Importance(Tempered(sizes.particles, start=starts[model]), sizes.generation)
            found[case] = sample(
                self.problem(case), key=key, method=method, effective_size=sizes.effective, limit=sizes.limit,
                checkpoint=kept, progress=progress, executor=executor,
            )  # fmt: skip
        return found

    def predict(self, posterior: Posterior) -> dict[str, np.ndarray]:
        """The observables [draws, ...] by different draws of a posterior, and `weights` [draws] with a sum of 1."""
        drawn = resample_draws(jax.random.PRNGKey(self.seed), posterior.weights, self.sizes.predict)
        rows, counts = np.unique(drawn, return_counts=True)
        u = posterior.sampled.u.reshape(-1, posterior.sampled.u.shape[-1])[rows]
        found = Cube(posterior.problem).simulations(u).predictions
        return {k: np.asarray(v) for k, v in found.items()} | {"weights": counts / counts.sum()}


def evidence(found: Mapping[str, Posterior], case: str) -> float:
    """The log evidence of a case; that of a sample leaves the factor of the law error's normal density out."""
    return found[case].log_evidence - (1.5 * np.log(2 * np.pi) if CASES[case][1] is REAL else 0.0)


def compare(
    joint: Joint, found: Mapping[str, Posterior], seen: Mapping[str, Mapping]
) -> dict[str, dict[str, Any]]:
    """The first table: evidence of each case, and how well it predicts what it has not seen.

    The log score of what is held out is the evidence of all data less that of what was fitted, by the same model.

    **Arguments:** `joint`; `found`, posteriors, and `seen`, predictions, by case. **Returns:** a row for each case.
    """
    table = {}
    for case, (fitted, error) in CASES.items():
        whole = JOINT_ERROR if error else JOINT
        one, both = found[case], found[whole]
        p_value = {
            part: score(*flatten(Observations(of), seen[case]), seed=joint.seed).p_value
            for part, of in joint.parts.items()
        }
        is_held_out = len(fitted) == 1
        table[case] = {
            "log_evidence": evidence(found, case),
            "log_evidence_error": one.log_evidence_error,
            "log_score_of_held_out": evidence(found, whole) - evidence(found, case) if is_held_out else None,
            "log_score_error": float(np.hypot(both.log_evidence_error, one.log_evidence_error))
            if is_held_out
            else None,
            "p_touchdown": p_value[TOUCHDOWN],
            "p_contact": p_value[CONTACT],
            "contact_in_95": p_value[CONTACT] > 0.05,
            "contact_was_fitted": CONTACT in fitted,
            "p_fitted": one.p_value,
            "is_good": one.fault is None,
        }
    return table


def headlines(posterior: Posterior) -> dict[str, Any]:
    """Medians with 95 % of the headline quantities, and probabilities of choices; None for a sample with a fault."""
    row, is_good = {}, posterior.fault is None
    for name in (name for name in HEADLINES if name in posterior.draws):
        if name in posterior.probabilities:
            labels = posterior.problem.parameters[name].labels
            each = zip(labels, posterior.probabilities[name].values(), strict=True)
            row |= {f"{name}_{label}": probability if is_good else None for label, (probability, _) in each}
        else:
            row[f"{name}_m"] = float(posterior.quantile(name, 0.5)) if is_good else None
            row[f"{name}_95"] = list(posterior.interval(name)) if is_good else None
    return row


def list_leaves(posterior: Posterior, count: int = 6) -> list[dict[str, Any]]:
    """The most probable combinations of discrete values: labels, probability and lowest misfit of any draw."""
    rows = []
    for leaf in posterior.leaves[:count]:
        here = np.all([np.isclose(posterior.draws[k], v) for k, v in leaf.assignment.items()], axis=0)
        labels = {k: posterior.problem.parameters[k].label_of(v) for k, v in leaf.assignment.items()}
        lowest = float(-2.0 * posterior.log_likelihood[here].max()) if here.any() else None
        rows.append(labels | {"probability": leaf.probability, "lowest_misfit": lowest})
    return rows


def describe_error(found: Mapping[str, Posterior], seen: Mapping[str, Mapping]) -> dict[str, Any]:
    """The law's error: quantiles of its size and of its length, m/s, and what the evidence says for it."""
    posterior, shares = found[JOINT_ERROR], (0.025, 0.16, 0.5, 0.84, 0.975)
    vector, weights = -seen[JOINT_ERROR]["law_error"], seen[JOINT_ERROR]["weights"]
    return {
        "size_m_per_s": posterior.quantile("error_size", shares).tolist(),
        "length_m_per_s": weighted_quantile(np.linalg.norm(vector, axis=1), weights, shares).tolist(),
        "mean_m_per_s": (weights @ vector).tolist(),
        "log_bayes_factor": evidence(found, JOINT_ERROR) - evidence(found, JOINT),
        "log_bayes_factor_error": float(np.hypot(posterior.log_evidence_error, found[JOINT].log_evidence_error)),
        "prior_m_per_s": [float(ERROR_SIZE.lower), float(ERROR_SIZE.upper)],
        "is_good": posterior.fault is None,
    }


def summarise(joint: Joint, found: Mapping[str, Posterior], seen: Mapping[str, Mapping]) -> dict[str, Any]:
    """The content of joint.json but for the conflicts of published numbers."""
    return {
        "comparison": compare(joint, found, seen),
        "headlines": {case: headlines(posterior) for case, posterior in found.items()},
        "explains_both": found[JOINT].explains_data,
        "p_value": found[JOINT].p_value,
        "leaves": list_leaves(found[JOINT]),
        "error": describe_error(found, seen),
        "quality": {
            case: {
                "verdict": posterior.verdict,
                "simulations": posterior.calls.forward,
                "effective_size": posterior.effective_size,
                "k_hat": posterior.k_hat,
            }
            for case, posterior in found.items()
        },
    }


def dataset(joint: Joint, seen: Mapping[str, Mapping]) -> xr.Dataset:
    """The next contacts that each posterior predicts, by equally weighted draws, and the published ones."""
    repeats = {case: np.rint(of["weights"] * joint.sizes.predict).astype(int) for case, of in seen.items()}
    units, data = {"second_contact_time": "s", "second_contact_distance": "m"}, joint.whole.data
    drawn = {
        name: (("case", "draw"), np.stack([np.repeat(of[name], repeats[case]) for case, of in seen.items()]))
        for name in units
    }
    for part in ("value", "sigma"):
        numbers = [float(getattr(data[name], part)) for name in units]
        drawn["observed" if part == "value" else part] = "observable", numbers
    result = xr.Dataset(drawn, coords={"case": list(seen), "observable": list(units)})
    return describe(result, units=units | dict.fromkeys(("observed", "sigma"), "s, m"))
