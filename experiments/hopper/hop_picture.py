"""The picture of the hop, from result.nc alone."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from difsim.plot.style import BLUE, GREY, ORANGE, RED


def draw(result: xr.Dataset) -> Figure:
    """Range against the wheel's momentum with its derivative; the hop to the target; the two searches."""
    figure = Figure(figsize=(13, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _range(left, result)
    _flight(middle, result)
    _searches(right, result)
    return figure


def _range(ax: Axes, result: xr.Dataset) -> None:
    h, r, slope = 1e3 * result["momentum"].values, result["range"].values, 1e-3 * result["slope"].values
    ax.plot(
        h, result["closed_form"], color=GREY, linewidth=1, label="closed form: rigid cube, wheel stopped at once"
    )
    ax.plot(h, r, ".", color=BLUE, label="simulated")
    d = 0.025 * np.array([-1, 1]) * (h[-1] - h[0])
    shown = np.flatnonzero(result["valid"].values)[:: max(1, len(h) // 10)]
    ax.plot(h[shown] + d[:, None], r[shown] + slope[shown] * d[:, None], color=RED)
    ax.plot([], [], color=RED, label="derivative")
    ax.set_ylim(min(0.0, 1.1 * r.min()), 1.1 * max(r.max(), result["closed_form"].values.max()))
    ax.set(xlabel="angular momentum of the wheel [mN m s]", ylabel="distance of the first touch [m]")
    ax.set_title("Range over an edge")
    ax.legend(frameon=False)


def _flight(ax: Axes, result: xr.Dataset) -> None:
    path, target = result["path"].values, result.attrs["target_m"]
    along = path[:, :2] @ target / np.linalg.norm(target)
    ax.plot(along, path[:, 2], color=BLUE)
    away = float(np.linalg.norm(target))
    ax.plot(away, 0.0, "*", color=RED, markersize=12)
    ax.annotate("target ", (away, 0.0), ha="right", va="center", xytext=(-6, 0), textcoords="offset points")
    ax.set(xlabel="along the ground towards the target [m]", ylabel="height of the centre [m]")
    ax.set_title("The hop found")


def _searches(ax: Axes, result: xr.Dataset) -> None:
    sigma = 100 * result.attrs["sigma_m"]
    misses = sigma * result["misfit"].values ** 0.5, sigma * result["misfit_evolution"].values ** 0.5
    counts = np.arange(len(misses[0])) + 1, result.attrs["population"] * (np.arange(len(misses[1])) + 1)
    for x, y, label, colour, style in zip(
        counts, misses, ("gradient", "evolution"), (BLUE, ORANGE), "os", strict=True
    ):
        ax.loglog(x, y, style + "-", color=colour, label=label, markersize=3)
    ax.axhline(sigma, color=GREY, linewidth=0.8, linestyle=":", label="σ of the target")
    ax.set(
        xlabel="simulations (gradient: iterations, each with derivative)", ylabel="distance from the target [cm]"
    )
    ax.set_title("Miss of the target")
    ax.legend(frameon=False)
