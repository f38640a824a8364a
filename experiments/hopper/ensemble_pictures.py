"""The picture of an ensemble, from result.nc alone."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from difsim import Status, plot
from difsim.plot.style import BLACK, BLUE, GREY, ORANGE

UNITS = {"rest_east": "m", "rest_north": "m", "off_centre": "m", "settling_time": "s"}
INPUTS = {"log_rolling": "rolling resistance", "centre_x": "centre of mass, x", "centre_z": "centre of mass, z"}
TITLES = {
    "rest_east": "place of rest, east",
    "rest_north": "place of rest, north",
    "off_centre": "distance from the centre",
    "settling_time": "settling time",
}


def draw(result: xr.Dataset) -> Figure:
    """Where the members rest, when, and how both change with the inputs."""
    figure = Figure(figsize=(12, 10), layout="constrained")
    status = result["status"].values
    settled = status == Status.OK
    failed = ", ".join(f"{np.sum(status == s)} {Status(int(s)).name}" for s in np.unique(status[~settled]))
    figure.suptitle(f"{len(status)} releases over Imhotep: {settled.sum()} at rest; {failed or 'none failed'}")
    upper, lower = figure.subfigures(2, 1, height_ratios=(1.1, 1))
    where, when = upper.subplots(1, 2)
    _draw_places(where, result.isel(case=settled))
    _draw_times(when, result["settling_time"].values[settled] / 60)
    panels = lower.subplots(1, len(UNITS), sharey=True)
    panels[0].invert_yaxis()
    for ax, output in zip(panels, UNITS, strict=True):
        _sensitivity(ax, result.sel(output=output), output)
    return figure


def _draw_places(ax: Axes, result: xr.Dataset) -> None:
    places = np.stack([result["rest_east"], result["rest_north"]], axis=1)
    plot.landing_ellipse(places, ax=ax, c=result["settling_time"] / 60, cmap="viridis")
    ax.figure.colorbar(ax.collections[0], ax=ax, label="settling time [min]")
    ax.plot(0, 0, "x", color=BLACK, markersize=8, label="site below the release")
    ax.legend(frameon=False, loc="lower right")


def _draw_times(ax: Axes, minutes: np.ndarray) -> None:
    ax.hist(minutes, bins=min(40, max(5, len(minutes) // 8)), color=BLUE)
    for q in (5, 50, 95):
        at = np.percentile(minutes, q)
        ax.axvline(at, color=BLACK, linewidth=0.8, linestyle="--")
        ax.text(at, ax.get_ylim()[1], f" {q} %", va="top")
    low, middle, high = np.percentile(minutes, (5, 50, 95))
    ax.set(xlabel="settling time [min]", ylabel="number of hoppers")
    ax.set_title(f"median {middle:.0f} min, 90 % between {low:.0f} and {high:.0f} min")


def _sensitivity(ax: Axes, row: xr.Dataset, output: str) -> None:
    at = np.arange(row.sizes["input"])
    for name, shift, colour in (("regression", -0.15, BLUE), ("smoothed", 0.15, ORANGE)):
        error = 2 * row[f"{name}_error"]
        ax.errorbar(
            row[name], at + shift, xerr=error, fmt="o", color=colour, markersize=3, linewidth=1, label=name
        )
    ax.axvline(0.0, color=GREY, linewidth=0.8)
    ax.set_yticks(at, [INPUTS.get(str(k), str(k).replace("_", " ")) for k in row["input"].values])
    ax.set_xlabel(f"change by 1 σ [{UNITS[output]}], ± 2 errors")
    ax.set_title(TITLES[output])
    if output == "rest_east":
        ax.legend(frameon=False, fontsize=7)
