"""The visible parts of a result: paths, surfaces that move, and spheres, each as points in time.

A study marks the variables of its dataset, and everything else follows from the marks, in the file as well:

    result["track"].attrs |= line()
    result["position"].attrs |= spheres("radius")
    result["vertices"].attrs |= surface("faces", moves="position", turns="attitude")
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Int

from difsim.saving.atomic import UNFINISHED
from difsim.shape import AbstractSDF
from difsim.typing import Mat3, Vec3
from experiments.variables import AXES, BODY

MARK = "geometry"
TURNED = ("part", "quaternion")  # dimensions of an attitude, scalar first


@dataclass(frozen=True)
class Part:
    """One thing that can be seen.

    **Arguments:** `name`; `points` [T, n, 3] m at `times` [T] s (one where it does not move); `faces` [m, 3] of a
    surface; `is_line` where the points are one path; `data`: numbers of the points [n] by name, the `radius` m of
    spheres among them.
    """

    name: str
    times: Float[np.ndarray, " T"]
    points: Float[np.ndarray, "T n 3"]
    faces: Int[np.ndarray, "m 3"] | None = None
    is_line: bool = False
    data: Mapping[str, np.ndarray] = field(default_factory=dict)


def line() -> dict[str, str]:
    """The mark of a vector in time that is drawn as a line."""
    return {MARK: "line"}


def spheres(radius: str | float) -> dict[str, str | float]:
    """The mark of the centres of spheres; `radius`, the variable that has their radii, or the one of all, m."""
    return {MARK: "spheres", "radius": radius}


def surface(faces: str, moves: str = "", turns: str = "") -> dict[str, str]:
    """The mark of the vertices of a surface; `faces`, the variable of its triangles; `moves` and `turns`, those of the
    position and the attitude that it has as a body, in whose frame the vertices are then."""
    marks = {k: v for k, v in (("moves", moves), ("turns", turns)) if v}
    return {MARK: "surface", "faces": faces} | marks | ({"frame": BODY} if marks else {})


def relief(x: str, y: str) -> dict[str, str]:
    """The mark of heights over a grid whose horizontal coordinates are the variables `x` and `y`."""
    return {MARK: "relief", "x": x, "y": y}


@eqx.filter_jit
def heights(ground: AbstractSDF, origin: Vec3, axes: Mat3, east: Array, north: Array, top: float) -> Array:
    """Heights of the ground, m, at places of a grid [n, m], by marching down from `top` m.

    **Arguments:** `ground`; `origin` m, and `axes` east, north and up as rows; `east`, `north` m. **Returns:** [n, m].
    """

    def one(e, n):
        step = lambda _, h: h - ground.distance(origin + jnp.stack([e, n, h]) @ axes)  # noqa: E731
        return jax.lax.fori_loop(0, 80, step, jnp.asarray(top))

    return jax.lax.map(lambda row: jax.vmap(one)(*row), (east, north))


def map_ground(
    ground: AbstractSDF,
    origin: Vec3,
    axes: Mat3,
    square: tuple[Float[np.ndarray, "2"], float, int],
    top: float = 0.0,
    name: str = "",
) -> dict[str, tuple]:
    """The ground about a place, as variables of a dataset: `east`, `north` and `height`, with `name` in front.

    **Arguments:** as of `heights`; `square`, its middle and half a side, m, and the number of nodes along a side.
    """
    (x, y), half, nodes = square
    side = np.linspace(-half, half, nodes)
    east, north = np.meshgrid(x + side, y + side)
    height = np.asarray(heights(ground, origin, axes, jnp.asarray(east), jnp.asarray(north), top))
    marks = relief(f"{name}east", f"{name}north")
    parts = {"east": (east, {}), "north": (north, {}), "height": (height, marks)}
    grid = f"{name}i", f"{name}j"
    return {f"{name}{k}": (grid, values, {"units": "m"} | mark) for k, (values, mark) in parts.items()}


def read(path: Path) -> dict[str, xr.Dataset]:
    """The datasets of a result by name: a NetCDF file, or all of those in a folder.

    **Raises:** `ValueError` where there is none.
    """
    files = [path]
    if path.is_dir():  # a run that writes now, or was killed, has unfinished ones
        files = sorted(file for file in path.rglob("*.nc") if not file.name.startswith(UNFINISHED))
    if not files or not all(file.is_file() for file in files):
        raise ValueError(f"{path} has no result: give a NetCDF file, or the folder that a run has written")
    found = {}
    for file in files:
        name = file.stem if file.parent in (path, path.parent) else f"{file.parent.name}_{file.stem}"
        try:
            tree = xr.open_datatree(file, engine="h5netcdf").load()
        except Exception as error:  # HDF5 has many
            raise ValueError(f"{file} is no result of a run ({error}): give the NetCDF file of one") from error
        for node in tree.subtree:
            if node.data_vars or node.coords:
                group = node.path.strip("/").replace("/", "_")
                found[f"{name}_{group}" if group else name] = node.to_dataset()
    return found


def parts(data: xr.Dataset) -> list[Part]:
    """Everything that is marked in a dataset."""
    makers = {"line": _lines, "spheres": _spheres, "surface": _surfaces, "relief": _reliefs}
    return [
        part
        for name, variable in data.items()
        if variable.attrs.get(MARK) in makers
        for part in makers[variable.attrs[MARK]](data, str(name))
    ]


def _lines(data: xr.Dataset, name: str) -> Iterator[Part]:
    for label, one in _iterate(data[name], 1):
        points = _to_space(one)[None]
        known = np.isfinite(points[0]).all(axis=1)
        times = _times(data, one.dims[0], points.shape[1])
        yield Part(label, np.zeros(1), points[:, known], is_line=True, data={"time": times[known]})


def _spheres(data: xr.Dataset, name: str) -> Iterator[Part]:
    variable = data[name]
    time = next((dim for dim in variable.dims if "time" in str(dim) or dim in ("frame", "shown")), None)
    radius = variable.attrs["radius"]
    radius = data[radius].values if isinstance(radius, str) else np.full(variable.shape[-1], float(radius))
    for label, one in _iterate(variable, 2 if time else 1):
        points = _to_space(one if time else one.expand_dims("one"))
        times = _times(data, time, len(points)) if time else np.zeros(1)
        yield Part(label, times, points, data={"radius": radius})


def _surfaces(data: xr.Dataset, name: str) -> Iterator[Part]:
    marks = data[name].attrs
    vertices, faces = _to_space(data[name]), data[marks["faces"]].values.astype(int)
    if "moves" not in marks:
        yield Part(name, np.zeros(1), vertices[None], faces)
        return
    places = dict(_iterate(data[marks["moves"]], 1))
    turns = dict(_iterate(data[marks["turns"]], 1)) if "turns" in marks else {}
    for (label, place), turn in zip(places.items(), turns.values() or [None] * len(places), strict=True):
        at = _to_space(place)
        turned = (
            _rotate(turn.values, vertices)
            if turn is not None
            else np.broadcast_to(vertices, (len(at), *vertices.shape))
        )
        yield Part(
            f"{name}{label.removeprefix(marks['moves'])}",
            _times(data, place.dims[0], len(at)),
            at[:, None] + turned,
            faces,
        )


def _reliefs(data: xr.Dataset, name: str) -> Iterator[Part]:
    marks = data[name].attrs
    x, y, z = (data[key].values for key in (marks["x"], marks["y"], name))
    rows, columns = z.shape
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    faces = np.concatenate(
        [
            np.stack([corner, corner + 1, corner + columns + 1], 1),
            np.stack([corner, corner + columns + 1, corner + columns], 1),
        ]
    )
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    known = np.isfinite(points).all(axis=1)
    yield Part(name, np.zeros(1), np.nan_to_num(points)[None], faces[known[faces].all(axis=1)])


def _iterate(variable: xr.DataArray, own: int) -> Iterator[tuple[str, xr.DataArray]]:
    """The variable for each index of the dimensions that are not its `own`: time or count, besides the components."""
    components = [dim for dim in variable.dims if dim in (*AXES, *TURNED)]
    free = [dim for dim in variable.dims if dim not in components]
    others = free[: len(free) - own]
    for at in product(*(range(variable.sizes[dim]) for dim in others)):
        index = dict(zip(others, at, strict=True))
        named = [str(variable[d].values[i]) if d in variable.coords else str(i) for d, i in index.items()]
        yield (
            "_".join([str(variable.name), *named]),
            variable.isel(index).transpose(*free[len(others) :], *components),
        )


def _to_space(variable: xr.DataArray) -> Float[np.ndarray, "*n 3"]:
    """The components along the last axis; a plane has z = 0."""
    component = next(dim for dim in variable.dims if dim in AXES)
    values = variable.transpose(..., component).values.astype(float)
    missing = 3 - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)])


def _times(data: xr.Dataset, dim: Any, count: int) -> Float[np.ndarray, " T"]:
    """The values along a dimension: its coordinate, the variable that has its name as a prefix, or the index."""
    for name in (dim, f"{dim}_time", "time"):
        if name in data.variables and data[name].shape == (count,) and data[name].dtype.kind in "fi":
            return data[name].values.astype(float)
    return np.arange(count, dtype=float)


def _rotate(attitudes: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """Vertices [n, 3] of a body in the frame, for unit quaternions [T, 4]: [T, n, 3]."""
    w, v = attitudes[:, None, :1], attitudes[:, None, 1:]
    twice = 2 * np.cross(v, vertices[None])
    return vertices[None] + w * twice + np.cross(v, twice)
