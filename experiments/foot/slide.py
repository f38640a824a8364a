"""A plate that is drawn sideways through the soil, beside the reduced law of the soil in front of a footpad."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREEN, ORANGE
from difsim.sph.corrections import GradientCorrection
from experiments.foot.scene import LAW, LAYERS, RADIUS, SIDE, Foot, fill_box, measure_forces

BEGINS, PATH, SETTLED = -0.3, 0.12, 0.04  # m: from the middle of the bed; of the plate; after the start
SAMPLES, BIN = 60, 5
Curve = tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]  # path, m, and pressure, Pa


def build_plate(spacing: float, deep: float) -> Foot:
    """A bed in the plane with a plate in it, from two layers above the surface to `deep` m below it."""
    bed, box = fill_box(2, SIDE[2] * RADIUS, float(LAW.thickness), spacing)
    rows, first = max(1, round(deep / spacing)), round(BEGINS / spacing)
    plate = np.stack(np.meshgrid(first + np.arange(LAYERS), np.arange(-rows, 2), indexing="ij")).reshape(2, -1)
    ahead, up = bed / spacing
    is_free = (ahead < first) | (ahead > first + LAYERS) | (up < -rows)
    bed = bed[:, is_free]
    return Foot(spacing, bed.shape[1], box.shape[1], np.concatenate([bed, box, (plate + 0.5) * spacing], axis=1))


def slide(plate: Foot, deep: float, speed: float, softening: float, alpha: float) -> dict[str, np.ndarray]:
    """The `path` m of a plate and the mean `pressure` Pa in front of it, averaged over some samples each."""
    model = plate.model(speed, softening, alpha)
    ahead = jnp.array([speed, 0.0])
    model = eqx.tree_at(
        lambda m: (m.tools[-1].path.velocity, m.corrections), model, (ahead, (GradientCorrection(),))
    )
    times = np.linspace(0.0, PATH / speed, SAMPLES + 1)[1:]
    forces = measure_forces(model, plate.state(model), times, f"{speed:g} m/s")[:, 0]
    path, pressure = (np.reshape(x, (-1, BIN)).mean(axis=1) for x in (speed * times, -forces / deep))
    return {"path": path, "pressure": pressure}


def law_pressure(speed: float) -> float:
    """The pressure of the reduced law on what slides at `speed` m/s, Pa."""
    return float(LAW.ploughing_pressure(jnp.array([speed, 0.0, 0.0])))


def fit_drag(curves: dict[float, Curve]) -> dict[str, float]:
    """A pressure of a strength and a drag ρ_d v², fitted to the settled parts of all paths, beside the law's."""
    law = {"law_strength_Pa": law_pressure(0.0), "law_drag_kg_m3": float(LAW.drag)}
    if len(curves) < 2:
        return law
    means = [pressure[path > SETTLED].mean() for path, pressure in curves.values()]
    drag, strength = np.polyfit(np.square(list(curves)), means, 1)
    return {"strength_Pa": strength, "drag_kg_m3": drag} | law


def draw(curves: dict[float, Curve]) -> Figure:
    """Pressure on the plate along its path, with the reduced law."""
    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    axis = figure.subplots()
    for (speed, (path, pressure)), colour in zip(curves.items(), (BLUE, GREEN, ORANGE, BLACK), strict=False):
        axis.plot(path * 100, pressure / 1e3, color=colour, label=f"SPH, {speed:g} m/s")
        axis.axhline(law_pressure(speed) / 1e3, color=colour, linestyle=":")
    axis.set(xlabel="path, cm", ylabel="force over area, kPa", ylim=(0, None), title="Dotted: the reduced law")
    axis.legend(frameon=False)
    return figure
