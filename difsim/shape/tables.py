"""Tables of distances kept between runs, by a hash of what made them."""

import hashlib
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import numpy as np

from difsim.mesh import TriMesh
from difsim.saving import save_whole
from difsim.spline import GridSpline

FORM = 1  # counts the forms of the files, so that one of an older form is not read as one of this


def kept(cache: str | PathLike | None, kind: str, mesh: TriMesh, numbers: tuple, make: Callable) -> GridSpline:
    """`make()`, or the same table as an earlier run left it in the folder `cache` (None: nothing is kept).

    `kind`, `numbers` and the mesh tell one table from another.
    """
    if cache is None:
        return make()
    digest = hashlib.sha256(repr((FORM, numbers)).encode())
    digest.update(np.ascontiguousarray(mesh.vertices).tobytes())
    digest.update(np.ascontiguousarray(mesh.faces, np.int64).tobytes())
    path = Path(cache) / f"{kind}_{digest.hexdigest()[:24]}.npz"
    if not path.is_file():
        table = make()
        parts = {name: getattr(table, name) for name in ("origin", "spacing", "coefficients", "degree")}
        save_whole(path, lambda file: np.savez(file, **parts))
    with np.load(path) as table:
        return GridSpline(table["origin"], table["spacing"], table["coefficients"], int(table["degree"]))
