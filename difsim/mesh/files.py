"""Mesh files: OBJ, PLY, STL and OFF through trimesh; PDS plate tables and VRML text by readers of our own."""

import re
from os import PathLike
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from difsim.checks import instance
from difsim.mesh.surface import TriMesh
from difsim.saving.texts import check_file

LARGEST = 2**30  # bytes, 1 GiB: ten million faces as text
_METRES = {"m": 1.0, "km": 1000.0}

Vertices = Float[np.ndarray, "V 3"]
Faces = Int[np.ndarray, "F 3"]


def load(path: str | PathLike, unit: str, size: tuple[float, float] | None = None) -> TriMesh:
    """Read a mesh file and check that it is one closed surface.

    **Arguments:** `path`, see `read`; `unit` of the coordinates in the file, "m" or "km", which is required
    because files do not state it and a wrong guess changes the mass by 10⁹; `size`, known bounds (low, high) in m
    of the longest side of the body's box, recommended for files of a user.
    **Returns:** the mesh. **Raises:** `ValueError` for another unit, a body outside `size`, and a surface that
    `TriMesh` refuses; `FileNotFoundError`. Nothing is repaired: see `repair`.
    """
    vertices, faces = read(path, unit)
    try:
        surface = TriMesh(vertices, faces)
        if size is not None:
            _check_size(surface, unit, *size)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return surface


def read(path: str | PathLike, unit: str) -> tuple[Vertices, Faces]:
    """Vertices [V,3] in m and faces [F,3] of a mesh file without checks, for `TriMesh` or `repair`.

    The suffix names the format: .obj, .ply, .stl, .off; .tab, a plate model of the Planetary Data System (numbers
    of vertices and plates, then both tables, see `_plates`); .wrl, text with one `point` and one `coordIndex`
    list. Vertices with equal coordinates are merged, since STL and textured files repeat them at every face, and
    unused vertices are dropped.

    **Arguments:** `path`; `unit` of the coordinates in the file, "m" or "km". **Returns:** vertices and faces.
    **Raises:** `ValueError` for another unit or format and for tables that do not fit their headers;
    `FileNotFoundError`.
    """
    if unit not in _METRES:
        raise ValueError(f'unit is {unit!r}: give "m" or "km", the unit of the coordinates in the file')
    path = Path(instance("load: path", path, str | PathLike, "the path of a file"))
    if not path.exists():
        raise FileNotFoundError(f"no mesh file at {path}")
    if path.suffix.lower() not in _READERS:
        raise ValueError(f"{path}: no reader for {path.suffix!r}; give one of {', '.join(_READERS)}")
    check_file(path, LARGEST)
    try:
        vertices, faces = _READERS[path.suffix.lower()](path)
    except (ValueError, OverflowError) as error:  # NumPy raises the second for an index of more than 64 bits
        raise ValueError(f"{path}: {error}") from error
    if faces.min(initial=0) >= 0 and faces.max(initial=0) < len(vertices):  # otherwise `TriMesh` raises
        unique, index = np.unique(vertices, axis=0, return_inverse=True)
        if len(unique) < len(vertices):
            vertices, faces = unique, index[faces]
        used, faces = np.unique(faces, return_inverse=True)
        vertices, faces = vertices[used], faces.reshape(-1, 3)
    return vertices * _METRES[unit], faces


def _check_size(surface: TriMesh, unit: str, low: float, high: float) -> None:
    longest = float(np.ptp(surface.vertices, axis=0).max())
    if low <= longest <= high:
        return
    other = "km" if unit == "m" else "m"
    in_other = longest * _METRES[other] / _METRES[unit]
    remedy = (
        f'the file is in {other}: give unit="{other}", which makes it {in_other:.6g} m'
        if low <= in_other <= high
        else "check the file and the size that you expect"
    )
    raise ValueError(f'read in "{unit}" the body is {longest:.6g} m long, not {low:.6g} to {high:.6g} m: {remedy}')


