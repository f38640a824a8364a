"""Pictures of columns that collapse, and of heaps."""

import numpy as np
import xarray as xr
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.ticker import FixedLocator, NullLocator

from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PINK, RED, SKY
from experiments.column.collapse import lube

COLOURS = BLUE, ORANGE, GREEN, RED, PINK, SKY
AT_REST = 0.01  # of the energy of the fall, which single grains that roll away may still have


def draw_collapse(scales: list[list[xr.Dataset]]) -> Figure:
    """Cuts through one column at four times; heaps of all; run-out against aspect ratio, by size of the grains."""
    figure = Figure(figsize=(10, 6.2), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[0.6, 1])
    fine = scales[0]
    _cuts(above, fine[len(fine) // 2])
    heaps, trend = below.subplots(1, 2)
    _heaps(heaps, scales)
    _trend(trend, scales)
    return figure


def _cuts(figure, result: xr.Dataset) -> None:
    a, frames = result.attrs, result.sizes["time"]
    shown = [0, *(round(share * (frames - 1)) for share in (0.15, 0.3, 1.0))]
    wide = 1.15 * a["front_m"]
    for ax, i in zip(figure.subplots(1, 4, sharey=True), shown, strict=True):
        place, radius = result["position"].values[i], result["radius"].values
        cut = np.abs(place[1]) < radius
        half = np.sqrt(radius[cut] ** 2 - place[1, cut] ** 2)  # of the circle in which the plane y = 0 cuts it
        discs = [Circle(p, r) for p, r in zip(place[::2, cut].T, half, strict=True)]
        ax.add_collection(PatchCollection(discs, facecolor=PALE, edgecolor=GREY, linewidth=0.4))
        ax.axhline(0, color=BLACK, linewidth=0.8)
        ax.set(xlim=(-wide, wide), ylim=(-0.02 * wide, 1.1 * a["column_height_m"]), aspect="equal", xlabel="x (m)")
        ax.locator_params(axis="x", nbins=4)
        ax.set_title(f"{float(result['time'][i]):.2f} s")
    figure.axes[0].set_ylabel("z (m) at y = 0")


def _heaps(ax, scales: list[list[xr.Dataset]]) -> None:
    for results, line, marker in zip(scales, ("-", "--"), ("v", "1"), strict=False):
        for colour, result in zip(COLOURS, results, strict=False):
            a = result.attrs
            label = f"a = {a['aspect']:.2g}, {a['grains']} grains"
            r, height = (result[k] / a["radius_m"] for k in ("r", "height"))
            ax.plot(r, height, line, color=colour, label=label)
            ax.plot(a["front_m"] / a["radius_m"], 0, marker, color=colour, clip_on=False, zorder=5)
    ax.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
    ax.set(
        xlim=(0, 6), ylim=(0, None), xlabel="r / r₀ (dotted: initial radius; symbols: front)", ylabel="height / r₀"
    )
    ax.set_title("Final heaps")
    ax.legend(frameon=False)


def _trend(ax, scales: list[list[xr.Dataset]]) -> None:
    a = np.geomspace(0.4, 10, 200)
    ax.loglog(a, lube(a), color=BLACK, linewidth=1, label="experiments: 1.24 a, 1.6 √a (Lube 2004)")
    for results, marker, colour in zip(scales, "os", (BLUE, ORANGE), strict=False):
        at = [r.attrs["aspect"] for r in results]
        label = f"{results[0].attrs['grains']} grains"
        ax.loglog(at, [r.attrs["run_out"] for r in results], marker, color=colour, label=label)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(FixedLocator([0.5, 1, 2, 3, 5, 10]))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())
    ax.set(xlabel="aspect ratio a = h₀/r₀", ylabel="run-out (r∞ − r₀)/r₀")
    ax.set_title("Run-out")
    ax.legend(frameon=False)


def draw_repose(results: list[xr.Dataset]) -> Figure:
    """Heaps by friction and by resistance to rolling, and the slopes of their flanks."""
    frictions, rollings = (sorted({r.attrs[k] for r in results}) for k in ("friction", "rolling"))
    colours = dict(zip(frictions, COLOURS, strict=False))
    lines = dict(zip(rollings, (":", "--", "-"), strict=False))
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    heaps, slopes = figure.subplots(1, 2)
    for result in results:
        a = result.attrs
        colour, label = colours[a["friction"]], f"μ = {a['friction']:g}, C/R = {a['rolling']:g}"
        r, height = (result[k] / a["diameter_m"] for k in ("r", "height"))
        heaps.plot(r, height, lines[a["rolling"]], color=colour, label=label)
        filled = colour if a["kinetic_left"] < AT_REST else "none"
        slopes.plot(a["friction"], a["slope_deg"], "o", color=colour, markerfacecolor=filled, zorder=3)
    for rolling in rollings:
        at = sorted((r.attrs["friction"], r.attrs["slope_deg"]) for r in results if r.attrs["rolling"] == rolling)
        slopes.plot(*zip(*at, strict=True), lines[rolling], color=GREY, label=f"C/R = {rolling:g}")
    heaps.set(xlim=(0, 45), ylim=(0, None), xlabel="r (grain diameters)", ylabel="height (grain diameters)")
    heaps.set_title("Final heaps")
    heaps.legend(frameon=False)
    slopes.set(xlim=(0, 0.9), ylim=(0, 30), xlabel="friction coefficient μ", ylabel="slope of the flank (°)")
    slopes.set_title("Slopes (open: still flows when the run ends)")
    slopes.legend(frameon=False)
    return figure
