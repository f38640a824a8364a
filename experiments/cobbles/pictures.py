"""The pictures of the stages impact and design, from result.nc alone."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE
from experiments.cobbles.through import RESTITUTION

COLOURS = {1: BLUE, 2: ORANGE, 3: GREEN}


def draw_impact(result: xr.Dataset) -> Figure:
    """The results of one fit and two arcs, and fits of the nominal case."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    figure.suptitle(f"{result.attrs['cobble']}: one fit through the impact, and the paper's two arcs")
    ratio, fits = figure.subplots(1, 2)
    angles = result["inclination"].values
    ratio.semilogy(angles, result["two_arcs_energy_ratio_sigma"], "s-", color=ORANGE, label="CoR_E, two arcs")
    ratio.semilogy(angles, result["two_arcs_restitution_sigma"], "s--", color=ORANGE, label="e, two arcs")
    ratio.semilogy(angles, result["energy_ratio_sigma"], "o-", color=BLUE, label="CoR_E, through the impact")
    ratio.semilogy(angles, result["restitution_sigma"], "o--", color=BLUE, label="e, through the impact")
    ratio.set(xlabel="α [deg]", ylabel="standard deviation", title="predicted, at 1 px", xticks=angles)
    ratio.legend(frameon=False)
    best = result.isel(start=result["misfit"].argmin("start"))
    e, sigma = best["fit"].values[:, RESTITUTION], best["fit_sigma"].values[:, RESTITUTION]
    fits.errorbar(np.arange(len(e)), e, yerr=1.96 * sigma, fmt="o", color=BLUE, markersize=3, linewidth=0.8)
    fits.axhline(float(result["truth"][RESTITUTION]), color=BLACK, linewidth=0.8)
    fits.set(
        xticks=[], xlabel="fit", ylabel="e", title="nominal case: fits to noisy pixels, ± 1.96 σ; line: truth"
    )
    return figure


def draw_design(result: xr.Dataset) -> Figure:
    """Cameras and markers before and after, and the standard deviation of e by each design."""
    figure = Figure(figsize=(11, 7), layout="constrained")
    figure.suptitle(f"{result.attrs['cobble']}: cameras, markers and release by the gradient of ln σ(e)")
    top, bottom = figure.subfigures(2, 1)
    wall, sigma = top.subplots(1, 2)
    _cameras(wall, result)
    _sigma(sigma, result)
    for axis, which in zip(bottom.subplots(1, 3), result["scenario"].values, strict=True):
        _markers(axis, result, int(which))
    return figure


def _cameras(axis, result: xr.Dataset) -> None:
    """On their walls, with lines to what they look at: hollow as in the paper, filled as designed by all."""
    for i, which in enumerate(result["scenario"].values):
        for name, filled in (("paper", False), ("all", True)):
            for x, y, u, v in result["cameras"].sel(scenario=which, design=name).values:
                face = COLOURS[which] if filled else "white"
                axis.plot([x, u], [y, v], "-" if filled else ":", color=COLOURS[which], linewidth=0.8)
                axis.plot(x, y, "o", color=COLOURS[which], markerfacecolor=face, markersize=9 - 2 * i)
    axis.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="cameras, where they look; hollow: paper")


def _sigma(axis, result: xr.Dataset) -> None:
    names = result["design"].values
    for which in result["scenario"].values:
        row = result.sel(scenario=which)
        axis.semilogy(names, row["restitution"], "o-", color=COLOURS[which], label=f"scenario {which}")
        axis.semilogy(names, row["uncalibrated"], "s--", color=COLOURS[which], markersize=4)
    axis.set(title="σ(e) by what is free; dashed: calibration, markers unknown", ylabel="σ(e)")
    axis.legend(frameon=False)


def _markers(axis, result: xr.Dataset, which: int) -> None:
    """Markers of both bodies in their frames, seen along z."""
    for name, colour in (("paper", GREY), ("all", COLOURS[which])):
        places = 1e3 * result["markers"].sel(scenario=which, design=name).values
        for body, symbol in zip(places, ("o", "^"), strict=True):
            size = 30 + body[:, 2]  # nearer to us is larger
            axis.scatter(body[:, 0], body[:, 1], s=np.maximum(size, 5), marker=symbol, color=colour, alpha=0.7)
    axis.set(xlabel="x [mm]", ylabel="y [mm]", aspect="equal", title=f"markers, scenario {which}; grey: before")
