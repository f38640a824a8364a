"""The pictures of one inversion, from its Dataset alone: they can be made again from result.nc."""

from itertools import cycle

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, note, number
from experiments.agilkia import diagrams
from experiments.agilkia.keys import PHILAE
from experiments.report import round_to_resolution
from experiments.style import absent, heading, label_right, last
from inversion.pairs import draw_pairs

AXES = (BLUE, ORANGE, GREEN)  # x, y, z
FEET = (BLUE, GREEN, PINK, SKY)
CLIP = 5.0  # sigma beyond which a residual is drawn as an arrow at the margin


def draw(result: xr.Dataset) -> dict[str, Figure]:
    """The touchdown, the fit, its parameters and the search tree; a missing part leaves a note in its place.

    **Arguments:** `result`: the variables of result.nc, and lander, body, name, scenario and status as attributes.
    **Returns:** the figures by name.
    """
    return {
        "touchdown": _touchdown(result),
        "fit": _residuals(result),
        "parameters": draw_pairs(result, heading(result, "Posterior")),
        "tree": diagrams.search(result),
    }


def _touchdown(result: xr.Dataset) -> Figure:
    figure = Figure(figsize=(8, 11), layout="constrained")
    axes = figure.subplots(4, 1, sharex=True)
    figure.suptitle(heading(result, "Best-fit touchdown"))
    moving = [result[name] for name in ("force", "velocity", "spin") if name in result]
    if not moving:
        for ax in axes:
            ax.set_axis_off()
            note(ax, "no time series in this result")
        return figure
    # A simulation that failed has no values from some time on.
    known = np.any([np.isfinite(v).all("axis") for v in moving], axis=0)
    series = result.isel(time=known) if known.any() else result
    time = series["time"].values
    until = float(time[-1])
    if not absent(axes[0], series, "force"):
        until = _force_panel(axes[0], series, time)
    text = "time since the start [s]"
    if until < time[-1]:
        text += f"\n(not shown: {until:.2f} s to {time[-1]:.3g} s, where the force is below 1 % of its peak)"
    if time[-1] < result["time"].values[-1]:
        text += f"\n(there are no values after {time[-1]:.3g} s)"
    axes[3].set_xlabel(text)
    axes[0].set_xlim(time[0], until)
    shown = time <= until
    if not absent(axes[1], series, "velocity"):
        velocity = series["velocity"].values
        curves = {"speed": (np.linalg.norm(velocity, axis=1), BLACK)}
        curves |= {f"${a}$": (velocity[:, i], c) for i, a, c in zip(range(3), "xyz", AXES, strict=True)}
        _curves_panel(axes[1], "Speed", curves, time, shown, "m/s")
        axes[1].set_ylabel("velocity, surface frame [m/s]")
    if not absent(axes[2], series, "spin"):
        spin = series["spin"].values
        curves = {"magnitude": (np.linalg.norm(spin, axis=1), BLACK), "about the body axis": (spin[:, 2], BLUE)}
        _curves_panel(axes[2], "Rate of rotation", curves, time, shown, "rad/s")
        axes[2].set_ylabel("rate of rotation [rad/s]")
    _energy_panel(axes[3], series, time, shown)
    return figure


def _curves_panel(ax: Axes, what: str, curves: dict, time: np.ndarray, shown: np.ndarray, unit: str) -> None:
    """Draw (values, colour) of each name, with its last value beside it; the first one gives the title."""
    for values, colour in curves.values():
        ax.plot(time[shown], values[shown], color=colour)
    ax.axhline(0.0, color=GREY, linewidth=0.6)
    ends = {name: number(round_to_resolution(last(v), unit)) for name, (v, _) in curves.items()}
    rows = [(last(v[shown]), f"{name} → {ends[name]} {unit}", colour) for name, (v, colour) in curves.items()]
    label_right(ax, rows)
    first, end = next(iter(curves.values()))[0][0], next(iter(ends.values()))
    ax.set_title(
        f"{what}: from {number(round_to_resolution(first, unit))} to {end} {unit} (→ at {time[-1]:.3g} s)"
    )


def _force_panel(ax: Axes, result: xr.Dataset, time: np.ndarray) -> float:
    """Draw the forces; return the time at which contact has ended, with a margin."""
    total = np.linalg.norm(result["force"].values, axis=1)
    curves = {"total": (total, BLACK, 2.2)}
    if "boulder_force" in result:
        curves["boulder"] = (result["boulder_force"].values, ORANGE, 1.5)
    if "sole_force" in result:
        for i, (footpad, colour) in enumerate(zip(result["sole_force"].values.T, cycle(FEET), strict=False)):
            curves[f"footpad {i}, normal"] = (footpad, colour, 1.5)
    if "hull_force" in result:
        curves["hull, normal"] = (result["hull_force"].values, RED, 1.5)
    rows = []
    for name, (force, colour, width) in curves.items():
        ax.plot(time, force, color=colour, linewidth=width)
        if np.nanmax(force, initial=0.0) > 1e-3 * np.nanmax(total):
            k = int(np.nanargmax(force))
            ax.plot(time[k], force[k], "o", color=colour, markersize=4)
            rows.append((force[k], f"{name}: {number(force[k])} N", colour))
        else:
            rows.append((0.0, f"{name}: {'none' if np.isfinite(force).all() else 'no values'}", colour))
    for level in (35.0, 7.5) if result.attrs.get("lander") == PHILAE else ():
        ax.axhline(level, color=GREY, linewidth=0.8, linestyle="--")
        rows.append((level, f"paper: {level:g} N", GREY))
    ax.set_ylim(bottom=0.0)
    label_right(ax, rows)
    peak = np.nanmax(total)
    touching = time[np.nan_to_num(total) > 0.01 * peak] if peak > 0 else time
    first, end = float(touching[0]), float(touching[-1])
    ax.set_ylabel("contact force [N]")
    ax.set_title(f"Force: peak {peak:.3g} N (dots: peaks); contact from {first:.2f} s to {end:.2f} s")
    return float(min(time[-1], end + 0.15 * (end - time[0])))


