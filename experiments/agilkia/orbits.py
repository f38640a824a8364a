"""The pictures of descent and bounce, from their Datasets and the outline of a mesh."""

from collections.abc import Callable

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from difsim.mesh import TriMesh
from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, note, number
from experiments.agilkia.bounce import PAPER_SITE
from experiments.agilkia.keys import PHILAE
from experiments.agilkia.pictures import heading

PAPER_KM = np.asarray(PAPER_SITE) / 1e3

COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, RED)
# Two views of the body-fixed frame: abscissa, ordinate, and the axis towards the viewer. From +z and from -y
# the first touchdown is in sight.
VIEWS = {"from +z": (0, 1, (0.0, 0.0, 1.0)), "from −y": (0, 2, (0.0, -1.0, 0.0))}


def draw_descent(result: xr.Dataset, mesh: TriMesh | None = None) -> Figure:
    """The descents of all worlds, forward (solid) and backward (dashed), whole and near the ground (Fig. 9).

    **Arguments:** `result` of `descend`; `mesh` for the outline, if any.
    """
    texts = [
        f"{number(float(row['landing_off']), '.1f')} m from the touchdown, {float(row['landing_time']):.0f} s"
        for row in _rows(result)
    ]
    furthest, target = result["landing_off"].max().item(), np.asarray(result.attrs["target"]) / 1e3

    def draw(ax: Axes, i: int, j: int) -> None:
        _draw_flights(ax, i, j, result, {"forward": "-", "backward": "--"}, "landing_position", texts)
        ax.plot(target[i], target[j], "+", color=BLACK, markersize=11, markeredgewidth=1.6)

    return _views(
        f"Descent: landing within {number(furthest, '.1f')} m of the synthetic scenario's site",
        draw,
        target,
        max(0.03, 3e-3 * furthest),
        mesh,
        "solid: from separation to the ground; dashed: from the touchdown back; +: the scenario's touchdown",
    )


def draw_bounce(result: xr.Dataset, mesh: TriMesh | None = None) -> Figure:
    """The bounce of each world, with the paper's second site (x), whole comet and close. Arguments as above."""
    texts = [f"{float(row['distance']):.0f} m after {float(row['time']):.0f} s" for row in _rows(result)]
    start = result["path"].isel(world=0, share=0).values / 1e3

    def draw(ax: Axes, i: int, j: int) -> None:
        _draw_flights(ax, i, j, result, {"path": "-"}, "place", texts)
        ax.plot(start[i], start[j], "+", color=BLACK, markersize=11, markeredgewidth=1.6)
        ax.plot(PAPER_KM[i], PAPER_KM[j], "x", color=BLACK, markersize=9, markeredgewidth=1.6)

    return _views(
        "Bounce: the next contact is not the paper's (718.5 m after 2754 s)",
        draw,
        start,
        1.2,
        mesh,
        "+: first touchdown; ×: the paper's second site; dots: next contacts",
    )


def _rows(result: xr.Dataset) -> list[xr.Dataset]:
    return [result.isel(world=k) for k in range(result.sizes["world"])]


def _draw_flights(
    ax: Axes, i: int, j: int, result: xr.Dataset, paths: dict[str, str], end: str, texts: list[str]
) -> None:
    """The paths [share, 3] of each world by its style of line, a dot at the end, and what its label says."""
    for row, colour, text in zip(_rows(result), COLOURS, texts, strict=False):
        status = row["status"].item()
        label = f"{row['world'].item()}: {text if status == 'OK' else status}"
        for name, style in paths.items():
            path = row[name].values / 1e3
            width = 1.4 if style == "-" else 1.0
            ax.plot(path[:, i], path[:, j], style, color=colour, linewidth=width, label=label)
            label = None
        at = row[end].values / 1e3
        ax.plot(at[i], at[j], "o", color=colour, markersize=5)


