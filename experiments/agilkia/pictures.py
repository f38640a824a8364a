"""The pictures of one inversion, from its Dataset alone: they can be made again from result.nc."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, STYLE, number
from experiments.agilkia import diagrams
from experiments.agilkia.keys import PHILAE
from experiments.report import round_to_resolution
from inversion.pairs import draw_pairs

AXES = (BLUE, ORANGE, GREEN)  # x, y, z
FEET = (BLUE, GREEN, PINK, SKY)
CLIP = 5.0  # sigma beyond which a residual is drawn as an arrow at the margin


def draw(result: xr.Dataset) -> dict[str, Figure]:
    """The touchdown, the fit, its parameters and the search tree.

    **Arguments:** `result`: the variables of result.nc, and lander, body, name, scenario and status as attributes.
    **Returns:** the figures by name.
    """
    return {
        "touchdown": _touchdown(result),
        "fit": _residuals(result),
        "parameters": draw_pairs(result, heading(result, "Posterior")),
        "tree": diagrams.search(result, heading(result, "Branch and bound")),
    }


def _touchdown(result: xr.Dataset) -> Figure:
    figure = Figure(figsize=(8, 11), layout="constrained")
    force, speed, spin, energy = figure.subplots(4, 1, sharex=True)
    figure.suptitle(heading(result, "Best-fit touchdown"))
    time = result["time"].values
    until = _force_panel(force, result, time)
    text = "time since the start [s]"
    if until < time[-1]:
        text += f"\n(not shown: {until:.2f} s to {time[-1]:.3g} s, where the force is below 1 % of its peak)"
    energy.set_xlabel(text)
    force.set_xlim(time[0], until)
    shown = time <= until
    velocity, rate = result["velocity"].values, result["spin"].values
    curves = {"speed": (np.linalg.norm(velocity, axis=1), BLACK)}
    curves |= {f"${a}$": (velocity[:, i], c) for i, a, c in zip(range(3), "xyz", AXES, strict=True)}
    _curves_panel(speed, "Speed", curves, time, shown, "m/s")
    speed.set_ylabel("velocity, surface frame [m/s]")
    curves = {"magnitude": (np.linalg.norm(rate, axis=1), BLACK), "about the body axis": (rate[:, 2], BLUE)}
    _curves_panel(spin, "Rate of rotation", curves, time, shown, "rad/s")
    spin.set_ylabel("rate of rotation [rad/s]")
    _energy_panel(energy, result, time, shown)
    return figure


def _curves_panel(ax: Axes, what: str, curves: dict, time: np.ndarray, shown: np.ndarray, unit: str) -> None:
    """Draw (values, colour) of each name, with its last value beside it; the first one gives the title."""
    rows, ends = [], []
    for name, (values, colour) in curves.items():
        ax.plot(time[shown], values[shown], color=colour)
        first, end = (number(round_to_resolution(values[i], unit)) for i in (0, -1))
        rows.append((values[shown][-1], f"{name} → {end} {unit}", colour))
        ends.append(f"from {first} to {end}")
    ax.axhline(0.0, color=GREY, linewidth=0.6)
    label_right(ax, rows)
    ax.set_title(f"{what}: {ends[0]} {unit} (→ at {time[-1]:.3g} s)")


def _force_panel(ax: Axes, result: xr.Dataset, time: np.ndarray) -> float:
    """Draw the forces; return the time at which contact has ended, with a margin."""
    total = np.linalg.norm(result["force"].values, axis=1)
    peak = total.max()
    curves = {"total": (total, BLACK, 2.2), "boulder": (result["boulder_force"].values, ORANGE, 1.5)}
    for i, (footpad, colour) in enumerate(zip(result["sole_force"].values.T, cycle(FEET), strict=False)):
        curves[f"footpad {i}, normal"] = (footpad, colour, 1.5)
    curves["hull, normal"] = (result["hull_force"].values, RED, 1.5)
    rows = []
    for name, (force, colour, width) in curves.items():
        ax.plot(time, force, color=colour, linewidth=width)
        k = int(force.argmax())
        if force[k] > 1e-3 * peak:
            ax.plot(time[k], force[k], "o", color=colour, markersize=4)
            rows.append((force[k], f"{name}: {number(force[k])} N", colour))
        else:
            rows.append((0.0, f"{name}: none", colour))
    for level in (35.0, 7.5) if result.attrs["lander"] == PHILAE else ():
        ax.axhline(level, color=GREY, linewidth=0.8, linestyle="--")
        rows.append((level, f"paper: {level:g} N", GREY))
    ax.set_ylim(bottom=0.0)
    label_right(ax, rows)
    touching = time[total > 0.01 * peak] if peak > 0 else time
    first, end = float(touching[0]), float(touching[-1])
    ax.set_ylabel("contact force [N]")
    ax.set_title(f"Force: peak {peak:.3g} N (dots: peaks); contact from {first:.2f} s to {end:.2f} s")
    return float(min(time[-1], end + 0.15 * (end - time[0])))


def _energy_panel(ax: Axes, result: xr.Dataset, time: np.ndarray, shown: np.ndarray) -> None:
    parts = {"kinetic": SKY, "elastic": PINK, "ground": ORANGE, "damper": GREEN, "friction": RED}
    values = {part: result[f"energy_{part}"].values for part in parts}
    stack = np.cumsum(list(values.values()), axis=0)
    start, below, rows = float(stack[-1, 0]), np.zeros(len(time)), []
    for top, (part, colour) in zip(stack, parts.items(), strict=True):
        ax.fill_between(time[shown], below[shown], top[shown], color=colour, linewidth=0)
        end = values[part][-1]
        text = "0" if abs(end) < 1e-4 * start else number(end)
        rows.append(((0.5 * (below + top))[shown][-1], f"{part} → {text} J", colour))
        below = top
    ax.axhline(start, color=BLACK, linewidth=1, linestyle="--")
    ax.set_ylim(0.0, 1.12 * max(start, stack[-1].max()))
    label_right(ax, [*rows, (start * 1.08, f"initial: {number(start)} J", BLACK)])
    ax.set_ylabel("energy, stacked [J]")
    lost = 100 * (1 - values["kinetic"][-1] / start)
    given = sum(result[f"energy_{source}"].values for source in ("potential", "flywheel"))
    gained = number(round_to_resolution(given[0] - given[-1], "J"), "+.2g")
    ax.set_title(
        f"Energy: {lost:.0f} % of the initial {number(start)} J is lost at {time[-1]:.3g} s; "
        f"gravity and wheel gave {gained} J"
    )


def _residuals(result: xr.Dataset) -> Figure:
    names = result["observable"].values
    figure = Figure(figsize=(8, 1.6 + 0.34 * max(len(names), 3)), layout="constrained")
    figure.suptitle(heading(result, "Fit"))
    ax, table = figure.subplots(1, 2, width_ratios=(1.1, 1), sharey=True)
    table.set_axis_off()
    fitted = result["fitted"].values.astype(bool)
    rows = np.concatenate([np.flatnonzero(fitted), np.flatnonzero(~fitted)])
    simulated, observed, sigma = (result[n].values for n in ("simulated", "observed", "sigma"))
    residual = (simulated - observed) / sigma
    for half, colour in ((2, "#EFEFEF"), (1, "#DADADA")):
        ax.axvspan(-half, half, color=colour, linewidth=0, zorder=0)
    ax.axvline(0.0, color=GREY, linewidth=0.8)
    heads = ("residual", 0.17, "right"), ("simulated", 0.45, "right"), ("observed ± σ", 0.52, "left")
    for text, x, side in heads:
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
    misfit = number(float(result["misfit"]))
    ax.set_title(f"{close} of {fitted.sum()} fitted observables lie within 2 σ, misfit {misfit}")
    return figure


def heading(result: xr.Dataset, what: str) -> str:
    """The title of a picture: who landed where, by which data. The names are a user's, and no mathematics."""
    a = {key: str(value).replace("$", r"\$") for key, value in result.attrs.items()}
    where = f"{a['lander']} on {a['body']}"
    return f"{what}: {where}, data set “{a['name']}”, scenario {a['scenario']}, status: {a['status']}"


def label_right(ax: Axes, rows: Sequence[tuple[float, str, str]]) -> None:
    """Write each (y, text, colour) right of the panel at y, moved apart where they would overlap."""
    rows = sorted(rows, key=lambda row: row[0])
    low, high = ax.get_ylim()
    at = [min(max((y - low) / (high - low), 0.0), 1.0) for y, _, _ in rows]
    line = 1.25 * STYLE["font.size"] / 72 / (ax.get_position().height * ax.figure.get_figheight())
    gap = [line * (1 + row[1].count("\n")) for row in rows]
    for i in range(1, len(at)):
        at[i] = max(at[i], at[i - 1] + (gap[i] + gap[i - 1]) / 2)
    ceiling = 1.0 + line
    for i in reversed(range(len(at))):
        at[i] = min(at[i], ceiling - gap[i] / 2)
        ceiling = at[i] - gap[i] / 2
    for y, (_, text, colour) in zip(at, rows, strict=True):
        ax.plot(1.02, y, "s", color=colour, markersize=5, clip_on=False, transform=ax.transAxes)
        ax.text(1.04, y, text, va="center", transform=ax.transAxes)
