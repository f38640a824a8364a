"""The pictures of derivatives through grains, and of what stands in for them."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE


def draw(result: xr.Dataset) -> Figure:
    """The ball's speed; how far the derivative of its path is from differences; and the
    derivatives of the mean, with their standard errors."""
    time, names = 1e3 * result["time"].values, result["parameter"].values
    figure = Figure(figsize=(12, 6.2), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True)
    one, apart = axes[:, 0]
    one.plot(time, result["speed"], color=BLACK, label="one ball")
    one.plot(time, result["mean_speed"], color=BLUE, label="mean of the ensemble")
    one.axhline(0.0, color=GREY, lw=0.6)
    one.set(ylabel="upward speed, m/s", title="A ball thrown into grains")
    one.legend(frameon=False)
    for step, colour in zip(result["step"].values, (BLUE, GREEN, ORANGE, BLACK), strict=True):
        other = result["difference"].sel(step=step)
        off = np.abs(result["forward"] - other) / np.abs(other)
        apart.semilogy(time, off.median("parameter"), color=colour, label=f"± {step:g}")
    apart.axhline(0.1, color=GREY, lw=0.6)
    apart.set(xlabel="time, ms", ylabel="off by (median of 4)", title="One path's derivative from differences")
    apart.legend(frameon=False)
    for axis, name in zip(axes[:, 1:].ravel(), names, strict=True):
        one = result.sel(parameter=name)
        axis.plot(time, one["forward"], ":", color=GREY, label="one path")
        for kind, colour in (("pathwise", ORANGE), ("smoothed", BLUE)):
            axis.errorbar(time, one[kind], 2 * one[f"{kind}_error"], color=colour, capsize=2, label=kind)
        size = np.max(np.abs(one["smoothed"].values) + 2 * one["smoothed_error"].values)
        axis.set(ylim=(-1.6 * size, 1.6 * size), title=f"by ln {name}", ylabel="m/s")
    axes[1, 1].set(xlabel="time, ms")
    axes[1, 2].set(xlabel="time, ms")
    axes[0, 1].legend(frameon=False)
    return figure


def draw_friction(result: xr.Dataset) -> Figure:
    """The depths of five balls in grains of each friction, and the friction that was found from them."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    truths = np.unique(result["truth"])
    for truth, colour in zip(truths, (BLUE, GREEN, ORANGE), strict=True):
        of = result.isel(throw=np.flatnonzero(result["truth"].values == truth))
        label = [f"friction {truth:g}"] + [""] * (of.sizes["throw"] - 1)
        left.plot(of["speed"], 1e3 * of["depth"].T, ".-", color=colour, label=label)
        number = np.flatnonzero(result["truth"].values == truth)
        right.errorbar(number, of["found"], 1.96 * of["sigma"], fmt="o", color=colour, capsize=3)
        right.plot(number, of["truth"], color=BLACK, lw=1.0)
    left.set(xlabel="speed, m/s", ylabel="depth, mm", title="Depth of a ball of 25 mm in grains of 5 mm")
    left.legend(frameon=False)
    right.set(xlabel="five throws", ylabel="friction", title="Found from five depths, 95 %, and true (lines)")
    return figure


