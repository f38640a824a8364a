"""`difsim foot`: a sole pushed into a bed of regolith, beside the reduced law of a sole."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import matplotlib
import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

from difsim.stepping import Courant, failure, initialise, simulate
from experiments.foot import calibrate, grains, thrown
from experiments.foot.footpads import WIDTH
from experiments.foot.scene import COURANT, LAW, RADIUS, Foot, law
from experiments.records import record
from experiments.style import BLACK, BLUE, GREEN, ORANGE, STYLE

SAMPLES = 120
BIN = 6  # samples that are averaged: particles push in turn
FITTED = 0.25, 0.75  # of the depth: past the first touch, which a kernel smears


@dataclass
class FootStudy:
    """A rigid sole in a bed of regolith, its force against its penetration, beside the reduced law."""

    stage: Literal["push", "throw", "grains", "calibrate"] = "push"
    """"push": into SPH at constant speed; "throw": with a lander's mass on it, until it stands; "grains": thrown
    into grains; "calibrate": into grains of soils all over the inversion's box, for the law's factor."""
    dimension: Literal[2, 3] = 2
    """2: a strip in plane strain; 3: a disc."""
    spacing: float = 0.01
    """Distance of the particles, m; the sole is 0.2 m wide."""
    speeds: tuple[float, ...] = (0.25, 0.5, 1.0)
    """m/s."""
    depth: float = 0.08
    """Where a push ends, m: well above the floor at 0.27 m."""
    load: float = 510.0
    """Mass over area of what is thrown, kg/m²: of Philae's 96 kg on six soles."""
    softening: float = 1.0
    """What the modulus (25 MPa) is divided by: for slow runs, whose strength does not depend on it."""
    alpha: float = 0.3
    """Of the artificial viscosity, which resists too: by ρ α c h v/R, about."""
    grains: tuple[float, ...] = (0.04, 0.025)
    """Diameters of the grains, m, each a bed of its own."""
    width: float = WIDTH
    """Of the drum of grains, m."""
    cohesion: float = float(LAW.cohesion)
    """Of the grains, Pa: the reduced law's, or 0 for dry ones."""
    out: Path | None = None
    """Folder for summary.json and the picture (results/foot/STAGE/DIMENSION, results/foot/STAGE in grains)."""
    quick: bool = False
    """A smoke test. Its answer is not to be quoted."""

    def __post_init__(self):
        if self.quick:
            self.dimension, self.spacing, self.speeds, self.depth = 2, 0.03, (1.0,), 0.02
            self.grains, self.width = (
                (0.05,),
                0.48,
            )  # calibrated in 0.36 m too: a sole 5 cm off both ways just fits
        if min(self.speeds, default=0.0) <= 0:
            raise ValueError(f"--speeds {self.speeds} m/s must be positive")
        if self.load <= 0:
            raise ValueError(f"--load {self.load} kg/m2 must be positive")
        if min(self.grains, default=0.0) <= 0 or self.cohesion < 0:
            raise ValueError(
                f"--grains {self.grains} m must be positive, --cohesion {self.cohesion} Pa at least 0"
            )
        if self.width <= 2 * RADIUS:
            raise ValueError(f"--width {self.width} m must be more than the sole's, {2 * RADIUS} m")
        if not 0 < self.depth < float(LAW.thickness):
            raise ValueError(
                f"--depth {self.depth} m must be above 0 and below the layer's {float(LAW.thickness)} m"
            )


def run(options: FootStudy) -> None:
    """Push or throw at each speed, write and draw."""
    STAGES[options.stage](options)


def _in_sph(work: Any, options: FootStudy) -> None:
    foot = Foot.of(options.dimension, options.spacing)
    record(
        options.out or Path("results/foot") / options.stage / str(options.dimension),
        partial(work, foot, options),
        stage=options.stage,
        dimension=options.dimension,
        spacing_m=options.spacing,
        particles=foot.position.shape[1],
        sole_m2=foot.area,
        softening=options.softening,
        alpha=options.alpha,
    )


