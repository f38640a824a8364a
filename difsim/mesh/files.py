"""Mesh files: which format a file has, the unit of its coordinates, and the size of its body."""

import warnings
from os import PathLike
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from difsim.extras import require
from difsim.mesh.polygons import Polygons, triangulate
from difsim.mesh.surface import TriMesh
from difsim.mesh.text_rows import OF_ICQ, read_obj, read_table
from difsim.saving.texts import check_file

LARGEST = 2**30  # bytes, 1 GiB: ten million faces as text
FAR = 100.0  # sizes of a body from the origin: beyond it rounded coordinates are looked for ...
COARSE = 1e-3  # ... in steps of this share of the size
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
    """Vertices [V,3] in m and faces [F,3] of a mesh file without checks of the surface, for `TriMesh` or `repair`.

    The suffix names the format: .obj; .tab, .txt, .plt, .ver, tables of vertices and plates (see
    docs/theory-shapes.md); .ply, .stl, .off, which trimesh reads. What a reader does not understand it refuses, unless
    it is known not to change the surface. Polygons become fans of triangles from their first corner. Vertices with
    equal coordinates are merged, since STL and textured files repeat them at every face, and unused vertices are
    dropped.

    **Arguments:** `path`; `unit` of the coordinates in the file, "m" or "km". **Returns:** vertices and faces.
    **Raises:** `ValueError` for another unit or format, for a file that is damaged or holds what is not understood, and
    for a polygon that no fan fills; `FileNotFoundError`. **Warns:** where coordinates far from the origin are rounded
    to 0.1 % of the body's size or more.
    """
    if unit not in _METRES:
        raise ValueError(f'unit is {unit!r}: give "m" or "km", the unit of the coordinates in the file')
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no mesh file at {path}")
    suffix = path.suffix.lower()
    if suffix in _OTHERS:
        form, remedy = _OTHERS[suffix]
        raise ValueError(f"{path}: is {form}, which is not read: {remedy}")
    if suffix not in _READERS:
        raise ValueError(
            f"{path}: no reader for {path.suffix!r}; give one of {', '.join(_READERS)}, as MeshLab writes"
        )
    check_file(path, LARGEST)
    try:
        polygons = _READERS[suffix](path)
        faces = triangulate(polygons)
    except (ValueError, OverflowError) as error:  # the second for an index of more than 64 bits
        raise ValueError(f"{path}: {error}") from error
    _warn_of_rounding(path, polygons.vertices, unit)
    # Zero has no sign here: -0.0 is the same place.
    vertices, index = np.unique(polygons.vertices + 0.0, axis=0, return_inverse=True)
    if len(vertices) < len(polygons.vertices):
        faces = index.reshape(-1)[faces]
    else:
        vertices = polygons.vertices
    used, faces = np.unique(faces, return_inverse=True)
    return vertices[used] * _METRES[unit], faces.reshape(-1, 3)


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


def _warn_of_rounding(path: Path, vertices: Vertices, unit: str) -> None:
    """Warn of a body far from the origin whose coordinates are rounded to a large share of its size."""
    if not len(vertices) or not np.isfinite(vertices).all():  # `TriMesh` names these
        return
    size = float(np.ptp(vertices, axis=0).max())
    for name, x in zip("xyz", vertices.T, strict=True):
        far = np.abs(x).max()
        # Near the origin equal steps are those of a lattice, as in a box or in a body of voxels.
        if not far > FAR * size > 0:
            continue
        least = COARSE * size
        for base in (2.0, 10.0):  # single precision, and digits
            step = base ** np.ceil(np.log(least) / np.log(base))
            turns = x / step
            if np.abs(turns - np.round(turns)).max() <= 4 * np.spacing(far / step):
                warnings.warn(
                    f"{path}: the coordinates {name}, around {far:.7g} {unit}, are multiples of {step:.3g} {unit} or "
                    f"more in a body of {size:.3g} {unit}: its shape may be rounded. Subtract a point of the body "
                    "before the file is written, or write more digits (STL has single precision)",
                    stacklevel=4,
                )
                return


def _read_by_trimesh(path: Path) -> Polygons:
    trimesh = require("mesh", "trimesh")
    try:
        found = trimesh.load_mesh(path, process=False)
        vertices, faces = np.asarray(found.vertices, float), np.asarray(found.faces, np.int64)
    except Exception as error:  # a damaged file ends in whatever its parser raises
        raise ValueError(f"trimesh cannot read it ({error!r}): write its triangles as an OBJ file") from error
    return Polygons(vertices, faces.ravel(), np.full(len(faces), 3))


_READERS = {".obj": read_obj} | dict.fromkeys((".ply", ".stl", ".off"), _read_by_trimesh)
_READERS |= dict.fromkeys((".tab", ".txt", ".plt", ".ver"), read_table)
# Other forms of published shapes: their name, and how to convert them.
_OTHERS = {
    ".icq": ("an implicitly connected quadrilateral model (ICQ)", OF_ICQ),
    ".bds": ("a SPICE DSK", "make an OBJ file of it with NAIF's tool dskexp (-format 3)"),
    ".dsk": ("a SPICE DSK", "make an OBJ file of it with NAIF's tool dskexp (-format 3)"),
}
