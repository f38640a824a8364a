"""The motion and the readings of a contact by draws of its posterior: as a dataset, and as a picture."""

from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE
from experiments.contact.case import Case
from experiments.contact.cubics import Cubics
from experiments.contact.model import Model, build_sensor
from experiments.contact.world import Motion
from experiments.variables import describe

TIMES = 200


class Course(eqx.Module):
    """The motion of a draw at equal times until its stop, and its readings by the clock of the sensor."""

    model: Model

    def __call__(self, p: Mapping[str, Array]) -> dict[str, Array]:
        motion = self.model.fall(p)
        found = trace(motion)
        if "series" in self.model.measured:
            sensor = build_sensor(p)
            found["reading"] = sensor.clip(sensor.sense(motion, self.model.clock))
            found["noise"] = sensor.noise
        return found


@jax.jit
def trace(motion: Motion) -> dict[str, Array]:
    """Time, depth and specific force of a motion, at TIMES equal times until its stop."""
    time = jnp.linspace(0.0, motion.time[-1], TIMES)
    force = Cubics.through(motion.time, motion.specific_force, motion.specific_force_rate)
    at = jnp.minimum(time, motion.time[-1] * (1 - 1e-9))  # the cubic that begins at the stop is empty
    return {"time": time, "depth": jax.vmap(motion.depth_at)(at), "specific_force": jax.vmap(force)(at)}


def dataset(
    case: Case, course: Mapping[str, Array], seen: Mapping[str, Float[np.ndarray, "draws k"]]
) -> xr.Dataset:
    """Motions of draws and of the best fit, and the series with its fit.

    **Arguments:** `case`; `course` of the best fit; `seen`: those of draws. **Returns:** the dataset.
    """
    units = {"time": "s", "depth": "m", "specific_force": "m/s2"}
    data = {f"drawn_{k}": (("draw", "step"), seen[k], {"units": u}) for k, u in units.items()}
    data |= {f"best_{k}": ("step", np.asarray(course[k]), {"units": u}) for k, u in units.items()}
    if case.series is not None:
        observed = case.data["series"]
        noise, value = float(course["noise"]), np.asarray(observed.value)
        data |= {
            "reading": ("clock", value, {"units": "m/s2"}),
            "is_clipped": ("clock", np.asarray(observed.noise.beyond) != 0),
            "best_reading": ("clock", np.asarray(course["reading"]), {"units": "m/s2"}),
            "residual": ("clock", (value - np.asarray(course["reading"])) / noise, {"units": "1"}),
            "clock": ("clock", np.asarray(case.series.times), {"units": "s"}),
        }
    for name in [k for k in ("depth", "duration") if k in case.data.names]:
        known = case.data[name]
        ends = np.asarray(known.value) + np.array([-1, 1]) * np.asarray(known.sigma)
        data[f"measured_{name}"] = (
            "end",
            ends,
            {"units": known.unit, "long_name": f"{name} less and plus its sigma"},
        )
    return describe(xr.Dataset(data), names={"clock": "time by the clock of the sensor"})


def draw(result: xr.Dataset, title: str, shown_by: str) -> Figure:
    """The series with fit and residuals, where there is one; depth and specific force against time.

    **Arguments:** `result` of `dataset`; `title`; `shown_by`, the title of the motions. **Returns:** the figure.
    """
    has_series = "reading" in result
    figure = Figure(figsize=(9.0, 4.6 if has_series else 3.6), layout="constrained")
    figure.suptitle(title)
    left, right = figure.subfigures(1, 2, width_ratios=(1.3, 1)) if has_series else (None, figure)
    if has_series:
        axes = left.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
        draw_series(axes, result)
    depth, force = right.subplots(2, 1, sharex=True) if has_series else right.subplots(1, 2)
    faint = max(0.05, min(0.5, 10 / result.sizes["draw"]))
    for i in range(result.sizes["draw"]):
        one = result.isel(draw=i)
        depth.plot(1e3 * one["drawn_time"], 1e2 * one["drawn_depth"], color=BLUE, alpha=faint, linewidth=0.8)
        force.plot(1e3 * one["drawn_time"], one["drawn_specific_force"], color=BLUE, alpha=faint, linewidth=0.8)
    depth.plot(1e3 * result["best_time"], 1e2 * result["best_depth"], color=BLACK, label="best fit")
    force.plot(1e3 * result["best_time"], result["best_specific_force"], color=BLACK)
    if "measured_depth" in result:
        depth.axhspan(*1e2 * result["measured_depth"].values, color=ORANGE, alpha=0.4, label="measured, 1 sigma")
    if "measured_duration" in result:
        for ax in (depth, force):
            ax.axvspan(*1e3 * result["measured_duration"].values, color=ORANGE, alpha=0.4)
    depth.invert_yaxis()
    depth.set(ylabel="depth, cm", title=shown_by)
    force.set(xlabel="time from touch, ms", ylabel="force over mass, m/s²")
    depth.legend(frameon=False, fontsize=8)
    return figure


def draw_packings(result: xr.Dataset, measured: dict[str, dict[str, float]]) -> Figure:
    """Depth and speed of a plate in grains of each packing and friction, and what was measured, with 2 sigma."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    colours = dict(zip(dict.fromkeys(result["packing"].values.tolist()), (ORANGE, GREEN, BLUE), strict=False))
    for ax, (name, unit) in zip(figure.subplots(1, 2), (("depth", "m"), ("speed", "m/s")), strict=True):
        for i in range(result.sizes["run"]):
            one = result.isel(run=i)
            packing, friction = str(one["packing"].values), float(one["friction"])
            label = f"{packing} ({float(one['solid_fraction']):.2f}), friction {friction:g}"
            style = "-" if friction == result["friction"].values.max() else "--"
            ax.plot(one["time"], one[name], style, color=colours[packing], label=label)
        if name in measured:
            at = measured[name]
            ax.errorbar(
                at["time_s"],
                at["value"],
                2 * at["sigma"],
                fmt="o",
                color=BLACK,
                capsize=3,
                label="quoted, 2 sigma",
            )
        ax.set(xlabel="time from touch, s", ylabel=f"{name}, {unit}", ylim=(0, None))
    figure.axes[1].legend(frameon=False, fontsize=7)
    return figure


def draw_series(axes: tuple[Axes, Axes], result: xr.Dataset) -> None:
    """Readings with the fit, and what is left in standard deviations."""
    series, rest = axes
    clock, clipped = 1e3 * result["clock"].values, result["is_clipped"].values
    for ax, name in ((series, "reading"), (rest, "residual")):
        ax.plot(clock[~clipped], result[name].values[~clipped], ".", color=BLUE, markersize=3, label="reading")
        if clipped.any():
            ax.plot(clock[clipped], result[name].values[clipped], ".", color=ORANGE, markersize=3, label="clipped")
    series.plot(clock, result["best_reading"], color=BLACK, linewidth=1.0, label="best fit")
    rest.axhline(0.0, color=GREY, linewidth=0.8)
    series.set(ylabel="reading, m/s²", title="Series and best fit")
    rest.set(xlabel="time by the clock of the sensor, ms", ylabel="residual / noise")
    series.legend(frameon=False, fontsize=8)
