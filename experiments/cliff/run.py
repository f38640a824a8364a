"""`difsim cliff`: a block of soil that collapses (Schäfer et al. 2017, Fig. 1), and what its heap tells of the soil."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import xarray as xr

from experiments.cliff import cohesive, collapse, derivatives, inverse, pictures, posterior, profile
from experiments.cliff.measurements import load_measurements, points
from experiments.cliff.scene import PAPER_SOUND, ROWS, Cliff
from experiments.harness import Found, Study

FitName = Literal["exact", "synthetic", "three", "experiment"]
QUICK_ROWS, COARSE_ROWS, HALF_ROWS = 8, 10, ROWS // 2


@dataclass
class CliffStudy(Study):
    """A block of soil that collapses: its heap against the experiment's, and the soil from the heap."""

    stage: Literal[
        "collapse", "paper", "convergence", "cohesive", "inverse", "derivatives", "steps", "profile"
    ] = "collapse"
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
    posterior: bool = False
    """Of "inverse": the posterior of all three unknowns too, by the surfaces of the fits three and experiment."""

    def __post_init__(self):
        if self.rows is not None:
            Cliff.build(self.rows)
        if self.posterior and self.stage != "inverse":
            raise ValueError(f"--posterior belongs to --stage inverse, not {self.stage}")

    def inputs(self) -> list[Path]:
        """The digitised points, where there are any."""
        return super().inputs() + points()

    def rows_or(self, usual: int) -> int:
        """The rows asked for, those of a smoke test, or the usual ones."""
        return self.rows or (QUICK_ROWS if self.quick else usual)


def _one(options: CliffStudy, out: Path, sound: float | None) -> Found:
    result = collapse.collapse(options.rows_or(ROWS), sound, out)
    figures = pictures.draw(result, load_measurements())
    return Found(collapse.judge(result, load_measurements()), {"result": result}, figures, report="collapse")


def _convergence(options: CliffStudy, out: Path) -> Found:
    rows = options.rows_or(ROWS)
    sizes = rows // 2, rows, 2 * rows
    results = {f"{n} rows": collapse.collapse(n, None, out, collapse.STANDS) for n in sizes}
    return _compare(results, "The heap's surface at three spacings")


def _steps(options: CliffStudy, out: Path) -> Found:
    rows = options.rows_or(HALF_ROWS)
    results = {
        name: collapse.collapse(rows, None, out, solver=solver) for name, solver in collapse.solvers().items()
    }
    return _compare(results, "The heap's surface by four rules of the step")


def _inverse(options: CliffStudy, out: Path) -> Found:
    fall = inverse.Fall(options.rows_or(COARSE_ROWS), inverse.QUICK if options.quick else collapse.STANDS)
    found = inverse.fits(fall, options.fits, out)
    return posterior.add_posteriors(found, fall, out, options.quick) if options.posterior else found


def _compare(results: dict[str, xr.Dataset], title: str) -> Found:
    return Found(
        collapse.compare(results, load_measurements()),
        {name.replace(" ", "_"): result for name, result in results.items()},
        {"surfaces": pictures.draw_compared(results, load_measurements(), title)},
        report="compared",
    )


CliffStudy.stages = {
    "collapse": lambda options, out: _one(options, out, None),
    "paper": lambda options, out: _one(options, out, PAPER_SOUND),
    "convergence": _convergence,
    "cohesive": lambda options, out: cohesive.stand(out, options.rows_or(HALF_ROWS)),
    "inverse": _inverse,
    "steps": _steps,
    "profile": lambda options, out: profile.explain(out, options.rows_or(ROWS), load_measurements()),
    "derivatives": lambda options, out: derivatives.compare(options.rows_or(COARSE_ROWS), options.quick),
}
