"""The pictures of the collision stage, from result.nc alone."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, number
from difsim.rotation import Rotation
from experiments.cobbles.paper import INCLINATION, RESTITUTION

COLOURS = (BLUE, RED)  # of the bodies
MODELS = {"hard": BLACK, "compliant": ORANGE, "smooth": GREEN, "soft": PINK}
FLOOR = 1e-5  # %, of the errors that are drawn
LIGHT = np.array([-0.4, 0.5, 0.77])


def draw(result: xr.Dataset) -> dict[str, Figure]:
    """The pictures of Figs 4 (convergence), 5 (snapshots), 6 (states) and 7 (energies), and of the tables."""
    return {
        "convergence": _convergence(result),
        "snapshots": _snapshots(result),
        "states": _states(result),
        "energies": _energies(result),
        "tables": _tables(result),
    }


def _snapshots(result: xr.Dataset) -> Figure:
    """Seen from +z, in the frame of the pair's centre of mass."""
    touch = float(result["contact_time"])
    end = float(result["time"][-1])
    instants = (0.0, 0.5 * touch, touch, 0.5 * (touch + end), end)
    figure = Figure(figsize=(13, 2.5), layout="constrained")
    figure.suptitle(f"{result.attrs['cobble']}: the nominal case, seen from +z, moving with the centre of mass")
    for ax, t in zip(figure.subplots(1, len(instants), sharey=True), instants, strict=True):
        now = result.isel(time=int(np.abs(result["time"].values - t).argmin()))
        middle = now["position"].mean("body").values
        for body, colour in zip(result["body"].values, COLOURS, strict=True):
            row = now.sel(body=body)
            turn = np.asarray(Rotation(jnp.asarray(row["attitude"].values)).as_matrix())
            place = result["vertices"].values @ turn.T + row["position"].values - middle
            _shade(ax, place, result["faces"].values, colour)
        ax.set(xlim=(-0.24, 0.24), ylim=(-0.12, 0.12), title=f"{float(now['time']):.2f} s", xlabel="x [m]")
        ax.set_aspect("equal")
    figure.axes[0].set_ylabel("y [m]")
    return figure


def _shade(ax: Axes, vertices: np.ndarray, faces: np.ndarray, colour: str) -> None:
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    order = np.argsort(corners[:, :, 2].mean(axis=1))
    order = order[normals[order, 2] > 0]
    bright = 0.35 + 0.65 * np.clip(normals[order] @ LIGHT, 0, 1)[:, None]
    shade = 1 - (1 - np.array(to_rgb(colour))) * 0.75
    ax.add_collection(
        PolyCollection(corners[order][:, :, :2], facecolors=bright * shade, edgecolors="face", lw=0.2)
    )


def _draw_both(ax: Axes, result: xr.Dataset, values: xr.DataArray, labels: Sequence[str]) -> None:
    """A number of both bodies against time; dotted: the contact."""
    for body, colour, line, label in zip(result["body"].values, COLOURS, ("-", "--"), labels, strict=True):
        ax.plot(result["time"], values.sel(body=body), line, color=colour, linewidth=1.2, label=label)
    ax.axvline(float(result["contact_time"]), color=GREY, linewidth=0.8, linestyle=":")


def _states(result: xr.Dataset) -> Figure:
    rows = (
        ("position", "axis", ("x", "y", "z"), "m"),
        ("velocity", "axis", ("x", "y", "z"), "m/s"),
        ("attitude", "part", ("q0", "q1", "q2", "q3"), "1"),
        ("spin", "axis", ("x", "y", "z"), "rad/s"),
    )
    figure = Figure(figsize=(12, 9), layout="constrained")
    figure.suptitle(
        f"{result.attrs['cobble']}: states of the nominal case (Fig. 6); spin in the body's own axes; "
        "dotted: contact"
    )
    grid = figure.subplots(4, 4, sharex=True)
    for axes, (name, dim, parts, unit) in zip(grid, rows, strict=True):
        for ax, part in zip(axes, parts, strict=False):
            _draw_both(ax, result, result[name].sel({dim: part}), ("body 1", "body 2"))
            ax.set_title(f"{name} {part} [{unit}]")
        for ax in axes[len(parts) :]:
            ax.set_axis_off()
    grid[0, 3].legend(*grid[0, 0].get_legend_handles_labels(), frameon=False, loc="center")
    for ax in (*grid[3, :3], grid[2, 3]):
        ax.set_xlabel("time [s]")
    grid[2, 3].tick_params(labelbottom=True)
    return figure


