"""The tables and the data of `difsim agilkia --stage joint`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from experiments import posteriors
from experiments.agilkia.joint import Joint, Sampled
from experiments.agilkia.joint_cases import (
    JOINT,
    JOINT_ERROR,
    SIZES,
    TOUCHDOWN,
    TOUCHDOWN_ERROR,
    Case,
    fly,
    list_cases,
    pair_rebounds,
    read_rebounds,
)
from experiments.agilkia.predictive import flatten, score
from experiments.variables import describe
from inversion import Problem
from inversion.draws import weighted_quantile

LEAST = 30  # independent draws that a case needs for intervals
HEADLINES = ("thickness", "grain_diameter", "friction", "grain_modulus", "scenario")
WHOLE = {TOUCHDOWN: JOINT, TOUCHDOWN_ERROR: JOINT_ERROR}  # with what a case has not seen
SHARES = (0.025, 0.16, 0.5, 0.84, 0.975)


def predict(joint: Joint, problem: Problem, case: Case) -> dict[str, np.ndarray]:
    """The observables [n, ...] by the different draws of a case, their `weights` [n] with a sum of 1, and the error of
    the law `law_error` [n, 3], m/s."""
    law = case.ground.rebounds[case.rows]
    different = np.unique(np.column_stack([law, case.rebounds]), axis=0, return_index=True, return_counts=True)
    _, first, counts = different
    rows, rebounds = case.rows[first], case.rebounds[first]
    found = {name: values[rows] for name, values in case.ground.observed.items()}
    found |= read_rebounds(joint.whole.predict, rebounds) | fly(problem, rebounds)
    return found | {"weights": counts / counts.sum(), "law_error": rebounds - law[first]}


def compare(joint: Joint, cases: Mapping[str, Case], seen: Mapping[str, Mapping]) -> dict[str, dict[str, Any]]:
    """The first table: the evidence of each case, and how probable the data are as its predictions.

    The log score of what is held out is the evidence of all data less that of what was fitted.
    """
    data, table = joint.whole.data, {}
    of_parts = {
        "p_touchdown": joint.data("touchdown", "rebound"),
        "p_contact": joint.data("contact"),
        "p_all": {name: data[name] for name in data.names},
    }
    for name, case in cases.items():
        whole = cases[WHOLE[name]] if name in WHOLE else None
        found, weights = seen[name], seen[name]["weights"]
        p = {k: score(*flatten(each, found), weights, joint.seed).p_value for k, each in of_parts.items()}
        table[name] = {
            "independent_draws": case.worth,
            "log_evidence": case.log_evidence,
            "log_evidence_error": case.error,
            "log_score_of_held_out": whole.log_evidence - case.log_evidence if whole else None,
            **p,
            "contact_in_95": p["p_contact"] > 0.05,
            "contact_was_fitted": whole is None,
            "is_good": case.worth >= LEAST,
        }
    return table


def headlines(case: Case) -> dict[str, Any]:
    """Medians with 95 % of the headline quantities, and probabilities of choices; None for too few draws."""
    row, posterior = {}, case.ground.posterior
    for name in (name for name in HEADLINES if name in posterior.draws):
        values = case.ground.unknowns[name][case.rows]
        if name in posterior.probabilities:
            unknown = posterior.problem.parameters[name]
            for value, label in zip(unknown.values, unknown.labels, strict=True):
                row[f"{name}_{label}"] = float(np.isclose(values, value).mean())
        else:
            low, middle, high = np.quantile(values, (0.025, 0.5, 0.975)).tolist()
            row |= {f"{name}_m": middle, f"{name}_95": [low, high]}
    return row if case.worth >= LEAST else dict.fromkeys(row)


def predicted_contact(seen: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The median and 95 % of the time and distance of the contact, and the share of draws that come down at all."""
    row = {}
    here = np.isfinite(seen["second_contact_time"])
    share = float(seen["weights"] @ here)
    for name, unit in (("time", "s"), ("distance", "m")):
        values, weights = seen[f"second_contact_{name}"][here], seen["weights"][here]
        low, middle, high = weighted_quantile(values, weights / weights.sum(), (0.025, 0.5, 0.975)).tolist()
        row |= {f"{name}_{unit}": middle, f"{name}_95_{unit}": [low, high]}
    return row | {"comes_down": share}


def describe_error(
    densities: np.ndarray, cases: Mapping[str, Case], seen: Mapping[str, Mapping]
) -> dict[str, Any]:
    """The law's error: quantiles of its size and of its length, m/s, and what the evidence says for it.

    **Arguments:** `densities` of all data by size; `cases`; `seen`, predictions by case.
    """
    vector, weights = seen[JOINT_ERROR]["law_error"], seen[JOINT_ERROR]["weights"]
    shares = densities / densities.sum()
    return {
        "size_m_per_s": weighted_quantile(SIZES, shares, SHARES).tolist(),
        "length_m_per_s": weighted_quantile(np.linalg.norm(vector, axis=1), weights, SHARES).tolist(),
        "mean_m_per_s": (weights @ vector).tolist(),
        "log_evidence_by_size": {
            f"{SIZES[i]:.2g} m/s": cases[JOINT_ERROR].log_evidence + float(np.log(shares[i] * len(SIZES)))
            for i in range(0, len(SIZES), 20)
        },
        "prior_m_per_s": [float(SIZES[0]), float(SIZES[-1])],
    }


def summarise(joint: Joint, sampled: Sampled) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
    """The content of joint.json but for the conflicts of published numbers, and the predictions by case."""
    pairs = pair_rebounds(joint, sampled)
    cases = list_cases(joint, sampled, pairs)
    seen = {name: predict(joint, sampled.flight.problem, case) for name, case in cases.items()}
    ground, free, rebound = sampled.exact.posterior, sampled.free.posterior, sampled.flight
    of = {"ground": ground, "ground, rebound not fitted": free, "real rebound": rebound}
    told = "verdict", "simulations", "effective_size", "k_hat"
    summary = {
        "comparison": compare(joint, cases, seen),
        "predicted_contact": {name: predicted_contact(of) for name, of in seen.items()},
        "headlines": {name: headlines(case) for name, case in cases.items()},
        "error": describe_error(pairs.by_size, cases, seen),
        "quality": {name: {k: posteriors.quality(each)[k] for k in told} for name, each in of.items()},
    }
    return summary, seen


def dataset(joint: Joint, seen: Mapping[str, Mapping]) -> xr.Dataset:
    """The next contacts that each case predicts, by equally weighted draws, and the published ones."""
    count, data = joint.effort.draws, joint.whole.data
    repeats = {name: np.rint(of["weights"] * count).astype(int) for name, of in seen.items()}
    units = {"second_contact_time": "s", "second_contact_distance": "m"}
    drawn: dict[str, Any] = {
        name: (("case", "draw"), np.stack([np.repeat(of[name], repeats[case]) for case, of in seen.items()]))
        for name in units
    }
    for name, part in (("observed", "value"), ("sigma", "sigma")):
        drawn[name] = "observable", [float(getattr(data[k], part)) for k in units]
    result = xr.Dataset(drawn, coords={"case": list(seen), "observable": list(units)})
    return describe(result, units=units | dict.fromkeys(("observed", "sigma"), "s, m"))