def _in_grains(options: FootStudy) -> None:
    record(
        options.out or Path("results/foot/grains"),
        partial(_thrown_at_grains, options),
        stage=options.stage,
        width_m=options.width,
        cohesion_Pa=options.cohesion,
        load_kg_m2=options.load,
    )


def _pushed(foot: Foot, options: FootStudy, out: Path) -> dict[str, Any]:
    curves = {speed: push(foot, options, speed) for speed in options.speeds}
    draw(out / "force.png", foot, curves)
    return parts(foot, curves, options.depth) | {
        "curves": {f"{v:g} m/s": [z.tolist(), f.tolist()] for v, (z, f) in curves.items()}
    }


def _thrown(foot: Foot, options: FootStudy, out: Path) -> dict[str, Any]:
    results = {}
    for speed in options.speeds:
        results[speed] = thrown.throw(foot, speed, options.load, options.softening, options.alpha)
        results[speed].to_netcdf(out / f"{speed:g}_m_s.nc", engine="h5netcdf")
    thrown.draw(out / "thrown.png", results)
    return {f"{speed:g} m/s": thrown.judge(result) for speed, result in results.items()}


def _thrown_at_grains(options: FootStudy, out: Path) -> dict[str, Any]:
    found, results = {}, {}
    for diameter in options.grains:
        bed = grains.settled(diameter, options.width, options.cohesion)
        found[f"{100 * diameter:g} cm"] = {"grains": bed.grains.radius.size, **bed.figures._asdict()}
        for speed in options.speeds:
            said = f"{100 * diameter:g} cm, {speed:g} m/s"
            results[said] = grains.throw(bed, speed, options.load)
            results[said].to_netcdf(out / f"{100 * diameter:g}_cm_{speed:g}_m_s.nc", engine="h5netcdf")
            found[said] = grains.judge(results[said])
    grains.draw(out / "grains.png", results)
    return found


def _calibrated(options: FootStudy) -> None:
    record(
        options.out or Path("results/foot/calibrate"),
        partial(calibrate.run, width=options.width, quick=options.quick),
        stage=options.stage,
        width_m=options.width,
    )


STAGES = {
    "push": partial(_in_sph, _pushed),
    "throw": partial(_in_sph, _thrown),
    "grains": _in_grains,
    "calibrate": _calibrated,
}


def push(foot: Foot, options: FootStudy, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Penetration m and upward force N (N/m in the plane), averaged over some samples each."""
    model = foot.model(speed, options.softening, options.alpha)
    footpad = model.tools[-1]
    force = eqx.filter_jit(
        lambda p: model.force(p.motion, p.neighbours.updated(p.motion.state.position), footpad)[-1]
    )
    end = (options.depth - foot.penetration(speed, 0.0)) / speed
    times = np.linspace(0.0, end, SAMPLES + 1)[1:]
    progress, forces = initialise(model, foot.state(model)), []
    for t in tqdm(times, desc=f"{speed:g} m/s, {foot.position.shape[1]} particles"):
        run = simulate(model, progress, [t], solver=Courant(COURANT), save=lambda _: (), throw=False)
        if not run.ok:
            raise ValueError(failure(run))
        progress = run.progress
        forces.append(float(force(progress)))
    mean = [np.reshape(x, (-1, BIN)).mean(axis=1) for x in (foot.penetration(speed, times), forces)]
    return mean[0], mean[1]


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


def draw(path: Path, foot: Foot, curves: dict[float, tuple[np.ndarray, np.ndarray]]) -> None:
    """Pressure on the sole against its penetration, with the reduced law of a disc."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.5, 4.2), layout="constrained")
        axis = figure.subplots()
        for (speed, (z, force)), colour in zip(curves.items(), (BLUE, GREEN, ORANGE, BLACK), strict=False):
            axis.plot(z * 100, force / foot.area / 1e3, color=colour, label=f"SPH, {speed:g} m/s")
            if len(foot.position) == 3:
                below = z[z > 0]
                axis.plot(below * 100, law(below, speed) / (np.pi * RADIUS**2) / 1e3, ":", color=colour)
        axis.set(xlabel="penetration, cm", ylabel="force over area, kPa", title="Dotted: the reduced law")
        axis.legend(frameon=False)
        figure.savefig(path)