def draw_exponents(result: xr.Dataset) -> Figure:
    """Depth and duration of slow impacts against speed, in three gravities."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    axes = figure.subplots(1, 2)
    for gravity, colour in zip(np.unique(result["gravity"]), (BLUE, GREEN, ORANGE), strict=True):
        of = result.isel(throw=np.flatnonzero(result["gravity"].values == gravity))
        for axis, name in zip(axes, ("depth", "duration"), strict=True):
            axis.loglog(of["speed"], 1e3 * of[name], ".", color=colour, label=f"{gravity:g} m/s²")
    axes[0].set(xlabel="speed, m/s", ylabel="depth, mm", title="Depth of a ball of 25 mm in grains of 5 mm")
    axes[1].set(xlabel="speed, m/s", ylabel="duration, ms", title="From the first touch to a tenth of the speed")
    for axis in axes:
        for direction in (axis.xaxis, axis.yaxis):
            direction.set_minor_formatter(ScalarFormatter())
            direction.set_major_formatter(ScalarFormatter())
    axes[0].legend(frameon=False)
    return figure


def draw_published(depths: xr.Dataset) -> Figure:
    """Depths against the published formula."""
    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    axis = figure.subplots()
    formula, mean = 1e3 * depths["formula"].values, 1e3 * depths["depth"].mean("place").values
    bars = 1e3 * np.nan_to_num(depths["depth"].std("place", ddof=1).values)
    for friction, colour in zip(np.unique(depths["friction"]), (BLACK, BLUE, GREEN, ORANGE), strict=False):
        at, label = depths["friction"].values == friction, f"friction {friction:g}"
        axis.errorbar(formula[at], mean[at], bars[at], fmt="o", color=colour, capsize=2, label=label)
    end = 1.1 * max(formula.max(), mean.max())
    axis.plot([0.0, end], [0.0, end], color=GREY, lw=0.8)
    axis.set(xlabel="depth by the formula, mm", ylabel="depth in grains, mm", title="Ball in grains of 5 mm")
    axis.legend(frameon=False)
    return figure


def draw_codes(result: xr.Dataset, codes: dict[float, tuple[float, float]]) -> Figure:
    """The height of a ball in each bed beside what seven codes give, with 2 sigma."""
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    axis = figure.subplots()
    times = 1e3 * np.array(list(codes))
    seen, sigma = 1e3 * np.array(list(codes.values())).T
    axis.errorbar(times, seen, 2 * sigma, fmt="o", color=BLACK, capsize=3, label="seven codes, 2 sigma")
    time, height = 1e3 * result["time"], 1e3 * result["height"]
    axis.plot(time, height[0].T, color=BLUE, lw=1.0)
    axis.plot([], [], color=BLUE, lw=1.0, label=f"ours {height['case'].values[0]}, each bed")
    for case in height[1:]:
        axis.plot(time, case.mean("bed"), color=ORANGE, lw=1.0, label=str(case["case"].values))
    axis.set(
        xlabel="time, ms", ylabel="height of the ball, mm", title="Ball of 20 mm at 5 m/s (Dosta et al. 2024)"
    )
    axis.legend(frameon=False)
    return figure


def draw_katsuragi(result: xr.Dataset, rows: dict[str, dict[str, Any]], size_label: str) -> Figure:
    """d₁ and k/m by the friction at each size, which `size_label` names in mm, and stopping times at the best one."""
    figure = Figure(figsize=(12, 3.9), layout="constrained")
    axes = figure.subplots(1, 3)
    constants, stops = [*rows.values()][:2], [*rows.values()][2:]
    shown = ("length", "d₁, cm", 100.0), ("stiffness", "k/m, 1/s²", 1.0)
    for axis, row, (name, label, scale) in zip(axes, constants, shown, strict=False):
        for size, colour in zip(result["size"].values, (ORANGE, GREEN, BLUE), strict=False):
            of = scale * result[name].sel(size=size)
            axis.plot(result["friction"], of, ".", color=colour)
            axis.plot(result["friction"], of.mean("place"), color=colour, label=size_label.format(1e3 * size))
        value, error = scale * row["published"], scale * row["error_of_published"]
        axis.axhspan(value - 2 * error, value + 2 * error, color=GREY, alpha=0.4, label="published, 2 sigma")
        axis.set(xlabel="friction", ylabel=label)
    axes[0].legend(frameon=False)
    ours = 1e3 * np.array([row["found"] for row in stops])
    unsure = ours * [
        np.linalg.norm([row["u_size"], row["u_friction"], row["u_input"], row["scatter"]]) for row in stops
    ]
    axes[2].errorbar(result["speed"], ours, 2 * unsure, fmt="o", color=BLUE, capsize=3, label="ours, 2 sigma")
    given = 1e3 * np.array([[row["published"], 2 * row["error_of_published"]] for row in stops]).T
    axes[2].errorbar(result["speed"], *given, fmt="s", color=BLACK, capsize=3, label="the published law")
    axes[2].set(xlabel="speed, m/s", ylabel="stopping time, ms", title="Not fitted", ylim=(0, None))
    axes[2].legend(frameon=False)
    return figure


def draw_descent(result: xr.Dataset) -> Figure:
    """The surface's distance from the data over both unknowns with what was found, and the descent."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    over, along = figure.subplots(1, 2)
    drawn = over.contourf(
        result["restitution"], result["friction"], np.log10(result["distance"]), 12, cmap="Greys_r"
    )
    figure.colorbar(drawn, ax=over, label="log10 of the surface's squared distance from the data")
    for name, marker, colour in (("truth", "*", GREEN), ("descent", "o", ORANGE), ("surface", "s", BLUE)):
        friction, restitution = result[name].values
        bars = 1.96 * result["sigma"].values if name == "surface" else (0.0, 0.0)
        over.errorbar(restitution, friction, bars[0], bars[1], marker, color=colour, label=name, capsize=2)
    ends = [(float(result[k].min()), float(result[k].max())) for k in ("restitution", "friction")]
    over.set(
        xlabel="restitution", ylabel="friction", xlim=ends[0], ylim=ends[1], title="Grains from mean rebounds"
    )
    over.legend(frameon=True)
    along.plot(np.arange(1, result.sizes["window"] + 1), result["history"], ".-", color=ORANGE)
    along.axhline(0.0, color=GREY, lw=0.8)
    along.set(xlabel="window", title="Mean of the objective of the descent")
    return figure
