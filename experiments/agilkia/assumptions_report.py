"""The table and the picture of `difsim agilkia --stage assumptions`: how the headline quantities move."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREY, PALE, number
from experiments.agilkia.assumptions import Case, Sampler
from experiments.variables import describe
from inversion.posterior import Posterior
from inversion.progress import show_progress
from inversion.tails import K_HAT

MEDIANS = {"thickness": "m", "grain_diameter": "m"}  # unknowns whose medians are followed
CHOICE = "friction"  # the choice whose probability is followed
TEXTS = "assumption", "instead", "verdict_changes"  # of a row
CERTAIN = 2.0  # standard errors of a difference that counts


def assess(cases: Sequence[Case], sampler: Sampler) -> dict[str, Any]:
    """The content of assumptions.json.

    **Arguments:** `cases`, the files as they are first; `sampler`.
    **Returns:** `rows`, one for each case; `followed`, the most probable value of `CHOICE` for the files as they are,
    None where there is no such choice; `changed`, the changes of verdicts by the name of a case; `unanswered`, the
    cases with too few draws; `simulations`, of all rows.
    """
    rows, posteriors = [], []
    for case in show_progress(cases, "assumptions"):
        posteriors.append(sampler.sample(case))
        about = {"assumption": case.key or "files as they are", "instead": case.text}
        rows.append(about | _row(posteriors[-1], posteriors[0], sampler))
    base, changes = posteriors[0], {c.name: row["verdict_changes"] for c, row in zip(cases, rows, strict=True)}
    known = base.problem.parameters.get(CHOICE)
    return {
        "followed": known.label_of(_best(base)) if CHOICE in base.probabilities else None,
        "changed": {name: change for name, change in changes.items() if change not in (None, "no")},
        "unanswered": [name for name, change in changes.items() if change is None],
        "least_draws": sampler.sizes.least,
        "rows": rows,
    }


def _row(posterior: Posterior, base: Posterior, sampler: Sampler) -> dict[str, Any]:
    """The entries of a case, None where its posterior is worth too few draws."""
    followed = [name for name in MEDIANS if name in base.draws]
    size = posterior.effective_size
    row: dict[str, Any] = {f"{name}_{MEDIANS[name]}": None for name in followed}
    row |= {"probability": None, "probability_error": None, "peak_force_N": None, "verdict_changes": None}
    if posterior.k_hat <= K_HAT and size >= sampler.sizes.least:
        row |= {f"{name}_{MEDIANS[name]}": float(posterior.quantile(name, 0.5)) for name in followed}
        if CHOICE in posterior.probabilities and CHOICE in base.probabilities:
            share = posterior.marginal(CHOICE).get(_best(base), (None, None))
            row["probability"], row["probability_error"] = share
        row["peak_force_N"] = float(np.median(sampler.find_peak_forces(posterior)))
        row["verdict_changes"] = "; ".join(list_changes(posterior, base)) or "no"
    return row | {
        "log_evidence_change": posterior.log_evidence - base.log_evidence,
        "independent_draws": size,
        "simulations": posterior.weights.size,
    }


def decide(posterior: Posterior, name: str) -> float | None:
    """The value of a choice that is more probable than each other one by `CERTAIN` errors; None without one."""
    best, drawn = _best(posterior, name), posterior.draws[name]
    for other in posterior.marginal(name):
        lead, error = posterior.estimate(np.isclose(drawn, best).astype(float) - np.isclose(drawn, other))
        if other != best and not lead > CERTAIN * error:
            return None
    return best


def list_changes(posterior: Posterior, base: Posterior) -> list[str]:
    """The choices that `base` decides, and that are decided in another way or not at all."""
    found = []
    for name in (name for name in base.probabilities if name in posterior.probabilities):
        before, now = decide(base, name), decide(posterior, name)
        if before is not None and now != before:
            label = "undecided" if now is None else posterior.problem.parameters[name].label_of(now)
            found.append(f"{name} {label}")
    return found


def _best(posterior: Posterior, name: str = CHOICE) -> float:
    shares = posterior.marginal(name)
    return max(shares, key=lambda value: shares[value][0])


def dataset(summary: Mapping[str, Any]) -> xr.Dataset:
    """The rows as arrays over `case`, NaN for what is not known."""
    rows = summary["rows"]
    data = {
        key: [row[key] or "" for row in rows] if key in TEXTS else np.array([row[key] for row in rows], float)
        for key in rows[0]
    }
    result = xr.Dataset({key: ("case", values) for key, values in data.items()})
    result.attrs["followed"] = summary["followed"] or ""
    units = {"m": "m", "N": "N"}
    return describe(
        result, units={key: units.get(key.rsplit("_", 1)[-1], "1") for key in data if key not in TEXTS}
    )


def draw(result: xr.Dataset) -> Figure:
    """Each headline quantity in a panel, each assumption in a line, those that move most at the top."""
    titles = {
        "thickness_m": "thickness [m]",
        "grain_diameter_m": "grain diameter [m]",
        "probability": f"probability of friction {result.attrs['followed']} [1]",
        "peak_force_N": "peak force [N]",
    }
    shown = [name for name in titles if name in result and np.isfinite(result[name].values[0])]
    names, key = list(dict.fromkeys(result["assumption"].values[1:].tolist())), result["assumption"].values
    moved = {name: max((_move(result[q].values, key == name) for q in shown), default=0.0) for name in names}
    names.sort(key=lambda name: moved[name])
    figure = Figure(figsize=(3.0 + 2.6 * max(len(shown), 1), 1.6 + 0.24 * len(names)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, max(len(shown), 1), sharey=True))
    for ax, quantity in zip(panels, shown, strict=False):
        values = result[quantity].values
        for y, name in enumerate(names):
            at = values[key == name]
            known = at[np.isfinite(at)]
            if known.size < at.size:
                ax.axhspan(y - 0.4, y + 0.4, color=PALE, linewidth=0)
            ax.plot([*known, values[0]], np.full(known.size + 1, y), color=BLUE, linewidth=1)
            ax.plot(known, np.full(known.size, y), "o", color=BLUE, markersize=4)
        ax.axvline(values[0], color=BLACK, linewidth=1)
        if quantity == "grain_diameter_m":
            ax.set_xscale("log")
        ax.set_title(f"as it is: {number(values[0])}", color=GREY)
        ax.set_xlabel(titles[quantity])
    panels[0].set_yticks(range(len(names)), [name.replace("observables.", "").replace("_", " ") for name in names])
    figure.suptitle("Medians under other assumptions\n(grey: too few draws for one of them)")
    return figure


def _move(values: np.ndarray, here: np.ndarray) -> float:
    """The largest change from the first value, by the spread of all."""
    known = values[here & np.isfinite(values)]
    spread = np.nanstd(values)
    return float(np.abs(known - values[0]).max() / spread) if known.size and spread > 0 else 0.0
