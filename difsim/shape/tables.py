"""Tables of distances kept between runs, under a hash of their inputs."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path

import jax.numpy as jnp

from difsim.mesh import TriMesh
from difsim.saving.arrays import read_table, write_table
from difsim.saving.marks import digest
from difsim.spline import GridSpline

FORM = 2  # version of the form of the files, so that an older one is not read
PARTS = ("origin", "spacing", "coefficients", "degree")


def cached(cache: str | PathLike | None, kind: str, mesh: TriMesh, numbers: tuple, make: Callable) -> GridSpline:
    """A table from the folder `cache`, or from `make()` if it is not there yet.

    **Arguments:** `cache`, a folder (None: nothing is kept); `kind`, `mesh` and `numbers`, which identify the
    table; `make`, which computes it. **Returns:** the table. **Raises:** `ValueError` for a damaged file.
    """
    if cache is None:
        return make()
    mark = digest((FORM, numbers, mesh.vertices, mesh.faces))
    path = Path(cache) / f"{kind}_{mark[:24]}.arrays"
    if not path.exists():
        table = make()
        write_table(path, kind, mark, {name: getattr(table, name) for name in PARTS})
    _, found = read_table(path, kind, mark, PARTS)
    try:
        return GridSpline(*(jnp.asarray(found[name]) for name in PARTS[:3]), degree=int(found["degree"]))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no table ({error}): remove it, and it is made again") from error