def draw_contacts(result: xr.Dataset, mesh: TriMesh | None = None) -> Figure:
    """The next contacts of draws of the posterior on the comet, and their times and distances.

    **Arguments:** `result`, with the next contacts of each draw; `mesh` for the outline, if any.
    """
    figure = Figure(figsize=(10, 8.5), layout="constrained")
    figure.suptitle(heading(result, "Next contact"))
    is_philae = result.attrs["lander"] == PHILAE
    above, below = figure.subplots(2, 2)
    known = np.isfinite(result["second_contact_time"].values)
    if not known.any():
        note(above[0], "no draw comes down")
        for ax in (*above, *below):
            ax.set_axis_off()
        return figure
    places = result["second_contact_position"].values[known] / 1e3
    for ax, (name, (i, j, _)) in zip(above, VIEWS.items(), strict=True):
        _prepare(ax, name, mesh, is_close=False)
        ax.plot(places[:, i], places[:, j], ".", color=BLUE, markersize=4, alpha=0.6)
        if is_philae:
            ax.plot(PAPER_KM[i], PAPER_KM[j], "x", color=BLACK, markersize=9, markeredgewidth=1.6)
        ax.set_title(f"{name} (comet-fixed)" + ("; ×: the paper's second site" if is_philae else ""))
    for ax, name, unit in zip(below, ("time", "distance"), ("s", "m"), strict=True):
        values = result[f"second_contact_{name}"].values[known]
        ax.hist(values, bins=30, color=BLUE)
        for share, style in ((0.025, ":"), (0.5, "-"), (0.975, ":")):
            ax.axvline(np.quantile(values, share), color=BLACK, linewidth=1.0, linestyle=style)
        ax.set_xlabel(f"{name} of the next contact [{unit}]")
        ax.set_ylabel("draws")
        ax.set_title(f"median {np.median(values):.0f} {unit} (lines: median and 95 %)")
    share = 100 * known.mean()
    below[0].text(0.98, 0.95, f"{share:.0f} % of {known.size} draws\ncome down within 4 h", ha="right", va="top",
                  transform=below[0].transAxes)  # fmt: skip
    return figure


def draw_joint(result: xr.Dataset) -> Figure:
    """Time against distance of the next contacts that each posterior predicts, with the published ones and 1 sigma.

    **Arguments:** `result` of the stage "joint".
    """
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    ax = figure.subplots()
    for case, colour in zip(result["case"].values, COLOURS, strict=False):
        time, distance = (result[f"second_contact_{k}"].sel(case=case).values for k in ("time", "distance"))
        known = np.isfinite(time)
        height = 2.0 - np.unique(time).size / time.size  # few different draws above many
        ax.plot(
            time[known], distance[known], ".", color=colour, markersize=4, alpha=0.5, label=case, zorder=height
        )
    (time, distance), (time_sigma, distance_sigma) = result["observed"].values, result["sigma"].values
    ax.errorbar(time, distance, distance_sigma, time_sigma, color=BLACK, capsize=3, zorder=3, label="published")
    ax.set_xlabel("time of the next contact [s after the start]")
    ax.set_ylabel("its distance [m]")
    ax.legend()
    ax.set_title("Next contacts that each posterior predicts")
    return figure


def _views(
    title: str,
    draw: Callable[[Axes, int, int], None],
    centre: np.ndarray,
    near: float,
    mesh: TriMesh | None,
    note: str,
) -> Figure:
    """`draw` in both views, whole above and within `near` km of `centre` below."""
    figure = Figure(figsize=(10, 9.5), layout="constrained")
    figure.suptitle(title)
    for column, (name, (i, j, _)) in zip(figure.subplots(2, 2).T, VIEWS.items(), strict=True):
        for ax, is_close in zip(column, (False, True), strict=True):
            _prepare(ax, name, mesh, is_close)
            draw(ax, i, j)
            ax.set_title(f"{name}, {'near the touchdown' if is_close else 'whole'} (comet-fixed)")
            if is_close:
                ax.set_xlim(centre[i] - near, centre[i] + near)
                ax.set_ylim(centre[j] - near, centre[j] + near)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", title=note)
    return figure


def _prepare(ax: Axes, name: str, mesh: TriMesh | None, is_close: bool) -> None:
    """The axes of a view, and the facets of the mesh that face the viewer, lit from there, the farthest first."""
    i, j, towards = VIEWS[name]
    ax.set_aspect("equal", adjustable="box" if is_close else "datalim")
    ax.set(xlabel=f"{'xyz'[i]} [km]", ylabel=f"{'xyz'[j]} [km]")
    if mesh is None:
        return
    corners = np.asarray(mesh.vertices)[np.asarray(mesh.faces)] / 1e3
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    light = normals @ towards / np.linalg.norm(normals, axis=1)
    shown = np.flatnonzero(light > 0)
    shown = shown[np.argsort(corners[shown].mean(axis=1) @ towards)]
    grey = 0.72 + 0.25 * light[shown]
    edges = GREY if is_close and len(corners) < 10_000 else "face"
    facets, colours = corners[shown][:, :, [i, j]], np.stack([grey, grey, grey], axis=1)
    ax.add_collection(PolyCollection(facets, facecolors=colours, edgecolors=edges, linewidths=0.15))
