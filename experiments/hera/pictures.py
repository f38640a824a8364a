"""The pictures of a forecast: where landers rest, how they hop, when they rest, and what decides."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, RED, SKY, note
from experiments.hera.inputs import Inputs, split_unit
from experiments.hera.probabilities import TIME_EDGES, settling

COLOURS = (BLUE, ORANGE, GREEN, RED)
STRONGEST = 8  # unknowns in the picture of sensitivities
CELLS = 6  # of equal numbers of members, along each of two unknowns


def draw(tables: Mapping[str, xr.Dataset], inputs: Inputs, found: Mapping[str, Mapping]) -> dict[str, Figure]:
    """The pictures, by name.

    **Arguments:** `tables` of the landers; `inputs`; `found`, the `sensitivities` of each lander.
    """
    titles = {name: inputs.landers[name].title for name in tables}
    return {
        "map": _draw_map(tables, titles, "primary_GM_m3_per_s2" in inputs.unknowns),
        "hops": _draw_hops(tables, titles),
        "settling": _draw_settling(tables, titles),
        "decides": _draw_what_decides(found, titles),
        "pair": _draw_pair(tables, found, titles),
    }


def _panels(count: int, height: float, **shared: bool) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(9, height * count), layout="constrained")
    return figure, list(figure.subplots(count, 1, squeeze=False, **shared)[:, 0])


def _draw_map(tables: Mapping[str, xr.Dataset], titles: Mapping[str, str], is_moon: bool) -> Figure:
    """The density of places of rest by longitude and latitude, with the first touches."""
    figure, panels = _panels(len(tables), 3.2, sharex=True)
    for ax, (name, table) in zip(panels, tables.items(), strict=True):
        rest = table.isel(case=table["fate"].values == 0)
        east = _about_zero(rest["rest_longitude"].values)
        sine = np.sin(np.radians(rest["rest_latitude"].values))
        counts, x, y = np.histogram2d(east, sine, bins=(60, 24), range=((-180, 180), (-1, 1)))
        percent = np.where(counts > 0, 100 * counts / max(len(east), 1), np.nan)
        mesh = ax.pcolormesh(x, np.degrees(np.arcsin(y)), percent.T, cmap="viridis")
        figure.colorbar(mesh, ax=ax, label="share of those at rest\nin a cell of equal area [%]")
        touched = np.isfinite(table["touch_time"].values)
        ax.plot(
            _about_zero(table["touch_longitude"].values[touched]),
            table["touch_latitude"].values[touched],
            ".",
            color=RED,
            markersize=1.0,
            alpha=0.35,
            rasterized=True,
            label="first touches",
        )
        ax.set(ylabel="latitude [deg]", ylim=(-90, 90), xlim=(-180, 180), yticks=range(-90, 91, 30))
        ax.set_xticks(range(-180, 181, 60))
        ax.set_title(f"{titles[name]}: {len(east)} of {table.sizes['case']} at rest")
        ax.legend(loc="lower left", frameon=False, markerscale=6)
    where = "; 0 faces the primary, −90 leads the orbit" if is_moon else ""
    panels[-1].set_xlabel(f"longitude east [deg]{where}")
    return figure


def _about_zero(longitude: np.ndarray) -> np.ndarray:
    return (longitude + 180) % 360 - 180


def _draw_hops(tables: Mapping[str, xr.Dataset], titles: Mapping[str, str]) -> Figure:
    """Heights of the first few landers that touch and stay."""
    figure, panels = _panels(len(tables), 2.8)
    for ax, (name, table) in zip(panels, tables.items(), strict=True):
        tracks = range(table.sizes["track"])
        shown = [i for i in tracks if table["fate"].values[i] == 0][: len(COLOURS)]
        last = 0.0
        for colour, i in zip(COLOURS, shown, strict=False):
            touch, rest = table["touch_time"].values[i], table["rest_time"].values[i]
            last = max(last, rest)
            label = f"e = {table['restitution'].values[i]:.2f}, {table['touch_speed'].values[i]:.2g} m/s at touch"
            ax.plot(table["sample"] / 60, table["height"].isel(track=i), color=colour, label=label)
            ax.plot([touch / 60, rest / 60], [0, 0], "|", color=colour, markersize=12)
        ax.set(xlim=(0, max(1.05 * last / 60, 1.0)), ylabel="height of the lowest point [m]")
        ax.set_title(f"{titles[name]}: the first members that rest; marks: first touch and rest")
        if shown:
            ax.legend(frameon=False)
    panels[-1].set_xlabel("time from the release [min]")
    return figure


def _draw_settling(tables: Mapping[str, xr.Dataset], titles: Mapping[str, str]) -> Figure:
    """The time from the first touch to rest: the share that rests by then, of all members."""
    figure, (ax,) = _panels(1, 3.6)
    for colour, (name, table) in zip(COLOURS, tables.items(), strict=False):
        rest = table.isel(case=table["fate"].values == 0)
        times = np.sort(settling(rest)) / 3600
        share = np.arange(1, len(times) + 1) / table.sizes["case"]
        error = np.sqrt(share * (1 - share) / table.sizes["case"])
        ax.step(times, share, where="post", color=colour, label=titles[name])
        ax.fill_between(times, share - 2 * error, share + 2 * error, step="post", color=colour, alpha=0.2, lw=0)
    for edge in TIME_EDGES[1:]:
        ax.axvline(edge / 3600, color=PALE, linewidth=0.8, zorder=0)
    longest = max(float(table["sample"][-1]) for table in tables.values()) / 3600
    ax.set(xlabel="time from the first touch [h]", xlim=(0, longest), ylim=(0, 1))
    ax.set_ylabel("share of all members at rest")
    ax.set_title("At rest by then; bands: 2 sampling errors; lines: bins of the score")
    ax.legend(frameon=False, loc="lower right")
    return figure


def _draw_what_decides(found: Mapping[str, Mapping], titles: Mapping[str, str]) -> Figure:
    """First-order Sobol indices of whether a lander stays, and of the time until rest."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    names = {"stays": "whether it stays", "log_settling": "the logarithm of the time to rest"}
    for ax, (output, what) in zip(panels, names.items(), strict=True):
        have = [name for name in found if output in found[name]]
        if not have:
            ax.set_axis_off()
            note(ax, f"{what}:\ntoo few members")
            continue
        mean = {k: np.mean([found[name][output][k]["share"] for name in have]) for k in found[have[0]][output]}
        rows = sorted(mean, key=mean.get, reverse=True)[:STRONGEST]
        for colour, name, shift in zip(COLOURS, have, (-0.12, 0.12, 0.3), strict=False):
            values = [found[name][output][k]["share"] for k in rows]
            errors = [2 * found[name][output][k]["share_error"] for k in rows]
            at = np.arange(len(rows)) + shift
            ax.errorbar(values, at, xerr=errors, fmt="o", color=colour, markersize=4, label=titles[name])
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_yticks(range(len(rows)), [split_unit(k)[0].replace("_", " ") for k in rows])
        ax.invert_yaxis()
        ax.set_xlabel("first-order Sobol index, ± 2 errors")
        ax.set_title(what, color=BLACK)
    if panels[0].has_data():
        panels[0].legend(frameon=False, loc="lower right")
    return figure


