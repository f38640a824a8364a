"""`difsim hera --score OUTCOME.toml`: the log score of what happened, next to that of a climatological forecast.

The score of a forecast is Σ ln p of what happened, over the items that are known: fate, and of a lander at rest the
bounces, the time from first touch to rest, and the place. Time and place have bins (`probabilities`), the same for both
forecasts, so that only their difference has a meaning: positive where the forecast was better.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from experiments.hera.ensemble import FATES
from experiments.hera.probabilities import BOUNCES, LONGITUDES, SINES, TIME_EDGES, cell, time_bin

# How much of each forecast is spread evenly over all bins: an ensemble of some thousand knows no zero.
EVEN = 0.02
# Six landers that were to rest on a small body: NEAR Shoemaker, Philae, MINERVA-II 1A and 1B and MASCOT did, MINERVA
# left. With half a case more on either side, and 0.5 % each for the two other fates.
STAYED, LEFT = 5.5 / 7, 1.5 / 7
CLIMATE_BOUNCES = 2.0  # mean of a geometric law, ours
CLIMATE_TIMES = 60.0, 86_400.0  # s: uniform in the logarithm between them, ours


def read_outcome(path: Path) -> dict[str, Any]:
    """Read what happened to one lander.

    **Arguments:** `path` of a file as experiments/hera/outcome.toml. **Returns:** the outcome. **Raises:** `ValueError`
    for unknown keys and fates, and for items of a rest where the lander does not rest.
    """
    given = tomllib.loads(path.read_text(encoding="utf-8"))
    items = {"bounces", "settling_s", "longitude_deg", "latitude_deg"}
    if {"lander", "fate"} - given.keys() or given.keys() - items - {"lander", "fate", "source"}:
        raise ValueError(
            f"{path}: give lander and fate, and of a rest any of {sorted(items)}; not {sorted(given)}"
        )
    if given["fate"] not in FATES:
        raise ValueError(f"{path}: fate = {given['fate']!r}: give one of {FATES}")
    if given["fate"] != "rest" and items & given.keys():
        raise ValueError(f"{path}: a lander that does not rest has none of {sorted(items)}")
    if ("longitude_deg" in given) != ("latitude_deg" in given):
        raise ValueError(f"{path}: a place has longitude_deg and latitude_deg")
    return given


def climate() -> dict[str, Any]:
    """The climatological forecast, in the form of `forecast`."""
    geometric = (1 / (1 + CLIMATE_BOUNCES)) * (CLIMATE_BOUNCES / (1 + CLIMATE_BOUNCES)) ** np.arange(BOUNCES)
    low, high = np.log(CLIMATE_TIMES)
    below = np.clip((np.log(np.maximum(TIME_EDGES, 1e-9)) - low) / (high - low), 0, 1)
    times = np.diff(below)
    fate = dict(zip(FATES, (0.99 * STAYED, 0.99 * LEFT, 0.005, 0.005), strict=True))
    bounces = [*geometric, 1 - geometric.sum()]
    return {
        "fate": {name: {"value": p} for name, p in fate.items()},
        "bounces": {str(n): {"value": float(p)} for n, p in enumerate(bounces)},
        "time_shares": (times / times.sum()).tolist(),
        "place_shares": np.full(LONGITUDES * SINES, 1 / (LONGITUDES * SINES)).tolist(),
    }


def log_scores(forecast: dict[str, Any], outcome: dict[str, Any]) -> dict[str, float]:
    """ln p of each item of an outcome that is known.

    **Arguments:** `forecast`, of one lander; `outcome`, as of `read_outcome`. **Returns:** ln p by item.
    """

    def share(rows: Any, which: int) -> float:
        p = [row["value"] for row in rows.values()] if isinstance(rows, dict) else rows
        return float(np.log((1 - EVEN) * p[which] + EVEN / len(p)))

    found = {"fate": share(forecast["fate"], FATES.index(outcome["fate"]))}
    if "bounces" in outcome:
        found["bounces"] = share(forecast["bounces"], min(outcome["bounces"], BOUNCES))
    if "settling_s" in outcome:
        found["settling_s"] = share(forecast["time_shares"], int(time_bin(outcome["settling_s"])))
    if "longitude_deg" in outcome:
        found["place"] = share(
            forecast["place_shares"], int(cell(outcome["longitude_deg"], outcome["latitude_deg"]))
        )
    return found


def score(stamp: Path, outcome: Path) -> dict[str, Any]:
    """The scores of a dated forecast and of the climatological one for what happened.

    **Arguments:** `stamp`, the JSON of a forecast; `outcome`, the file of what happened. **Returns:** ln p by item of
    both, and the difference of their sums.
    """
    happened = read_outcome(outcome)
    landers = json.loads(stamp.read_text(encoding="utf-8"))["landers"]
    if happened["lander"] not in landers:
        raise ValueError(f"{outcome}: lander = {happened['lander']!r}: {stamp} has {sorted(landers)}")
    ours, theirs = log_scores(landers[happened["lander"]]["forecast"], happened), log_scores(climate(), happened)
    return {
        "outcome": happened,
        "log_scores": {item: {"forecast": ours[item], "climate": theirs[item]} for item in ours},
        "gain_nats": sum(ours.values()) - sum(theirs.values()),
    }
