"""`difsim foot`: a sole pushed into a bed of regolith, beside the reduced law of a sole."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

from difsim.stepping import CourantStep, Status, advance, describe, start
from experiments.foot.scene import LAW, RADIUS, Foot
from experiments.records import record
from experiments.style import BLACK, BLUE, GREEN, ORANGE, STYLE

COURANT = 0.65
SAMPLES = 120
BIN = 6  # samples that are averaged: particles push in turn
FITTED = 0.25, 0.75  # of the depth: past the first touch, which a kernel smears


@dataclass
class FootStudy:
    """A rigid sole that goes down in a bed of regolith at constant speed: its force against its penetration."""

    dimension: Literal[2, 3] = 2
    """2: a strip in plane strain; 3: a disc."""
    spacing: float = 0.01
    """Distance of the particles, m; the sole is .2 m wide."""
    speeds: tuple[float, ...] = (0.25, 0.5, 1.0)
    """m/s."""
    depth: float = 0.08
    """Where it ends, m: well above the floor at .27 m."""
    softening: float = 1.0
    """What the modulus (25 MPa) is divided by: for slow runs, whose strength does not depend on it."""
    alpha: float = 0.3
    """Of the artificial viscosity, which resists too: by ρ α c h v/R, about."""
    out: Path | None = None
    """Folder for summary.json and the picture (results/foot/DIMENSION)."""
    quick: bool = False
    """A smoke test. Its answer is not to be quoted."""

    def __post_init__(self):
        if self.quick:
            self.dimension, self.spacing, self.speeds, self.depth = 2, 0.03, (1.0,), 0.02
        if min(self.speeds, default=0.0) <= 0:
            raise ValueError(f"--speeds {self.speeds} m/s must be positive")
        if not 0 < self.depth < float(LAW.thickness):
            raise ValueError(
                f"--depth {self.depth} m must be above 0 and below the layer's {float(LAW.thickness)} m"
            )


def run(options: FootStudy) -> None:
    """Push at each speed, fit what the force is made of, write and draw."""
    foot = Foot.of(options.dimension, options.spacing)
    record(
        options.out or Path("results/foot") / str(options.dimension),
        partial(_pushed, foot, options),
        dimension=options.dimension,
        spacing_m=options.spacing,
        particles=foot.position.shape[1],
        sole_m2=foot.area,
        softening=options.softening,
        alpha=options.alpha,
    )


def _pushed(foot: Foot, options: FootStudy, out: Path) -> dict[str, Any]:
    curves = {speed: push(foot, options, speed) for speed in options.speeds}
    draw(out / "force.png", foot, curves)
    return parts(foot, curves, options.depth) | {
        "curves": {f"{v:g} m/s": [z.tolist(), f.tolist()] for v, (z, f) in curves.items()}
    }


def push(foot: Foot, options: FootStudy, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Penetration m and upward force N (N/m in the plane), averaged over some samples each."""
    model = foot.model(speed, options.softening, options.alpha)
    sole = model.tools[-1]
    force = eqx.filter_jit(lambda p: model.force(p.motion, p.neighbours.made(p.motion.state.position), sole)[-1])
    end = (options.depth - foot.penetration(speed, 0.0)) / speed
    times = np.linspace(0.0, end, SAMPLES + 1)[1:]
    progress, forces = start(model, foot.state(model)), []
    for t in tqdm(times, desc=f"{speed:g} m/s, {foot.position.shape[1]} particles"):
        progress = advance(model, progress, jnp.asarray(t), CourantStep(COURANT), jnp.asarray(10**6))
        if progress.status != Status.OK:
            raise ValueError(describe(progress))
        forces.append(float(force(progress)))
    mean = [np.reshape(x, (-1, BIN)).mean(axis=1) for x in (foot.penetration(speed, times), forces)]
    return mean[0], mean[1]


def law(z: Any, speed: float) -> Any:
    """The reduced law's force on a disc at plastic penetration `z` m and `speed` m/s, N: flow() solved for it."""

    def one(z):
        area = np.pi * RADIUS**2
        pressure = LAW.bearing_pressure(z, jnp.asarray(RADIUS))
        c1 = area * LAW.grain_diameter / RADIUS * jnp.sqrt(LAW.grain_density * pressure) + LAW.viscosity
        c2 = 8 / 3 * LAW.friction * LAW.bulk_density * area
        return area * pressure + c1 * speed + c2 * speed**2

    return jax.vmap(one)(jnp.asarray(z))


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
