"""`difsim column`: columns of grains that collapse, and the heaps that they leave."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import xarray as xr

from experiments.column import pictures
from experiments.column.collapse import ASPECTS, FRICTIONS, REPOSE, collapse_column, exponents, lube
from experiments.column.scene import Column
from experiments.harness import Found, Study
from inversion.sweeps import compute_parts

COUNT = 2000  # grains in a column, at the finer scale
COARSER = 2  # times fewer grains, each 1.26 times as large
QUICK_COUNT, QUICK_ASPECTS, QUICK_FRICTIONS = 1000, (1.4, 2.8), ((0.1, 0.0), (0.5, 0.1))


@dataclass
class ColumnStudy(Study):
    """Columns of grains that collapse: run-out by aspect ratio, and slopes of heaps by friction."""

    stage: Literal["collapse", "repose"] = "collapse"
    """"collapse": four aspect ratios, each with two sizes of grains; "repose": how steep heaps are, by friction
    and by resistance to rolling."""
    grains: int = COUNT
    """In a column, at the finer of the two scales; with less than 2000 there is no coarser one."""

    cluster_stages = ("collapse", "repose")

    def __post_init__(self):
        if self.grains < QUICK_COUNT:
            raise ValueError(f"grains = {self.grains}: {QUICK_COUNT} or more make a column")


def _collapse(options: ColumnStudy, out: Path) -> Found:
    aspects = QUICK_ASPECTS if options.quick else ASPECTS
    count = QUICK_COUNT if options.quick else options.grains
    counts = [n for n in (count // COARSER, count) if n >= QUICK_COUNT]
    cases = [Column(a, n) for n in counts for a in aspects]
    tasks = {f"{c.count}_{c.aspect:g}": partial(collapse_column, c, out.resolve()) for c in cases}
    made = compute_parts(tasks, executor=options.executor, label="columns")
    found = {n: [made[f"{n}_{a:g}"] for a in aspects] for n in counts}
    summary = {
        f"{n} grains": {
            "exponents": exponents(results),
            "columns": [r.attrs | {"run_out_lube": float(lube(r.attrs["aspect"]))} for r in results],
        }
        for n, results in found.items()
    }
    tables = _tree([r for results in found.values() for r in results])
    figures = {"collapse": pictures.draw_collapse(list(found.values())[::-1])}
    return Found(summary, tables, figures)


def _repose(options: ColumnStudy, out: Path) -> Found:
    cases = QUICK_FRICTIONS if options.quick else FRICTIONS
    column = Column(REPOSE, QUICK_COUNT if options.quick else options.grains)
    tasks = {f"{f:g}_{r:g}": partial(collapse_column, column, out.resolve(), f, r) for f, r in cases}
    results = list(compute_parts(tasks, executor=options.executor, label="columns").values())
    figures = {"repose": pictures.draw_repose(results)}
    return Found({"heaps": [r.attrs for r in results]}, _tree(results), figures)


def _tree(results: list[xr.Dataset]) -> dict[str, xr.DataTree]:
    return {"result": xr.DataTree.from_dict({f"column_{i}": result for i, result in enumerate(results)})}


ColumnStudy.stages = {"collapse": _collapse, "repose": _repose}
