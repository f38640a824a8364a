"""`difsim column`: columns of grains that collapse, and the heaps that they leave."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import xarray as xr

from experiments.column import pictures
from experiments.column.collapse import ASPECTS, FRICTIONS, REPOSE, collapsed, exponents, lube
from experiments.column.scene import Column
from experiments.records import provenance, record

StageName = Literal["collapse", "repose"]
COUNT = 2000  # grains in a column, at the finer scale
COARSER = 2  # times fewer grains, each 1.26 times as large
QUICK_COUNT, QUICK_ASPECTS, QUICK_FRICTIONS = 1000, (1.4, 2.8), ((0.1, 0.0), (0.5, 0.1))


@dataclass
class ColumnStudy:
    """Columns of grains that collapse: run-out by aspect ratio, and slopes of heaps by friction."""

    stage: StageName = "collapse"
    """"collapse": four aspect ratios, each with two sizes of grains; "repose": how steep heaps are, by friction
    and by resistance to rolling."""
    grains: int = COUNT
    """In a column, at the finer of the two scales; with less than 2000 there is no coarser one."""
    out: Path | None = None
    """Folder for summary.json, result.nc and the pictures (results/column/STAGE)."""
    quick: bool = False
    """A smoke test: two columns of 1000 grains. Its answer is not to be quoted."""

    def __post_init__(self):
        if self.grains < QUICK_COUNT:
            raise ValueError(f"grains = {self.grains}: {QUICK_COUNT} or more make a column")


def run(options: ColumnStudy) -> None:
    """Run one stage; it writes its tables and pictures, and hands back what it found."""
    out = options.out or Path("results/column") / options.stage
    record(out, lambda folder: STAGES[options.stage](folder, options), stage=options.stage, quick=options.quick)
    for kept in out.glob("*.checkpoint"):
        shutil.rmtree(kept)  # only now: a run that was interrupted goes on from all of them


def _collapse(out: Path, options: ColumnStudy) -> dict:
    aspects = QUICK_ASPECTS if options.quick else ASPECTS
    count = QUICK_COUNT if options.quick else options.grains
    counts = [n for n in (count // COARSER, count) if n >= QUICK_COUNT]
    found = {n: [collapsed(Column(a, n), out) for a in aspects] for n in counts}
    _write([r for results in found.values() for r in results], out)
    pictures.draw_collapse(list(found.values())[::-1], out)
    return {
        f"{n} grains": {
            "exponents": exponents(results),
            "columns": [r.attrs | {"run_out_lube": float(lube(r.attrs["aspect"]))} for r in results],
        }
        for n, results in found.items()
    }


def _repose(out: Path, options: ColumnStudy) -> dict:
    cases = QUICK_FRICTIONS if options.quick else FRICTIONS
    column = Column(REPOSE, QUICK_COUNT if options.quick else options.grains)
    results = [collapsed(column, out, *case) for case in cases]
    _write(results, out)
    pictures.draw_repose(results, out)
    return {"heaps": [r.attrs for r in results]}


def _write(results: list[xr.Dataset], out: Path) -> None:
    for i, result in enumerate(results):
        result.assign_attrs(provenance()).to_netcdf(
            out / "result.nc", mode="a" if i else "w", group=f"column_{i}", engine="h5netcdf"
        )


STAGES = {"collapse": _collapse, "repose": _repose}