def _draw_pair(
    tables: Mapping[str, xr.Dataset], found: Mapping[str, Mapping], titles: Mapping[str, str]
) -> Figure:
    """The share that stays by the two unknowns that decide most, with a number in each cell."""
    figure = Figure(figsize=(9, 3.6 if len(tables) < 3 else 3.2), layout="constrained")
    panels = figure.subplots(1, len(tables), squeeze=False)[0]
    for ax, (name, table) in zip(panels, tables.items(), strict=True):
        if "stays" not in found[name]:
            ax.set_axis_off()
            note(ax, "too few members")
            continue
        edges, bins = [], []
        for unknown in list(found[name]["stays"])[:2]:
            values = table[unknown].values
            edges.append(np.unique(np.quantile(values, np.linspace(0, 1, CELLS + 1))))
            bins.append(np.clip(np.searchsorted(edges[-1], values, side="right") - 1, 0, len(edges[-1]) - 2))
        shape = [len(each) - 1 for each in edges]
        cells, stays = np.ravel_multi_index(bins, shape), table["fate"].values == 0
        counts = np.bincount(cells, minlength=np.prod(shape))
        percent = 100 * np.bincount(cells, stays, np.prod(shape)) / np.maximum(counts, 1)
        ax.pcolormesh(percent.reshape(shape).T, cmap="viridis", vmin=0, vmax=100)
        for i, j in np.ndindex(*shape):
            value = percent.reshape(shape)[i, j]
            colour = "white" if value < 60 else BLACK
            ax.text(i + 0.5, j + 0.5, f"{value:.0f}", ha="center", va="center", color=colour, fontsize=8)
        ax.set_xticks(range(shape[0] + 1), [f"{edge:.2g}" for edge in edges[0]], fontsize=7)
        ax.set_yticks(range(shape[1] + 1), [f"{edge:.2g}" for edge in edges[1]], fontsize=7)
        labels = [f"{k} [{unit}]" for k, unit in map(split_unit, list(found[name]["stays"])[:2])]
        ax.set(xlabel=labels[0].replace("_", " "), ylabel=labels[1].replace("_", " "))
        ax.set_title(f"{titles[name]}: stays, %")
    return figure


def draw_sensors(table: xr.Dataset) -> Figure:
    """Widths of the posteriors of the ground over those of the priors, and the information by the speed at touch.

    **Arguments:** `table` of `sensors.read_all`. **Returns:** the picture.
    """
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    names, suites = [str(k) for k in table["ground"].values], [str(k) for k in table["suite"].values]
    middle = {"rate": int(table["rate"].values[1])}
    plain = table.isel(case=table["antennas"].values == 0) if "antennas" in table else table
    for colour, suite, shift in zip((SKY, *COLOURS), suites, np.linspace(-0.3, 0.3, len(suites)), strict=True):
        share = (plain["deviation"] / plain["prior"]).sel(suite=suite, **middle)
        low, half, high = share.quantile([0.16, 0.5, 0.84], "case").values
        at = np.arange(len(names)) + shift
        left.errorbar(half, at, xerr=[half - low, high - half], fmt="o", ms=4, color=colour, label=suite)
    left.set_yticks(range(len(names)), [split_unit(k)[0].replace("_", " ") for k in names])
    left.invert_yaxis()
    left.set(xscale="log", xlabel=f"posterior / prior deviation, {middle['rate']} readings a second")
    figure.legend(*left.get_legend_handles_labels(), frameon=False, loc="outside lower left", ncols=2)
    shown = right.scatter(
        table["speed_m_per_s"],
        table["nats"].sel(suite=suites[-1], **middle),
        c=table["angle_deg"],
        s=8,
        cmap="viridis",
    )
    figure.colorbar(shown, ax=right, label="angle from the vertical [deg]")
    right.set(xlabel="speed at touch [m/s]", ylabel="information of both sensors [nat]")
    return figure
