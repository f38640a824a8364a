"""`difsim gravity`: where one gravity field errs against another, in the three planes through a body.

The fast field fitted to the polyhedron of a mesh, or the ellipsoids and mascons in it, as Wu et al. (2019), Fig. A.3.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import matplotlib
import numpy as np
import tyro
import xarray as xr
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from difsim.declarations import Quantity
from difsim.gravity import AbstractField, Gridded, Polyhedron, error_map, pack
from difsim.gravity.sampling import is_outside
from difsim.mesh import TriMesh, load
from difsim.plot.style import PALE
from difsim.units import G
from experiments.harness import Found, Study
from experiments.variables import describe

PLANES = (("x", "y"), ("x", "z"), ("y", "z"))
WHAT = {"acceleration": "|g − g₀| / |g₀|", "potential": "|U − U₀| / |U₀|"}


def map_errors(fast: AbstractField, exact: AbstractField, mesh: TriMesh, points: int, reach: float) -> xr.Dataset:
    """Relative errors in the planes through the centroid of `mesh`, NaN inside the body.

    **Arguments:** `points` along each side of a plane; `reach`, half its side, in greatest radii of the body.
    **Returns:** `acceleration` and `potential` over `plane`, and the `second` and the `first` axis of each plane;
    `from_centroid` m along either axis.
    """
    centre = np.asarray(mesh.centroid)
    half = reach * np.linalg.norm(mesh.vertices - centre, axis=1).max()
    axis = np.linspace(-half, half, points)
    found = {what: np.full((len(PLANES), points**2), np.nan) for what in WHAT}
    for i, names in enumerate(PLANES):
        along = ["xyz".index(name) for name in names]
        places = np.tile(centre, (points, points, 1))
        places[..., along[0]] += axis[None, :]
        places[..., along[1]] += axis[:, None]
        places = places.reshape(-1, 3)
        seen = is_outside(mesh, places)
        errors = error_map(fast, exact, places[seen])
        for what in WHAT:
            found[what][i, seen] = errors[what]
    dims = "plane", "second", "first"
    columns = {what: (dims, x.reshape(-1, points, points), {"units": "1"}) for what, x in found.items()}
    columns["from_centroid"] = "first", axis, {"units": "m"}
    result = xr.Dataset(columns, {"plane": ["".join(names) for names in PLANES]})
    return describe(result, names={what: f"relative error of the {what}" for what in WHAT})


# Up to the densest metal; usual: comets to iron.
DENSITY = Quantity("kg/m³", "mean density", ge=10, le=2.3e4, usual=(200, 8e3))


def density_of(GM: float, shape: TriMesh, unit: str) -> float:
    """The mean density, kg/m3, of a body of gravitational parameter `GM`, m3/s2, with a shape that was read in `unit`.

    **Raises:** ValueError for a density that no body has. **Warns:** for one that is implausible.
    """
    density = GM / (G * shape.volume)
    implied = f"--GM {GM:g} m3/s2 and the volume {shape.volume:.6g} m3 imply {density:.3g} kg/m3, which"
    other, factor = ("km", 1e-9) if unit == "m" else ("m", 1e9)
    is_other = DENSITY.possible[0] <= density * factor <= DENSITY.possible[1]
    remedy = f"if the mesh is in {other}, give --unit {other}" if is_other else "give the GM of this body"
    if wrong := DENSITY.find_fault(density):
        raise ValueError(f"{implied} {wrong}: {remedy}")
    if doubt := DENSITY.find_doubt(density):
        warnings.warn(f"{implied} {doubt}", stacklevel=2)
    return density


@dataclass
class GravityStudy(Study):
    """Map the errors of a fast field of a uniform body, with the shape of a mesh file, against its polyhedron."""

    mesh: tyro.conf.Positional[Path]
    """Mesh file."""
    stage: Literal["tables", "packed"] = "tables"
    """"tables": fitted to the polyhedron; "packed": three ellipsoids packed into the mesh with mascons around."""
    GM: float = 666.2
    """Of the body, m³/s²."""
    spacing: float = 100.0
    """Of the near table, m."""
    unit: str = "km"
    """Of the mesh's coordinates, m or km."""
    points: int = 121
    """Along each side of a plane."""
    reach: float = 1.5
    """Half the side of a plane, in greatest radii of the body."""


def _map(options: GravityStudy, out: Path) -> Found:
    shape = load(options.mesh, options.unit)
    density = density_of(options.GM, shape, options.unit)
    exact = Polyhedron(shape, density)
    if options.stage == "packed":
        fast, title = pack(shape, density, GM=options.GM).field, "three ellipsoids and 1200 mascons"
    else:
        fast, title = Gridded.fit(exact, shape, options.spacing), f"table of {options.spacing:g} m"
    points = 31 if options.quick else options.points
    result = map_errors(fast, exact, shape, points, options.reach)
    worst = {what: float(result[what].max()) for what in WHAT}
    figure = draw(result, worst, f"{options.mesh.stem}, {title}")
    found = {"greatest_error": worst, "GM_m3_s2": options.GM, "unit": options.unit}
    return Found(found, {"result": result}, {"errors": figure})


def draw(result: xr.Dataset, worst: dict[str, float], title: str) -> Figure:
    """The acceleration's errors above, the potential's below, on one scale of colours; the body's inside is grey."""
    top = 10 ** np.ceil(np.log10(max(worst.values())))
    colours = matplotlib.colormaps["viridis"].with_extremes(bad=PALE)
    figure = Figure(figsize=(10.5, 6.6), layout="constrained")
    panels, km = figure.subplots(len(WHAT), len(PLANES)), result["from_centroid"].values / 1e3
    for row, what in zip(panels, WHAT, strict=True):
        for i, (ax, names) in enumerate(zip(row, PLANES, strict=True)):
            errors = result[what].values[i]
            # Errors of rounding are of no interest: six decades are shown.
            shown, norm = np.maximum(errors, 1e-6 * top), LogNorm(1e-6 * top, top)
            image = ax.pcolormesh(km, km, shown, norm=norm, cmap=colours, shading="nearest", rasterized=True)
            ax.set_aspect("equal")
            ax.set_facecolor(PALE)
            ax.set(xlabel=f"{names[0]} / km", ylabel=f"{names[1]} / km")
            ax.set_title(f"{what}, worst {np.nanmax(errors):.2g}")
        figure.colorbar(image, ax=list(row), label=WHAT[what], shrink=0.9)
    figure.suptitle(title)
    return figure


GravityStudy.ranges = {
    "GM": Quantity("m³/s²", "gravitational parameter", gt=0, usual=(1e-3, 1e12), slip="km³/s²"),
    "spacing": Quantity("m", "spacing of the table", gt=0, usual=(0.1, 5e3), slip="km"),
    "points": Quantity("", "points of a map along an edge", ge=2, usual=(2, 1000)),
    "reach": Quantity("greatest radii", "half an edge of the table", gt=0, usual=(1, 10)),
}
GravityStudy.stages = {"tables": _map, "packed": _map}
