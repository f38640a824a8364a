"""What studies tell of a posterior: rows of the unknowns, the quality of the sample, and what is drawn and kept."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
import xarray as xr

from inversion import Discrete, Fixed, Log
from inversion.identifiability import MISSED
from inversion.posterior import Posterior

GIVEN = "known: given"
UNSURE = "no verdict: the sample is too small"
SHOWN = 1000  # equally weighted draws that a picture shows
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


def picture_data(posterior: Posterior, told: Mapping[str, Row]) -> xr.Dataset:
    """What `corner` draws: draws of the posterior and of the prior, best values, intervals and ranges.

    **Arguments:** `posterior`; `told`, `rows` of the unknowns that are shown. **Returns:** Dataset by `parameter`.
    """
    names = list(told)
    unknown = [posterior.problem.parameters[n] for n in names]
    ends = np.asarray([posterior.prior_range(name) for name in names])
    drawn = posterior.resample(jax.random.PRNGKey(0), SHOWN)
    number = {k: [np.nan if r[k] is None else r[k] for r in told.values()] for k in ("value", "median", *ENDS)}
    of_each = {k: np.asarray(v, float) for k, v in number.items()} | {
        "unit_of": np.asarray([r["unit"] for r in told.values()]),
        "verdict": np.asarray([r["verdict"] for r in told.values()]),
        "log_scale": np.asarray([isinstance(q, Log) for q in unknown]),
        "prior_lo": ends[:, 0],
        "prior_hi": ends[:, 1],
    }
    draws = {
        "draw": (("shown_draw", "parameter"), np.stack([drawn[n] for n in names], axis=1)),
        "prior_draw": (
            ("shown_prior", "parameter"),
            np.stack([posterior.prior[n][:SHOWN] for n in names], axis=1),
        ),
    }
    mixed = (*number, "prior_lo", "prior_hi", *draws)
    found = xr.Dataset({k: ("parameter", v) for k, v in of_each.items()} | draws, coords={"parameter": names})
    for name in mixed:
        found[name].attrs["units"] = "see unit_of"
    return found


def samples(posterior: Posterior) -> dict[str, xr.Dataset]:
    """The samples as the groups of `Posterior.to_xarray`. **Arguments:** `posterior`."""
    return {name: group.to_dataset() for name, group in posterior.to_xarray().children.items()}
