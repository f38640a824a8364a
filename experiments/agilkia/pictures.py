"""The pictures of one inversion, from its Dataset alone: they can be made again from result.nc."""

from pathlib import Path

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.agilkia import diagrams
from experiments.agilkia.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    STYLE,
    absent,
    heading,
    label_right,
    last,
)

CLIP = 5.0  # sigma beyond which a residual is drawn as an arrow at the margin


def draw(result: xr.Dataset, folder: Path) -> list[Path]:
    """Write touchdown.png, fit.png, parameters.png and tree.png; a missing part leaves a note in its place.

    **Arguments:** `result`: variables and attributes as experiments/agilkia/README.md lists them.
    **Returns:** the paths written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    makers = {"touchdown": _touchdown, "fit": _residuals, "parameters": diagrams.pairs, "tree": diagrams.search}
    for name, maker in makers.items():
        with matplotlib.rc_context(STYLE):
            figure = maker(result)
            paths.append(folder / f"{name}.png")
            figure.savefig(paths[-1])
    return paths


def _touchdown(result: xr.Dataset) -> Figure:
    figure = Figure(figsize=(8, 11), layout="constrained")
    axes = figure.subplots(4, 1, sharex=True)
    figure.suptitle(heading(result, "Best-fit touchdown"))
    time = result["time"].values if "time" in result else np.array([0.0, 1.0])
    window = (float(time[0]), float(time[-1]))
    axes[3].set_xlabel("time since the start [s]")
    if not absent(axes[0], result, "force"):
        window = _force_panel(axes[0], result, time)
    if window[1] < time[-1]:
        axes[3].set_xlabel(
            f"time since the start [s]   (not shown: {window[1]:.2f} s to {time[-1]:.3g} s, "
            "where the force is below 1 % of its peak)"
        )
    axes[0].set_xlim(window)
    for ax, name, colours in ((axes[1], "velocity", (BLUE, ORANGE, GREEN)), (axes[2], "spin", (BLUE,))):
        if absent(ax, result, name):
            continue
        values, unit = result[name].values, result[name].attrs["unit"]
        size = np.linalg.norm(values, axis=1)
        curves = {"speed": (size, BLACK)}
        if name == "spin":
            curves = {"magnitude": (size, BLACK), "about the body axis": (values[:, 2], BLUE)}
        else:
            curves |= {f"${a}$": (values[:, i], colours[i]) for i, a in enumerate("xyz")}
        for curve, colour in curves.values():
            ax.plot(time, curve, color=colour)
        seen = np.vstack([c[time <= window[1]] for c, _ in curves.values()])
        low, high = np.nanmin([0.0, np.nanmin(seen)]), np.nanmax(seen)
        ax.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        ends = [(last(c[time <= window[1]]), f"{k} → {last(c):.3g} {unit}", q) for k, (c, q) in curves.items()]
        label_right(ax, ends)
        ax.axhline(0.0, color=GREY, linewidth=0.6)
        ax.set_ylabel(f"{name} [{unit}]")
        frame = ", surface frame" if name == "velocity" else ""
        what = {"velocity": "Speed", "spin": "Rate of rotation"}[name]
        end = f"at {time[-1]:.3g} s"
        ax.set_title(f"{what}: {size[0]:.3g} {unit} at the start, {last(size):.3g} {unit} {end}{frame}")
    _energy_panel(axes[3], result, time, window)
    return figure


def _force_panel(ax: Axes, result: xr.Dataset, time: np.ndarray) -> tuple[float, float]:
    """Draw the forces; return the part of the time in which there is contact, with a margin."""
    total = np.linalg.norm(result["force"].values, axis=1)
    curves = {"total": (total, BLACK, 2.2)}
    if "boulder_force" in result:
        curves["boulder"] = (result["boulder_force"].values, ORANGE, 1.5)
    if "sole_force" in result:
        for i, (sole, colour) in enumerate(
            zip(result["sole_force"].values.T, (BLUE, GREEN, PINK, SKY), strict=False)
        ):
            curves[f"sole {i}, normal"] = (sole, colour, 1.5)
    rows = []
    for name, (force, colour, width) in curves.items():
        ax.plot(time, force, color=colour, linewidth=width)
        if np.nanmax(force, initial=0.0) > 0:
            k = int(np.nanargmax(force))
            ax.plot(time[k], force[k], "o", color=colour, markersize=4)
            rows.append((force[k], f"{name}: {force[k]:.3g} N", colour))
        else:
            rows.append((0.0, f"{name}: none", colour))
    for level in (35.0, 7.5):
        ax.axhline(level, color=GREY, linewidth=0.8, linestyle="--")
        rows.append((level, f"paper 000: {level:g} N", GREY))
    ax.set_ylim(bottom=0.0)
    label_right(ax, rows)
    peak = np.nanmax(total)
    touching = time[np.nan_to_num(total) > 0.01 * peak] if peak > 0 else time
    first, end = float(touching[0]), float(touching[-1])
    ax.set_ylabel("contact force [N]")
    ax.set_title(f"Force: peak {peak:.3g} N (dots: peaks); contact from {first:.2f} s to {end:.2f} s")
    return float(time[0]), float(min(time[-1], end + 0.15 * (end - time[0])))


def _energy_panel(ax: Axes, result: xr.Dataset, time: np.ndarray, window: tuple[float, float]) -> None:
    colours = {"kinetic": SKY, "elastic": PINK, "ground": ORANGE, "damper": GREEN, "friction": RED}
    parts = {f"energy_{name}": (name, colour) for name, colour in colours.items()}
    if absent(ax, result, *parts):
        return
    stack = np.cumsum([result[name].values for name in parts], axis=0)
    below, shown, rows = np.zeros(len(time)), time <= window[1], []
    for top, (name, (word, colour)) in zip(stack, parts.items(), strict=True):
        ax.fill_between(time, below, top, color=colour, linewidth=0)
        middle = last((0.5 * (below + top))[shown])
        rows.append((middle, f"{word} → {last(result[name].values):.3g} J", colour))
        below = top
    start = float(stack[-1, 0])
    ax.axhline(start, color=BLACK, linewidth=1, linestyle="--")
    given = sum(
        result[n].values[0] - result[n].values for n in ("energy_potential", "energy_flywheel") if n in result
    )
    ax.set_ylim(0.0, 1.12 * np.nanmax(stack))
    label_right(ax, [*rows, (start * 1.08, f"initial: {start:.3g} J", BLACK)])
    ax.set_ylabel("energy, stacked [J]")
    lost = start - last(result["energy_kinetic"].values)
    wheel = f"; gravity and wheel gave {last(np.asarray(given)):+.2g} J" if np.ndim(given) else ""
    ax.set_title(
        f"Energy: {100 * lost / start:.0f} % of the initial {start:.3g} J is lost by {time[-1]:.3g} s{wheel}"
    )


def _residuals(result: xr.Dataset) -> Figure:
    names = [str(n) for n in result["observable"].values] if "observable" in result else []
    figure = Figure(figsize=(8, 1.6 + 0.34 * max(len(names), 3)), layout="constrained")
    ax = figure.subplots()
    figure.suptitle(heading(result, "Fit"))
    if absent(ax, result, "simulated", "observed", "sigma"):
        return figure
    fitted = result["fitted"].values.astype(bool)
    rows = np.concatenate([np.flatnonzero(fitted), np.flatnonzero(~fitted)])
    simulated, observed, sigma = (result[n].values for n in ("simulated", "observed", "sigma"))
    residual = (simulated - observed) / sigma
    for half, colour in ((2, "#EFEFEF"), (1, "#DADADA")):
        ax.axvspan(-half, half, color=colour, linewidth=0, zorder=0)
    ax.axvline(0.0, color=GREY, linewidth=0.8)
    for y, k in enumerate(rows):
        colour, r = BLUE if fitted[k] else GREY, residual[k]
        text = f"{simulated[k]:.3g}" if np.isfinite(simulated[k]) else "not simulated"
        text = f"{text}  /  {observed[k]:.3g} ± {sigma[k]:.2g} {result['observable_unit'].values[k]}"
        ax.text(1.02, y, text, transform=ax.get_yaxis_transform(), va="center")
        if not np.isfinite(r):
            continue
        marker = "o" if abs(r) <= CLIP else ("<" if r < 0 else ">")
        face = colour if fitted[k] else "white"
        ax.plot(np.clip(r, -CLIP, CLIP), y, marker, color=colour, markerfacecolor=face, markersize=7)
        side = -1 if r > 0.8 * CLIP else 1
        ax.annotate(f"{r:+.1f}", (np.clip(r, -CLIP, CLIP), y), (7 * side, 0), textcoords="offset points",
                    va="center", ha="left" if side > 0 else "right", fontsize=8, color=colour)  # fmt: skip
    ax.text(1.02, -0.9, "simulated  /  observed ± σ", transform=ax.get_yaxis_transform(), va="center", color=GREY)
    ax.set_yticks(range(len(rows)), [names[k].replace("_", " ") for k in rows])
    ax.set_ylim(len(rows) - 0.4, -1.3)
    ax.set_xlim(-CLIP - 0.4, CLIP + 0.4)
    ax.set_xlabel("(simulated − observed) / σ   [1]      ● fitted   ○ reported only   bands: ±1 σ, ±2 σ")
    used = residual[fitted & np.isfinite(residual)]
    misfit = f", misfit {float(result['misfit']):.3g}" if "misfit" in result else ""
    ax.set_title(f"{np.sum(abs(used) <= 2)} of {fitted.sum()} fitted observables lie within 2 σ{misfit}")
    return figure
