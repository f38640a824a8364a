"""`difsim cliff`: a block of soil that collapses (paper 002, Fig. 1), and what its heap tells of the soil."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from experiments.cliff import cohesive, collapse, derivatives, inverse, pictures, profile
from experiments.cliff.measured import measured
from experiments.cliff.scene import PAPER_SOUND, ROWS, Cliff
from experiments.records import provenance, record

StageName = Literal["collapse", "paper", "convergence", "cohesive", "inverse", "derivatives", "steps", "profile"]
FitName = Literal["exact", "synthetic", "three", "experiment"]
QUICK_ROWS, COARSE_ROWS, HALF_ROWS = 8, 10, ROWS // 2


@dataclass
class CliffStudy:
    """A block of soil that collapses: its heap against the experiment's, and the soil from the heap."""

    stage: StageName = "collapse"
    """"collapse": a second of it with the soil's own sound speed in the viscosity; "paper": with the paper's
    600 m/s; "convergence": until it stands, at double, own and half spacing; "cohesive": of 300 and 1000 Pa,
    with and without corrections of the sums over pairs; "inverse": friction, cohesion and stiffness from the
    surface; "derivatives": until when they agree with finite differences;
    "steps": the collapse by Courant's steps and by the paper's, which keep an error;
    "profile": how well each of seven frictions explains the measured surface."""
    rows: int | None = None
    """Particles in the block's height: the paper's 38; 19 for cohesive, steps; 10 for inverse, derivatives."""
    fits: tuple[FitName, ...] = ("exact", "synthetic", "three", "experiment")
    """Of "inverse": friction from a synthetic surface, from one with noise, all three unknowns from that, and
    friction from the experiment's surface (without its digitised points this one is left out)."""
    out: Path | None = None
    """Folder for summary.json, result.nc and the pictures (results/cliff/STAGE)."""
    quick: bool = False
    """A smoke test: 8 rows. Its answer is not to be quoted."""

    def __post_init__(self):
        if self.rows is not None:
            Cliff.of(self.rows)


def run(options: CliffStudy) -> None:
    """Run one stage; it writes its tables and pictures, and hands back what it found."""
    out = options.out or Path("results/cliff") / options.stage
    record(out, lambda folder: STAGES[options.stage](folder, options), stage=options.stage, quick=options.quick)


def _rows(options: CliffStudy, usual: int) -> int:
    return options.rows or (QUICK_ROWS if options.quick else usual)


def _one(out: Path, options: CliffStudy, sound: float | None) -> dict:
    result = collapse.collapse(_rows(options, ROWS), sound, out)
    _write(result, out)
    pictures.draw(result, measured(), out)
    return collapse.judge(result, measured())


def _convergence(out: Path, options: CliffStudy) -> dict:
    rows = _rows(options, ROWS)
    sizes = rows // 2, rows, 2 * rows
    results = {f"{n} rows": collapse.collapse(n, None, out, collapse.STANDS) for n in sizes}
    return _compared(out, results, "The heap's surface at three spacings")


def _steps(out: Path, options: CliffStudy) -> dict:
    rows = _rows(options, HALF_ROWS)
    results = {
        name: collapse.collapse(rows, None, out, solver=solver) for name, solver in collapse.solvers().items()
    }
    return _compared(out, results, "The heap's surface by four rules of the step")


def _compared(out: Path, results: dict, title: str) -> dict:
    for name, result in results.items():
        _write(result, out, f"{name.replace(' ', '_')}.nc")
    pictures.draw_compared(results, measured(), out, title)
    return collapse.compare(results, measured())


def _write(result, out: Path, name: str = "result.nc") -> None:
    result.assign_attrs(provenance()).to_netcdf(out / name, engine="h5netcdf")


STAGES = {
    "collapse": lambda out, options: _one(out, options, None),
    "paper": lambda out, options: _one(out, options, PAPER_SOUND),
    "convergence": _convergence,
    "cohesive": lambda out, options: cohesive.run(out, _rows(options, HALF_ROWS)),
    "inverse": lambda out, options: inverse.run(out, _rows(options, COARSE_ROWS), options.fits, options.quick),
    "steps": _steps,
    "profile": lambda out, options: profile.run(out, _rows(options, ROWS), measured()),
    "derivatives": lambda out, options: derivatives.run(out, _rows(options, COARSE_ROWS), options.quick),
}
