"""`difsim contact --stage assumptions`: how far the answer follows what the file assumes.

Each row halves or doubles one sigma, or puts a value of the table [alternatives] in the place of the file's. Its
posterior is that of draws of its prior, each weighted by its likelihood, whose mean is the evidence. No search can
miss a part of such a posterior.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from difsim import Status
from difsim.plot.style import BLACK, BLUE, GREY
from experiments.agilkia.files import list_alternatives, read_tables
from experiments.contact.case import EXAMPLE, read_case
from experiments.contact.model import pose
from experiments.harness import Found
from experiments.variables import describe
from inversion import Discrete
from inversion.cube import Cube
from inversion.draws import weighted_quantile
from inversion.tails import count_effective

DRAWS, QUICK = 100_000, 4000  # of the prior, of each row
AT_ONCE = 1000  # simulations
LEAST = 50  # independent draws that a row needs for its intervals
ENDS = {"lo95": 0.025, "median": 0.5, "hi95": 0.975}


@dataclass(frozen=True)
class Row:
    """The file with other values of some keys; `has_same_errors`, so that evidences can be compared."""

    name: str
    changed: Mapping[str, Any]
    has_same_errors: bool = True


def list_rows(path: Path) -> list[Row]:
    """The file as it is, with each sigma halved and doubled, and with each of its alternatives."""
    tables = read_tables(path, EXAMPLE)
    rows = [Row("the file as it is", {})]
    for name, entry in tables.get("observations", {}).items():
        for factor in (0.5, 2.0):
            changed = {f"observations.{name}.sigma": factor * entry["sigma"]}
            rows.append(Row(f"sigma of {name} x {factor:g}", changed, False))
    for key, values in list_alternatives(path).items():
        rows += [Row(f"{key.split('.')[-1]} = {_spell(value)}", {key: value}) for value in values]
    return rows


def _spell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{form} {', '.join(map(str, given))}" for form, given in value.items())
    return str(value)


def compare(path: Path, count: int, seed: int) -> Found:
    """The posterior of each row.

    **Arguments:** `path` of the case, whose series are left out; `count` of draws of each row; `seed`. **Returns:**
    what the harness writes.
    """
    listed, case = list_rows(path), read_case(path)
    found, names = [weigh(path, row, count, seed) for row in listed], case.unknown
    none = np.full(len(ENDS), np.nan)
    table = [[one["unknowns"].get(name, none) for name in names] for one in found]
    result = xr.Dataset(
        {"interval": (("row", "parameter", "end"), np.array(table), {"units": "see the unknowns"})},
        {"row": [row.name for row in listed], "parameter": names, "end": list(ENDS)},
    )
    result = describe(result.assign_coords(unit=("parameter", [case.parameters[name].unit for name in names])))
    rows = []
    for row, one in zip(listed, found, strict=True):
        gained = one["log_evidence"] - found[0]["log_evidence"] if row.has_same_errors else None
        cells = {"assumption": row.name, "independent draws": one["size"], "log evidence gained": gained}
        for name, (low, middle, high) in one["unknowns"].items():
            cells |= {f"{name}: median": middle, f"{name}: 95 %": [low, high]}
        rows.append(cells)
    summary = {"title": case.title, "simulations": count * len(listed), "rows": rows}
    return Found(summary, {"assumptions": result}, {"assumptions": draw(result, case.title)})


def weigh(path: Path, row: Row, count: int, seed: int) -> dict[str, Any]:
    """The posterior of a row by draws of its prior.

    **Arguments:** `path`; `row`; `count` of draws; `seed`. **Returns:** `size`, independent draws; `log_evidence`;
    `unknowns`: name -> the ENDS, of those that are numbers.
    """
    case = read_case(path, changed=row.changed)
    problem = pose(case)
    cube = Cube(problem)
    u = np.random.default_rng(seed).random((count, cube.active.size))
    values = cube.physical(u)
    predictions, status = _simulate(problem.predict, jax.vmap(problem.to_dict)(jnp.asarray(values)))
    predictions = {name: np.asarray(value) for name, value in predictions.items()}
    found = np.where(np.asarray(status) == Status.OK, cube.log_likelihoods(u, predictions), -np.inf)
    weights = np.exp(found - found.max())
    size = count_effective(weights)
    numbers = {}
    for name, column in zip(problem.names, values.T, strict=True):
        if not isinstance(problem.parameters[name], Discrete):
            ends = weighted_quantile(column, weights / weights.sum(), np.array(list(ENDS.values())))
            numbers[name] = ends if size >= LEAST else np.full(len(ENDS), np.nan)
    return {"size": size, "log_evidence": float(np.log(weights.mean()) + found.max()), "unknowns": numbers}


@eqx.filter_jit
def _simulate(predict, p):
    return jax.lax.map(predict, p, batch_size=AT_ONCE)


def draw(result: xr.Dataset, title: str) -> Figure:
    """The intervals of each unknown by rows. **Arguments:** `result` of `compare`; `title`. **Returns:** figure."""
    names, rows = result["parameter"].values, result["row"].values
    figure = Figure(figsize=(1.6 + 2.3 * len(names), 1.2 + 0.2 * len(rows)), layout="constrained")
    figure.suptitle(title)
    for ax, name in zip(figure.subplots(1, len(names), sharey=True, squeeze=False)[0], names, strict=True):
        low, middle, high = result["interval"].sel(parameter=name).values.T
        at = np.arange(len(rows))
        ax.axvspan(low[0], high[0], color=GREY, alpha=0.2, linewidth=0)
        ax.hlines(at, low, high, color=BLUE, linewidth=2)
        ax.plot(middle, at, "o", color=BLACK, markersize=3)
        if np.nanmin(low) > 0 and np.nanmax(high) > 30 * np.nanmin(low):
            ax.set_xscale("log")
        unit = str(result["unit"].sel(parameter=name).values)
        ax.set_title(f"{name}, {unit}" if unit != "1" else str(name), fontsize=9)
        ax.tick_params(labelsize=7)
    figure.axes[0].set_yticks(at, rows)
    figure.axes[0].invert_yaxis()
    figure.supxlabel("median and 95 %; grey: the file as it is", fontsize=8)
    return figure
