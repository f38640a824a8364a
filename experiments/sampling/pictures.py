"""Pictures of the brush runs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from difsim import Solution
from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY
from experiments.sampling.collect import PAPER_COLLECTS, PAPER_ENTERS
from experiments.sampling.scene import BED, TRAY, Scene

COLOURS = (BLUE, ORANGE, GREEN, RED, SKY, PINK, BLACK, GREY, "#8C6D31")


def draw_collected(runs: Mapping[str, Mapping[str, Any]]) -> Figure:
    """The area in the tray against time, as the paper's Figs 5 and 8-11, of Earth and of Phobos.

    Triangles above: when the first particles enter in the paper; circles: its area at 1 s.
    """
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    for axis, place, title in zip(figure.subplots(1, 2), "EP", ("Earth", "Phobos"), strict=True):
        shown = sorted(name for name in runs if name.startswith(place))
        for name, colour in zip(shown, COLOURS, strict=False):
            time, area = (np.asarray(runs[name][key]) for key in ("time_s", "tray_cm2"))
            said = name if area.any() else f"{name}: nothing"
            axis.plot(time, area, color=colour, label=said, lw=1.5 if area.any() else 0.0)
            if name in PAPER_COLLECTS:
                axis.plot(1.0, PAPER_COLLECTS[name], "o", ms=6, mfc="none", color=colour, clip_on=False)
        axis.set(title=title, xlabel="time, s", ylabel="regolith in the tray, cm²")
        axis.set_xlim(0.0, None)
        axis.set_ylim(0.0, None)
        above = axis.get_xaxis_transform()
        for time in sorted({PAPER_ENTERS[name] for name in shown if name in PAPER_ENTERS}):
            names = ", ".join(name for name in shown if PAPER_ENTERS.get(name) == time)
            axis.plot(time, 1.0, "v", ms=6, color=GREY, transform=above, clip_on=False)
            axis.text(time, 1.02, names, fontsize=8, ha="center", va="bottom", transform=above)
        if shown:
            axis.legend(ncols=2, frameon=False)
    return figure


def draw_snapshots(name: str, scene: Scene, run: Solution) -> Figure:
    """The bed by its speed, and the tools, at four instants."""
    soil = scene.bed.shape[1]
    speeds = np.linalg.norm(run.states.velocity[:, :, :soil], axis=1)
    chosen = np.linspace(0, run.times.size, 5).astype(int)[1:] - 1
    # A root: what the brushes throw and what they only stir shall both be seen.
    shades = PowerNorm(0.5, 0.0, max(float(np.quantile(speeds[chosen], 0.999)), 1e-3))
    size = (scene.spacing / 0.0018) ** 2 * 2.0
    side = BED[0] * 60
    figure = Figure(figsize=(11, 8), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    for axis, i in zip(axes.ravel(), chosen, strict=True):
        x, y = run.states.position[i] * 100
        dots = axis.scatter(x[:soil], y[:soil], c=speeds[i], s=size, norm=shades, cmap="viridis", linewidths=0)
        axis.scatter(x[soil:], y[soil:], color=RED, s=size, linewidths=0)
        axis.set(
            title=f"{name}, {run.times[i]:.2f} s",
            aspect="equal",
            xlim=(-side, side),
            ylim=(-BED[1] * 115, TRAY[1] * 270),
        )
    for axis in axes[1]:
        axis.set_xlabel("cm")
    for axis in axes[:, 0]:
        axis.set_ylabel("cm")
    figure.colorbar(dots, ax=axes, label="speed, m/s", shrink=0.6)
    return figure