def _by_trimesh(path: Path) -> tuple[Vertices, Faces]:
    import trimesh

    try:
        raw = trimesh.load_mesh(path, process=False)
        vertices, faces = np.asarray(raw.vertices, float), np.asarray(raw.faces, np.int64).reshape(-1, 3)
    # Its parsers raise whatever they stumble over: IndexError, KeyError, struct.error and others.
    except Exception as error:
        raise ValueError(f"no {path.suffix} file that trimesh reads: {type(error).__name__}: {error}") from error
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise ValueError(f"its vertices have shape {vertices.shape}: give three coordinates each")
    return vertices, faces


def _plates(path: Path) -> tuple[Vertices, Faces]:
    """A plate model: the number of vertices, their table, the number of plates, their table.

    Both numbers are in the first line, or each precedes its table. A row is `x y z`, or `1 x y z` with a running
    number. Plates count vertices from 1, or from 0 if a 0 occurs.
    """
    rows = [line.replace(",", " ").split() for line in path.read_text().splitlines()]
    rows = [row for row in rows if row and not row[0].startswith("#")]
    counts, rows = _counts(rows, (1, 2))
    vertices, rows = _table(rows, counts[0], "vertices")
    if len(counts) == 1:
        counts, rows = _counts(rows, (1,))
    plates, rest = _table(rows, counts[-1], "plates")
    if rest:
        raise ValueError(f"{len(rest)} lines follow after {len(vertices)} vertices and {len(plates)} plates")
    if not ((plates == np.round(plates)) & (np.abs(plates) < 2.0**53)).all():  # NaN and inf, too
        raise ValueError("a plate names a vertex by what is no whole number")
    faces = plates.astype(np.int64)
    return vertices, faces - int(faces.min(initial=1) > 0)


def _counts(rows: list[list[str]], lengths: tuple[int, ...]) -> tuple[list[int], list[list[str]]]:
    """The sizes of the next tables, from the first row, and the rows after it."""
    first = rows[0] if rows else []
    if len(first) not in lengths or not all(word.isdigit() for word in first):
        raise ValueError(
            f"{' '.join(first)!r} stands where a plate model has the number of rows of the next table: "
            "put it there (vertices, or vertices and plates, in the first line)"
        )
    return [int(word) for word in first], rows[1:]


def _table(rows: list[list[str]], count: int, what: str) -> tuple[Float[np.ndarray, "N 3"], list[list[str]]]:
    """The first `count` rows as three numbers each, and the rows after them."""
    taken = rows[:count]
    widths = {len(row) for row in taken}
    if len(taken) < count or not widths <= {3, 4} or len(widths) > 1:
        raise ValueError(
            f"the header promises {count} {what}, of which {len(taken)} lines are left, with {sorted(widths)} "
            "columns: each needs 3, or 4 with a running number"
        )
    numbers = np.array(taken, float).reshape(count, -1)
    if widths == {4} and (numbers[:, 0] - numbers[0, 0] != np.arange(count)).any():
        raise ValueError(f"the first of 4 columns of the {what} is no running number")
    return numbers[:, -3:], rows[count:]


def _vrml(path: Path) -> tuple[Vertices, Faces]:
    """The `point` and `coordIndex` lists of VRML text; its transforms are not applied."""
    text = re.sub(r"#.*", "", path.read_text())
    text = re.sub(r"TextureCoordinate2?\s*\{[^}]*\}", "", text)
    points, indices = (re.findall(rf"\b{name}\s*\[([^\]]*)\]", text) for name in ("point", "coordIndex"))
    if len(points) != 1 or len(indices) != 1:
        raise ValueError(f"{len(points)} point and {len(indices)} coordIndex lists: keep one body, one of each")
    vertices = np.array(points[0].replace(",", " ").split(), float)
    polygons = [part.split() for part in re.split(r"-1\b", indices[0].replace(",", " ")) if part.strip()]
    if vertices.size % 3 or any(len(polygon) != 3 for polygon in polygons):
        raise ValueError("points need 3 coordinates and polygons 3 corners: triangulate the surface first")
    return vertices.reshape(-1, 3), np.array(polygons, np.int64).reshape(-1, 3)


_READERS = {".obj": _by_trimesh, ".ply": _by_trimesh, ".stl": _by_trimesh, ".off": _by_trimesh}
_READERS |= {".tab": _plates, ".wrl": _vrml}
