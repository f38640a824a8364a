"""`difsim foot`: a sole pushed into a bed of regolith, beside the reduced law of a sole."""

import re
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from difsim.declarations import Quantity
from difsim.plot.style import BLACK, BLUE, GREEN, ORANGE
from experiments.foot import calibrate, grains, slide, throws
from experiments.foot.footpads import WIDTH
from experiments.foot.scene import LAW, RADIUS, Foot, law, measure_forces
from experiments.harness import Found, Study
from inversion import Checkpoint

SAMPLES = 120
BIN = 6  # samples that are averaged: particles push in turn
FITTED = 0.25, 0.75  # of the depth: past the first touch, which a kernel smears


@dataclass
class FootStudy(Study):
    """A rigid sole in a bed of regolith, its force against its penetration, beside the reduced law."""

    stage: Literal["push", "slide", "throw", "grains", "calibrate"] = "push"
    """"push": into SPH at constant speed; "slide": a plate sideways through it, in plane strain; "throw": with a
    lander's mass on it, until it stands; "grains": thrown into grains; "calibrate": into grains of soils all over the
    inversion's box, for the law's factor."""
    dimension: Literal[2, 3] = 2
    """2: a strip in plane strain; 3: a disc."""
    spacing: float = 0.01
    """Distance of the particles, m; the sole is 0.2 m wide."""
    speeds: tuple[float, ...] = (0.25, 0.5, 1.0)
    """m/s."""
    depth: float = 0.08
    """Where a push ends and a plate reaches, m: well above the floor at 0.27 m."""
    load: float = 510.0
    """Mass over area of what is thrown, kg/m²: of Philae's 96 kg on six soles."""
    softening: float = 1.0
    """The divisor of the modulus (25 MPa): for slow runs, whose strength does not depend on it."""
    alpha: float = 0.3
    """Of the artificial viscosity, which resists too: by ρ α c h v/R, about."""
    grains: tuple[float, ...] = (0.04, 0.025)
    """Diameters of the grains, m, each a bed of its own."""
    width: float = WIDTH
    """Of the drum of grains, m."""
    cohesion: float = float(LAW.cohesion)
    """Of the grains, Pa: the reduced law's, or 0 for dry ones."""

    cluster_stages = ("calibrate",)

    def __post_init__(self):
        if self.quick:
            self.dimension, self.spacing, self.speeds, self.depth = 2, 0.03, (1.0,), 0.02
            self.grains = (0.05,)
            self.width = 0.48  # calibrated in 0.36 m too: a sole 5 cm off both ways just fits
        if not self.speeds or not self.grains:
            raise ValueError("--speeds and --grains need one number or more")
        if self.width <= 2 * RADIUS:
            raise ValueError(f"--width {self.width} m must be more than the sole's, {2 * RADIUS} m")
        if self.depth >= float(LAW.thickness):
            raise ValueError(f"--depth {self.depth} m must be below the layer's {float(LAW.thickness)} m")

    def checkpoint(self, out: Path) -> Checkpoint:
        """The pushes or throws that were finished, one by one, with these options."""
        others = "out", "cluster", "keep_checkpoint", "speeds"
        options = {k: v for k, v in asdict(self).items() if k not in others}
        return Checkpoint(out / "runs.checkpoint", options)

    def folder(self, stage: str) -> Path:
        """One for each dimension of a bed of SPH."""
        dimension = str(self.dimension) if stage in ("push", "throw") else ""
        return self.out or Path("results/foot") / stage / dimension


def _push(options: FootStudy, out: Path) -> Found:
    foot = Foot.build(options.dimension, options.spacing)
    kept = options.checkpoint(out)
    curves = {v: kept.get_or(f"{v}", partial(push, foot, options, v)) for v in options.speeds}
    curves = {v: (found["penetration"], found["force"]) for v, found in curves.items()}
    pairs = {f"{v:g} m/s": [z.tolist(), f.tolist()] for v, (z, f) in curves.items()}
    found = _sizes(foot) | parts(foot, curves, options.depth) | {"curves": pairs}
    return Found(found, figures={"force": draw(foot, curves)})


def _slide(options: FootStudy, out: Path) -> Found:
    plate, kept = slide.build_plate(options.spacing, options.depth), options.checkpoint(out)
    pull = partial(slide.slide, plate, options.depth, softening=options.softening, alpha=options.alpha)
    found = {v: kept.get_or(f"{v}", partial(pull, speed=v)) for v in options.speeds}
    curves = {v: (each["path"], each["pressure"]) for v, each in found.items()}
    pairs = {f"{v:g} m/s": [x.tolist(), p.tolist()] for v, (x, p) in curves.items()}
    sizes = {"particles": plate.position.shape[1]}
    return Found(sizes | slide.fit_drag(curves) | {"curves": pairs}, figures={"slide": slide.draw(curves)})


def _throw(options: FootStudy, out: Path) -> Found:
    foot = Foot.build(options.dimension, options.spacing)
    kept, results = options.checkpoint(out), {}
    for v in options.speeds:
        throw = partial(throws.throw, foot, v, options.load, options.softening, options.alpha)
        results[f"{v:g} m/s"] = throws.load_or_make(kept, f"{v}", throw)
    found = _sizes(foot) | {said: throws.judge(result) for said, result in results.items()}
    titles = "An impact, and then bearing", "Most of it is lost in the impact"
    return Found(found, _name_files(results), {"thrown": throws.draw(results, titles)})


