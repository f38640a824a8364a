"""Tables of distances kept between runs, under a hash of their inputs."""

from collections.abc import Callable
from os import PathLike

import jax.numpy as jnp

from difsim.mesh import TriMesh
from difsim.saving.checkpoint import Checkpoint
from difsim.spline import GridSpline

FORM = 2  # version of the tables, so that an older one is not read
PARTS = ("origin", "spacing", "coefficients", "degree")


def load_or_build(
    cache: str | PathLike | None, kind: str, mesh: TriMesh, numbers: tuple, make: Callable[[], GridSpline]
) -> GridSpline:
    """A table from the folder `cache`, or from `make()` if it is not there yet.

    **Arguments:** `cache`, a folder (None: nothing is kept); `kind`, `mesh` and `numbers`, which identify the
    table; `make`, which computes it. **Returns:** the table. **Raises:** ValueError for a damaged file.
    """
    if cache is None:
        return make()

    def compute():
        table = make()
        return {name: getattr(table, name) for name in PARTS}

    kept = Checkpoint(cache, (FORM, kind, numbers, mesh.vertices, mesh.faces))
    table = kept.get_or(kind, compute)
    return GridSpline(*(jnp.asarray(table[name]) for name in PARTS[:3]), degree=int(table["degree"]))