def _energy_panel(ax: Axes, result: xr.Dataset, time: np.ndarray, shown: np.ndarray) -> None:
    parts = {"kinetic": SKY, "elastic": PINK, "ground": ORANGE, "damper": GREEN, "friction": RED}
    if absent(ax, result, *(f"energy_{part}" for part in parts)):
        return
    values = {part: result[f"energy_{part}"].values for part in parts}
    stack = np.cumsum(list(values.values()), axis=0)
    start, below, rows = float(stack[-1, 0]), np.zeros(len(time)), []
    for top, (part, colour) in zip(stack, parts.items(), strict=True):
        ax.fill_between(time[shown], below[shown], top[shown], color=colour, linewidth=0)
        end = last(values[part])
        text = "0" if abs(end) < 1e-4 * start else number(end)
        rows.append((last((0.5 * (below + top))[shown]), f"{part} → {text} J", colour))
        below = top
    ax.axhline(start, color=BLACK, linewidth=1, linestyle="--")
    ax.set_ylim(0.0, 1.12 * max(start, np.nanmax(stack[-1], initial=0.0)))
    label_right(ax, [*rows, (start * 1.08, f"initial: {number(start)} J", BLACK)])
    ax.set_ylabel("energy, stacked [J]")
    lost = 100 * (1 - last(values["kinetic"]) / start)
    given = [result[n].values for n in ("energy_potential", "energy_flywheel") if n in result]
    gained = number(round_to_resolution(sum(g[0] - last(g) for g in given), "J"), "+.2g")
    gift = f"; gravity and wheel gave {gained} J" if given else ""
    ax.set_title(f"Energy: {lost:.0f} % of the initial {number(start)} J is lost at {time[-1]:.3g} s{gift}")


def _residuals(result: xr.Dataset) -> Figure:
    names = [str(n) for n in result["observable"].values] if "observable" in result else []
    figure = Figure(figsize=(8, 1.6 + 0.34 * max(len(names), 3)), layout="constrained")
    figure.suptitle(heading(result, "Fit"))
    ax, table = figure.subplots(1, 2, width_ratios=(1.1, 1), sharey=True)
    table.set_axis_off()
    if absent(ax, result, "simulated", "observed", "sigma", "fitted"):
        ax.set_axis_off()
        return figure
    fitted = result["fitted"].values.astype(bool)
    rows = np.concatenate([np.flatnonzero(fitted), np.flatnonzero(~fitted)])
    simulated, observed, sigma = (result[n].values for n in ("simulated", "observed", "sigma"))
    residual = (simulated - observed) / sigma
    for half, colour in ((2, "#EFEFEF"), (1, "#DADADA")):
        ax.axvspan(-half, half, color=colour, linewidth=0, zorder=0)
    ax.axvline(0.0, color=GREY, linewidth=0.8)
    for text, x, side in (
        ("residual", 0.17, "right"),
        ("simulated", 0.45, "right"),
        ("observed ± σ", 0.52, "left"),
    ):
        table.text(x, -0.9, text, ha=side, va="center", color=GREY)
    for y, k in enumerate(rows):
        colour, face = (BLUE, BLUE) if fitted[k] else (GREY, "white")
        marker = "o" if abs(residual[k]) <= CLIP else ("<" if residual[k] < 0 else ">")
        ax.plot(np.clip(residual[k], -CLIP, CLIP), y, marker, color=colour, markerfacecolor=face, markersize=7)
        table.text(0.17, y, number(residual[k], "+.1f") + " σ", ha="right", va="center", color=colour)
        unit = result["observable_unit"].values[k]
        table.text(0.45, y, number(round_to_resolution(simulated[k], str(unit))), ha="right", va="center")
        table.text(0.52, y, f"{number(observed[k])} ± {number(sigma[k], '.2g')} {unit}", va="center")
    ax.set_yticks(range(len(rows)), [names[k].replace("_", " ") for k in rows])
    ax.set_ylim(len(rows) - 0.4, -1.3)
    ax.set_xlim(-CLIP - 0.4, CLIP + 0.4)
    ax.set_xlabel(
        "(simulated − observed) / σ [1]; bands: ±1 σ, ±2 σ\n● fitted   ○ reported only   ◁ ▷ beyond the axis"
    )
    close = int(np.sum(np.abs(residual[fitted]) <= 2))  # a NaN is not close
    misfit = f", misfit {number(float(result['misfit']))}" if "misfit" in result else ""
    ax.set_title(f"{close} of {fitted.sum()} fitted observables lie within 2 σ{misfit}")
    return figure
