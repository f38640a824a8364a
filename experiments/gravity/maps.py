"""Where one gravity field errs against another: the three planes through a body, force beside potential.

    python -m experiments.gravity.maps MESH.obj OUT.png

draws the fast field fitted to the polyhedron of a mesh; with `--field packed` the ellipsoids and mascons in it, as
paper 000 Fig. A.3. For another pair call `draw`, which takes any two fields.
"""

from pathlib import Path
from typing import Literal

import jax
import matplotlib
import numpy as np
import tyro
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from difsim.gravity import AbstractField, Gridded, Polyhedron, error_map, pack
from difsim.gravity.sampling import outside
from difsim.mesh import TriMesh, load
from difsim.units import G

PLANES = (("x", "y"), ("x", "z"), ("y", "z"))
WHAT = {"acceleration": "|g − g₀| / |g₀|", "potential": "|U − U₀| / |U₀|"}


def plane_errors(
    fast: AbstractField, exact: AbstractField, mesh: TriMesh, points: int, reach: float
) -> list[dict]:
    """Relative errors in the planes through the centroid of `mesh`, NaN inside the body.

    **Arguments:** `points` along each side of a plane; `reach`, half its side, in greatest radii of the body.
    **Returns:** for each of PLANES `acceleration` and `potential` [points, points], the first index along the
    second axis of the plane, and `axis` [points], m from the centroid.
    """
    centre = np.asarray(mesh.centroid)
    half = reach * np.linalg.norm(mesh.vertices - centre, axis=1).max()
    axis = np.linspace(-half, half, points)
    planes = []
    for names in PLANES:
        along = ["xyz".index(name) for name in names]
        places = np.tile(centre, (points, points, 1))
        places[..., along[0]] += axis[None, :]
        places[..., along[1]] += axis[:, None]
        places = places.reshape(-1, 3)
        seen = outside(mesh, places)
        errors = error_map(fast, exact, places[seen])
        plane = {"axis": axis}
        for what in WHAT:
            plane[what] = np.full(len(places), np.nan)
            plane[what][seen] = errors[what]
            plane[what] = plane[what].reshape(points, points)
        planes.append(plane)
    return planes


def draw(
    fast: AbstractField,
    exact: AbstractField,
    mesh: TriMesh,
    path: Path,
    title: str = "",
    points: int = 121,
    reach: float = 1.5,
) -> dict[str, float]:
    """Write the picture, the acceleration's errors above, the potential's below, on one scale of colours.

    The inside of the body is grey. **Returns:** the greatest error shown of each.
    """
    planes = plane_errors(fast, exact, mesh, points, reach)
    worst = {what: float(max(np.nanmax(plane[what]) for plane in planes)) for what in WHAT}
    top = 10 ** np.ceil(np.log10(max(worst.values())))
    colours = matplotlib.colormaps["viridis"].with_extremes(bad="#D9D9D9")
    figure = Figure(figsize=(10.5, 6.6), layout="constrained")
    panels = figure.subplots(len(WHAT), len(PLANES))
    for row, what in zip(panels, WHAT, strict=True):
        for ax, plane, names in zip(row, planes, PLANES, strict=True):
            km = plane["axis"] / 1e3
            # Errors of rounding are of no interest: six decades are shown.
            image = ax.pcolormesh(
                km,
                km,
                np.maximum(plane[what], 1e-6 * top),
                norm=LogNorm(1e-6 * top, top),
                cmap=colours,
                shading="nearest",
                rasterized=True,
            )
            ax.set_aspect("equal")
            ax.set_facecolor("#D9D9D9")
            ax.set_xlabel(f"{names[0]} / km")
            ax.set_ylabel(f"{names[1]} / km")
            ax.set_title(f"{what}, worst {np.nanmax(plane[what]):.2g}", fontsize=9.5, loc="left")
        figure.colorbar(image, ax=list(row), label=WHAT[what], shrink=0.9)
    figure.suptitle(title)
    figure.savefig(path, dpi=150)
    return worst


def main(
    mesh: Path,
    out: Path,
    /,
    field: Literal["tables", "packed"] = "tables",
    GM: float = 666.2,
    spacing: float = 100.0,
    unit: str = "km",
) -> None:
    """Map a fast field of a uniform body with the shape of a mesh file against its polyhedron.

    Args:
        mesh: Mesh file.
        out: Picture to write (.png).
        field: tables fitted to the polyhedron, or three ellipsoids packed into the mesh with mascons around them.
        GM: Of the body, m³/s².
        spacing: Of the near table, m.
        unit: Of the mesh's coordinates, m or km.
    """
    shape = load(mesh, unit)
    density = GM / (G * shape.volume)
    exact = Polyhedron(shape, density)
    if field == "packed":
        fast, title = pack(shape, density, GM=GM).field, f"{mesh.stem}, three ellipsoids and 1200 mascons"
    else:
        fast, title = Gridded.fit(exact, shape, spacing), f"{mesh.stem}, table of {spacing:g} m"
    worst = draw(fast, exact, shape, out, title)
    print(", ".join(f"{what}: worst {error:.2g}" for what, error in worst.items()))


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    tyro.cli(main)
