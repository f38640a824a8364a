"""Posteriors in the results of studies: rows of the unknowns, the quality of the sample, and the draws."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from inversion import Discrete, Fixed
from inversion.identifiability import MISSED
from inversion.posterior import Posterior

GIVEN = "known: given"
UNSURE = "no verdict: the sample is too small"
ENDS = ("lo68", "hi68", "lo95", "hi95")

Row = dict[str, Any]


def rows(posterior: Posterior, best: Mapping[str, float]) -> dict[str, Row]:
    """`value`, `median`, `lo68`, `hi68`, `lo95`, `hi95`, `prior`, `unit`, `verdict` of unknowns that are numbers.

    `prior` has the ends of the prior's range. Discrete ones have `probabilities`, label -> probability and standard
    error, and choices with names no number: their value is the name. Ends are None where the posterior gives none.

    **Arguments:** `posterior`; `best`: the value of each unknown to be told, the best fit's. **Returns:** the rows.
    """
    verdicts = posterior.verdicts
    return {name: _row(posterior, name, value, verdicts) for name, value in best.items()}


def _row(posterior: Posterior, name: str, value: float, verdicts: Mapping[str, str]) -> Row:
    q = posterior.problem.parameters[name]
    row = {"value": value, "median": None} | dict.fromkeys(ENDS)
    row |= {"prior": None, "unit": q.unit, "verdict": UNSURE}
    if isinstance(q, Fixed):
        return row | {"median": value, "lo95": value, "hi95": value, "verdict": GIVEN}
    if isinstance(q, Discrete) and not q.is_ordered:
        row["value"] = q.labels[int(np.argmin(np.abs(np.asarray(q.values) - value)))]
    else:
        row["prior"] = list(posterior.prior_range(name))
    if isinstance(q, Discrete) and posterior.fault is None:
        row["probabilities"] = dict(zip(q.labels, map(list, posterior.probabilities[name].values()), strict=True))
    if not posterior.explains_data:
        return row | {"verdict": MISSED}
    if posterior.fault is not None:
        return row
    row["verdict"] = verdicts[name]
    if name in posterior.numbers:
        row["median"] = float(posterior.quantile(name, 0.5))
        for share in (68, 95):
            row[f"lo{share}"], row[f"hi{share}"] = posterior.interval(name, share / 100)
    return row


def quality(posterior: Posterior) -> dict[str, Any]:
    """How good the sample is, and the evidence of each combination of discrete values, as plain numbers."""
    return {
        "verdict": posterior.verdict,
        "is_good": posterior.fault is None,
        "effective_size": posterior.effective_size,
        "draws": posterior.weights.size,
        "k_hat": posterior.k_hat,
        "drift": posterior.drift,
        "p_value": posterior.p_value,
        "method": posterior.sampled.method,
        "simulations": posterior.calls.forward,
        "log_evidence": posterior.log_evidence,
        "log_evidence_error": posterior.log_evidence_error,
        "leaves": [
            {
                **leaf.assignment,
                "probability": leaf.probability,
                "error": leaf.error,
                "log_evidence": leaf.log_evidence if np.isfinite(leaf.log_evidence) else None,
            }
            for leaf in posterior.leaves
        ],
    }


def samples(posterior: Posterior) -> dict[str, xr.Dataset]:
    """The samples as the groups of `Posterior.to_xarray`. **Arguments:** `posterior`."""
    return {name: group.to_dataset() for name, group in posterior.to_xarray().children.items()}
