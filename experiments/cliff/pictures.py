"""The pictures of the collapse, from its tables alone."""

from collections.abc import Mapping

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY
from experiments.cliff.measurements import Measured
from experiments.cliff.scene import HEIGHT, WIDTH

SHOWN = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)  # s
VIEW = (-0.005, 0.5)  # m
LEAST = 1e-4  # m: the shortest way that has a colour of its own


def draw(result: xr.Dataset, known: Measured) -> dict[str, Figure]:
    """The collapse beside the measured points (Fig. 1), snapshots of it, and its energy."""
    return {
        "collapse": _final(result, known),
        "snapshots": _snapshots(result),
        "energy": _energy(result),
    }


def _dots(ax: Axes, result: xr.Dataset, time: float) -> PathCollection:
    place = result["position"].sel(time=time, method="nearest").values
    far = np.hypot(*(place - result["position"].values[0]))
    # A dot as wide as the spacing: what is left white is empty.
    inches = ax.get_position().width * ax.figure.get_figwidth() / (VIEW[1] - VIEW[0])
    size = (result.attrs["spacing_m"] * inches * 72) ** 2
    norm = matplotlib.colors.LogNorm(LEAST, 0.3)
    return ax.scatter(*place, c=np.maximum(far, LEAST), s=size, norm=norm, cmap="viridis", linewidths=0)


def _frame(ax: Axes) -> None:
    ax.plot([0, WIDTH, WIDTH], [HEIGHT, HEIGHT, 0], color=GREY, lw=0.8, ls=":")
    ax.axhline(0, color=BLACK, lw=1)
    ax.axvline(0, color=BLACK, lw=1)
    ax.set(xlim=VIEW, ylim=(-0.004, 0.115))
    ax.set_aspect("equal")


def _final(result: xr.Dataset, known: Measured) -> Figure:
    figure = Figure(figsize=(10, 3.2))
    ax = figure.add_axes((0.06, 0.13, 0.84, 0.72))
    dots = _dots(ax, result, float(result["time"][-1]))
    last = result.isel(time=-1)
    ax.plot(last["x"], last["surface"], color=ORANGE, lw=1.5, label="surface, simulated")
    ax.plot(*known.surface.T, "o", ms=4, mfc="white", mec=RED, mew=1.2, label="surface, measured")
    ax.plot(result["column"], result["failure"], color=SKY, lw=1.5, label="moved by 2 mm, simulated")
    ax.plot(*known.failure.T, "s", ms=4, mfc="white", mec=PINK, mew=1.2, label="failure surface, measured")
    _frame(ax)
    ax.set(
        xlabel="distance from the wall [m]",
        ylabel="height [m]",
        title=f"{result.sizes['particle']} particles after {float(result['time'][-1]):g} s; sound speed in the "
        f"viscosity {result.attrs['viscosity_sound_m_s']:.0f} m/s (dotted: the block at the start)",
    )
    ax.legend(frameon=False, loc="upper right")
    figure.colorbar(dots, cax=figure.add_axes((0.915, 0.2, 0.012, 0.55)), label="distance moved [m]")
    return figure


def _snapshots(result: xr.Dataset) -> Figure:
    shown = [t for t in SHOWN if t <= float(result["time"][-1])]
    lines = -(-len(shown) // 2)
    figure = Figure(figsize=(10, 1.5 * lines + 0.3))
    axes = figure.subplots(lines, 2, squeeze=False, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.06, right=0.9, bottom=0.11, top=0.94, hspace=0.3, wspace=0.06)
    for ax in axes.ravel()[len(shown) :]:
        ax.set_visible(False)
    for ax, time in zip(axes.ravel(), shown, strict=False):
        dots = _dots(ax, result, time)
        _frame(ax)
        ax.set_title(f"{time:g} s")
    for ax in axes[-1]:
        ax.set_xlabel("distance from the wall [m]")
    for ax in axes[:, 0]:
        ax.set_ylabel("height [m]")
    figure.colorbar(dots, cax=figure.add_axes((0.915, 0.25, 0.012, 0.5)), label="distance moved [m]")
    return figure


def _energy(result: xr.Dataset) -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    ax = figure.subplots()
    time = result["time"].values
    potential = result["potential"].values - result["potential"].values[-1]
    kinetic, elastic = result["kinetic"].values, result["elastic"].values
    lost = potential[0] + kinetic[0] + elastic[0] - potential - kinetic - elastic
    for values, name, colour in (
        (potential, "potential, above the end's", BLUE),
        (kinetic, "kinetic", GREEN),
        (elastic, "elastic", PINK),
        (lost, "lost to friction and viscosity", ORANGE),
    ):
        ax.plot(time, values, color=colour, label=name)
    ax.set(xlabel="time [s]", ylabel="energy [J per m of width]", xlim=(0, time[-1]))
    ax.set_title("Where the fall's energy goes")
    ax.legend(frameon=False)
    return figure


def draw_compared(results: Mapping[str, xr.Dataset], known: Measured, title: str) -> Figure:
    """The surfaces of several runs, and how far each is from the measured points."""
    figure = Figure(figsize=(10, 6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    x, y = known.surface.T
    upper.plot(x, y, "o", ms=4, mfc="white", mec=BLACK, label="measured")
    for (name, result), colour in zip(results.items(), (ORANGE, BLUE, GREEN, PINK), strict=False):
        last = result.isel(time=-1)
        upper.plot(last["x"], last["surface"], color=colour, label=name)
        lower.plot(x, 1e3 * (np.interp(x, last["x"], last["surface"]) - y), "o-", ms=3, color=colour)
    lower.axhspan(-2, 2, color="#EEEEEE", zorder=0)
    upper.set(ylabel="height of the surface [m]", xlim=(0, 0.48), title=title)
    lower.set(xlabel="distance from the wall [m]", ylabel="here - measured [mm]")
    lower.set_title("Grey: what the measured points resolve", fontweight="normal")
    upper.legend(frameon=False)
    return figure