def _name_files(results: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """The tables of throws by the names of their files."""
    return {re.sub(", |[ /]", "_", said): result for said, result in results.items()}


def _sizes(foot: Foot) -> dict[str, Any]:
    return {"particles": foot.position.shape[1], "sole_m2": foot.area}


def _throw_at_grains(options: FootStudy, out: Path) -> Found:
    kept, found, results = options.checkpoint(out), {}, {}
    for diameter in options.grains:
        bed = grains.settle(diameter, options.width, options.cohesion)
        found[f"{100 * diameter:g} cm"] = {"grains": bed.grains.radius.size, **bed.figures._asdict()}
        for speed in options.speeds:
            said = f"{100 * diameter:g} cm, {speed:g} m/s"
            throw = partial(grains.throw, bed, speed, options.load)
            results[said] = throws.load_or_make(kept, f"{diameter}_{speed}", throw)
            found[said] = grains.judge(results[said])
    return Found(found, _name_files(results), {"grains": grains.draw(results)})


FootStudy.ranges = {
    "spacing": Quantity("m", "distance of particles", gt=0, le=0.2, usual=(2e-3, 0.05), slip="mm"),
    "speeds": Quantity("m/s", "speed of the footpad", gt=0, usual=(0.01, 10), slip="cm/s"),
    "depth": Quantity("m", "depth of the stroke", gt=0, usual=(0.01, 1), slip="mm"),
    "load": Quantity("kg/m²", "mass over the footpad's area", gt=0, usual=(10, 1e4), slip="g/cm²"),
    "softening": Quantity("", "factor by which the soil is softer", ge=1, usual=(1, 100)),
    "alpha": Quantity("", "artificial viscosity", ge=0, le=10, usual=(0, 2)),
    "grains": Quantity("m", "diameter of grains", gt=0, usual=(0.01, 0.1), slip="mm"),
    "width": Quantity("m", "width of the bed", ge=0.2, usual=(0.3, 3), slip="cm"),
    "cohesion": Quantity("Pa", "cohesion of the soil", ge=0, usual=(0, 1e4)),
}
FootStudy.stages = {
    "push": _push,
    "slide": _slide,
    "throw": _throw,
    "grains": _throw_at_grains,
    "calibrate": lambda options, out: calibrate.calibrate(
        out, options.width, options.executor, quick=options.quick
    ),
}


def push(foot: Foot, options: FootStudy, speed: float) -> dict[str, np.ndarray]:
    """The `penetration` m and the upward `force` N (N/m in the plane), averaged over some samples each."""
    model = foot.model(speed, options.softening, options.alpha)
    end = (options.depth - foot.penetration(speed, 0.0)) / speed
    times = np.linspace(0.0, end, SAMPLES + 1)[1:]
    forces = measure_forces(model, foot.state(model), times, f"{speed:g} m/s")[:, -1]
    mean = [np.reshape(x, (-1, BIN)).mean(axis=1) for x in (foot.penetration(speed, times), forces)]
    return {"penetration": mean[0], "force": mean[1]}


def parts(foot: Foot, curves: dict[float, tuple[np.ndarray, np.ndarray]], depth: float) -> dict[str, Any]:
    """N/A = q + q' z + d ρ v² by least squares over all speeds, beside the law's own fitted alike (in space)."""
    rows, seen, known = [], [], []
    for speed, (z, force) in curves.items():
        fitted = (z >= FITTED[0] * depth) & (z <= FITTED[1] * depth)
        rows += [(1.0, at, float(LAW.bulk_density) * speed**2) for at in z[fitted]]
        seen += list(force[fitted] / foot.area)
        known += list(np.asarray(law(z[fitted], speed)) / (np.pi * RADIUS**2))
    design = np.array(rows)
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return {}
    names = ("bearing_Pa", "bearing_rise_Pa_per_m", "drag_coefficient")
    found = {"sph": dict(zip(names, np.linalg.lstsq(design, np.array(seen))[0].tolist(), strict=True))}
    if len(foot.position) == 3:
        found["law"] = dict(zip(names, np.linalg.lstsq(design, np.array(known))[0].tolist(), strict=True))
    return found


def draw(foot: Foot, curves: dict[float, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Pressure on the sole against its penetration, with the reduced law of a disc."""
    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    axis = figure.subplots()
    for (speed, (z, force)), colour in zip(curves.items(), (BLUE, GREEN, ORANGE, BLACK), strict=False):
        axis.plot(z * 100, force / foot.area / 1e3, color=colour, label=f"SPH, {speed:g} m/s")
        if len(foot.position) == 3:
            below = z[z > 0]
            axis.plot(below * 100, law(below, speed) / (np.pi * RADIUS**2) / 1e3, ":", color=colour)
    axis.set(xlabel="penetration, cm", ylabel="force over area, kPa", title="Dotted: the reduced law")
    axis.legend(frameon=False)
    return figure
