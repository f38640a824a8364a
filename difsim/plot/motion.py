"""Trajectories, heights, places of rest, energies and forces, as Matplotlib's axes."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from difsim.extras import require
from difsim.mesh import TriMesh
from difsim.plot.style import BLACK, GREY, PALE, RED, STYLE
from difsim.shape import AbstractSDF
from difsim.stepping.solution import Solution


def path(positions: Float[Any, "T 3"], body: TriMesh | None = None, *, ax: Any = None, **line: Any) -> Any:
    """Draw a trajectory in three dimensions, with the body that it belongs to.

    **Arguments:** `positions` [T, 3] m in the frame of the body; `body`, its mesh; `ax` with three dimensions; `line`,
    what Matplotlib's `plot` takes. **Returns:** the axes. **Raises:** ImportError without Matplotlib.
    """
    ax = _axes(ax, projection="3d")
    if body is not None:
        ax.plot_trisurf(
            *body.vertices.T, triangles=body.faces, color=PALE, edgecolor=GREY, linewidth=0.2, alpha=0.6
        )
    (drawn,) = ax.plot(*np.asarray(positions).T, **{"color": RED} | line)
    ax.plot(*np.asarray(positions)[-1:].T, "s", color=drawn.get_color())
    ax.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    ax.set_aspect("equal")
    return ax


def height(
    times: Float[Any, " T"], positions: Float[Any, "T 3"], ground: AbstractSDF, *, ax: Any = None, **line: Any
) -> Any:
    """Draw the distance from the ground against time.

    **Arguments:** `times` [T] s; `positions` [T, 3] m; `ground`, a shape of `difsim.shape`; `ax`; `line`, what
    Matplotlib's `plot` takes. **Returns:** the axes. **Raises:** ImportError without Matplotlib.
    """
    ax = _axes(ax)
    ax.plot(times, jax.vmap(ground.distance)(positions), **line)
    ax.set(xlabel="time [s]", ylabel="height above the ground [m]")
    return ax


def landing_ellipse(places: Float[np.ndarray, "n 2"], *, ax: Any = None, **points: Any) -> Any:
    """Draw places of rest and the ellipses that would hold 39, 86 and 99 % of them, were they Gaussian.

    The title has the semi-axes of one standard deviation and the shares that are inside.

    **Arguments:** `places` [n, 2] m east and north, three or more; `ax`; `points`, what Matplotlib's `scatter` takes.
    **Returns:** the axes. **Raises:** ValueError for fewer places; ImportError without Matplotlib.
    """
    places = np.asarray(places)
    if len(places) < 3:
        raise ValueError(f"landing_ellipse: {len(places)} places have no ellipse: give 3 or more")
    ax, ellipse = _axes(ax), require("plot", "matplotlib.patches").Ellipse
    centre, (size, axes) = places.mean(axis=0), np.linalg.eigh(np.cov(places.T))
    short, long = np.sqrt(size)
    away = np.linalg.norm((places - centre) @ axes / (short, long), axis=1)  # standard deviations
    angle = np.degrees(np.arctan2(*axes[::-1, 1]))
    ax.scatter(*places.T, **{"s": 8} | points)
    for n in (1, 2, 3):
        ax.add_patch(ellipse(centre, 2 * n * long, 2 * n * short, angle=angle, fill=False, color=RED))
    ax.plot(*centre, "+", color=RED, markersize=10, label="centre of the ellipses")
    inside = ", ".join(f"{100 * np.mean(away <= n):.0f}" for n in (1, 2, 3))
    ax.set_title(
        f"ellipses of 1, 2, 3 σ (1 σ: {long:.1f} x {short:.1f} m)\n{inside} % inside (Gaussian: 39, 86, 99)"
    )
    ax.set(xlabel="east [m]", ylabel="north [m]")
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def energy(solution: Solution, *, ax: Any = None) -> Any:
    """Draw the parts of the energy of a run against time, and their sum, which is constant where the run is exact.

    **Arguments:** `solution` of `simulate`, with energies; `ax`. **Returns:** the axes.
    **Raises:** ValueError for a solution without energies; ImportError without Matplotlib.
    """
    if not solution.energy:
        raise ValueError(f"energy: this solution has none: {'; '.join(solution.unknown)}")
    ax = _axes(ax)
    for name, joules in solution.energy.items():
        ax.plot(solution.times, joules, label=name.replace("_", " "))
    ax.plot(solution.times, sum(solution.energy.values()), color=BLACK, linewidth=2, label="sum")
    ax.set(xlabel="time [s]", ylabel="energy [J]")
    ax.set_title(f"the sum drifts by {float(solution.energy_error):.1e} of the energy in the system")
    ax.legend(frameon=False)
    return ax


def force(times: Float[Any, " T"], forces: Float[Any, "T 3"], *, ax: Any = None, **line: Any) -> Any:
    """Draw the magnitude of a force against time, such as that of `Touchdown.contact_force` under `jax.vmap`.

    **Arguments:** `times` [T] s; `forces` [T, 3] N; `ax`; `line`, what Matplotlib's `plot` takes.
    **Returns:** the axes. **Raises:** ImportError without Matplotlib.
    """
    ax, size = _axes(ax), np.linalg.norm(forces, axis=-1)
    ax.plot(times, size, **line)
    ax.set(xlabel="time [s]", ylabel="force [N]", title=f"peak {np.nanmax(size):.3g} N")
    return ax


def _axes(ax: Any, **kind: Any) -> Any:
    """The axes that were given, or those of a new figure in our style."""
    if ax is not None:
        return ax
    pyplot = require("plot", "matplotlib.pyplot")
    with pyplot.rc_context(STYLE):
        return pyplot.subplots(figsize=(6, 4), layout="constrained", subplot_kw=kind)[1]