def _energies(result: xr.Dataset) -> Figure:
    ratio = float(result["energy_ratio"].sel(model="hard", restitution=RESTITUTION, inclination=INCLINATION))
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    figure.suptitle(f"{result.attrs['cobble']}: energies of the nominal case (Fig. 7), CoR_E {ratio:.3f}")
    titles = {"kinetic": "translation", "rotation": "rotation"}
    for ax, (name, title) in zip(figure.subplots(1, 2), titles.items(), strict=True):
        values = 1e3 * result[name]
        ends = (number(float(end)) for end in values.isel(time=-1))
        _draw_both(ax, result, values, [f"body {i}: {end} mJ at the end" for i, end in enumerate(ends, 1)])
        ax.set(xlabel="time [s]", ylabel="energy [mJ]", title=title, ylim=(0, None))
        ax.legend(frameon=False)
    return figure


def _convergence(result: xr.Dataset) -> Figure:
    figure = Figure(figsize=(11, 4), layout="constrained")
    figure.suptitle(f"{result.attrs['cobble']}: CoR_E of the nominal case against the step in contact (Fig. 4)")
    value, error = figure.subplots(1, 2)
    for model in result["model"].values:
        colour = MODELS[str(model)]
        row = result["step_energy_ratio"].sel(model=model)
        steps = row["step"].values
        value.semilogx(steps, row, "o-", color=colour, label=model, markersize=4)
        off = 100 * np.abs(row / row.isel(step=0) - 1)
        error.loglog(steps[1:], np.maximum(off[1:], FLOOR), "o-", color=colour, label=model, markersize=4)
    for ax in (value, error):
        ax.axvline(1e-4, color=GREY, linewidth=0.8, linestyle="--")
        ax.set_xlabel("step [s]")
        ax.legend(frameon=False)
    value.set(ylabel="CoR_E, laboratory", title="values (dashed: 1e-4 s)", ylim=(0.7, 1.1))
    error.set(ylabel="|CoR_E / CoR_E at the shortest step − 1| [%]", ylim=(FLOOR / 2, None))
    error.set_title(f"absolute percentage error (hard: no step, drawn at {number(FLOOR)} %)")
    return figure


def _tables(result: xr.Dataset) -> Figure:
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    figure.suptitle(f"{result.attrs['cobble']}: lines and dots are ours (hard), squares the paper's")
    angles, colours = result["inclination"].values, (BLUE, GREEN, ORANGE, RED)
    quantities = (
        ("energy_ratio", "paper_energy_ratio", "CoR_E, laboratory (Table 5)"),
        ("energy_ratio_cm", None, "CoR_E, centre of mass"),
        ("normal_ratio", "paper_normal_ratio", "normal speeds, after over before (Table 6)"),
    )
    for ax, (ours, theirs, title) in zip(figure.subplots(1, 3), quantities, strict=True):
        for e, colour in zip(result["restitution"].values, colours, strict=True):
            ax.plot(
                angles, result[ours].sel(model="hard", restitution=e), "o-", color=colour, label=f"e = {e:g}", ms=4
            )
            if theirs:
                ax.plot(angles, result[theirs].sel(restitution=e), "s", color=colour, fillstyle="none")
        ax.set(xlabel="α [deg]", title=title, xticks=angles)
    figure.axes[0].legend(frameon=False)
    return figure
