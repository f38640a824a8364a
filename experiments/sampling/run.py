"""`difsim sampling`: brushes that shovel regolith into a tray, on Earth and on Phobos (Schäfer et al. 2017)."""

from collections import ChainMap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import matplotlib
import numpy as np
import tyro
import xarray as xr
from matplotlib.figure import Figure

from difsim.declarations import Quantity
from difsim.plot.style import STYLE
from experiments.harness import Found, Study
from experiments.sampling.collect import collect, motion, orderings
from experiments.sampling.pictures import draw_collected, draw_snapshots
from experiments.sampling.scene import CASES, CONTACT, Scene
from experiments.sampling.sensitivity import Design, runs, sensitivity
from inversion.progress import Bar
from inversion.sweeps import compute_parts

CaseName = Literal["E0", "E1", "E2", "E3", "P0", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8"]
SAMPLES = 100  # instants a second that are kept


@dataclass
class Sampling(Study):
    """Two brushes over a bed of regolith: what gets into the tray, and when."""

    stage: Literal["cases", "sensitivity"] = "cases"
    """"cases": runs of the paper's Table 1; "sensitivity": what the collected area hangs on, from many runs."""
    cases: tuple[CaseName, ...] = tuple(CASES)
    """Which runs; each device takes one at a time."""
    pairs: int = 16
    """Pairs of runs for the sensitivity."""
    spacing: Annotated[float, tyro.conf.arg(metavar="M")] = 0.0018
    """Distance of the particles, m: below 3 mm. The kernel's support is 2.5 times that (3 mm in the paper)."""
    softening: float = 1.0
    """The divisor of the paper's bulk modulus: a run with 4 takes 1.6 times fewer steps."""
    until: Annotated[float, tyro.conf.arg(metavar="S")] = 1.0
    """End of the runs, s."""

    cluster_stages = ("cases", "sensitivity")

    def __post_init__(self):
        if self.quick:
            self.spacing, self.until, self.pairs = 0.0028, 0.02, 4


def _cases(options: Sampling, out: Path) -> Found:
    times = np.linspace(0.0, options.until, max(round(SAMPLES * options.until), 2) + 1)
    given = options.spacing, options.softening, times, out.resolve()
    tasks = {name: partial(_case, i, name, *given) for i, name in enumerate(options.cases)}
    with ThreadPoolExecutor(len(jax.local_devices())) as threads:
        made = compute_parts(tasks, executor=options.executor or threads)
    found, figures, data = zip(*made.values(), strict=True)
    runs = dict(zip(options.cases, found, strict=True))
    figures = ChainMap(*figures, {"collected": draw_collected(runs)})
    return Found({"orderings": orderings(runs), "runs": runs}, ChainMap(*data), figures)


def _case(
    i: int, name: str, spacing: float, softening: float, times: np.ndarray, out: Path
) -> tuple[dict[str, Any], dict[str, Figure], dict[str, xr.Dataset]]:
    case, mark, devices = CASES[name], f"{name}_{spacing * 1e3:g}mm", jax.local_devices()
    scene = Scene.build(case, spacing)
    with Bar(name, times.size) as bar, jax.default_device(devices[i % len(devices)]):
        evolution, found = collect(case, scene, softening, times, out / f"{mark}.run", lambda _: bar.advance())
    with matplotlib.rc_context(STYLE):  # also in a worker
        return found, {mark: draw_snapshots(name, scene, evolution)}, {mark: motion(scene, evolution)}


def _sensitivity(options: Sampling, out: Path) -> Found:
    # Only the end counts; the instants before it are where an interrupted run goes on.
    times = np.linspace(0.0, options.until, 11)
    design = Design.draw(options.pairs, options.spacing)
    tasks = runs(design, options.spacing, options.softening, times, out)
    made = compute_parts(tasks, executor=options.executor, label="runs")
    return Found(sensitivity(design, list(made.values())))


Sampling.ranges = {
    "spacing": Quantity("m", "distance of particles", gt=0, lt=CONTACT, usual=(5e-4, 3e-3), slip="mm"),
    "softening": Quantity("", "factor by which the soil is softer", ge=1, usual=(1, 20)),
    "until": Quantity("s", "duration", gt=0, usual=(0.01, 10), slip="ms"),
}
Sampling.stages = {"cases": _cases, "sensitivity": _sensitivity}
