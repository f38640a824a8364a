"""Tables of distances kept between runs, by a hash of what made them."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from difsim.mesh import TriMesh
from difsim.saving import digest, read_table, write_table
from difsim.spline import GridSpline

FORM = 2  # counts the forms of the files, so that one of an older form is not read as one of this
PARTS = ("origin", "spacing", "coefficients", "degree")


def kept(cache: str | PathLike | None, kind: str, mesh: TriMesh, numbers: tuple, make: Callable) -> GridSpline:
    """`make()`, or the same table as an earlier run left it in the folder `cache` (None: nothing is kept).

    `kind`, `numbers` and the mesh tell one table from another. **Raises:** `ValueError` for a damaged file.
    """
    if cache is None:
        return make()
    mark = digest((FORM, numbers, mesh.vertices, mesh.faces))
    path = Path(cache) / f"{kind}_{mark[:24]}.arrays"
    if not path.exists():
        table = make()
        write_table(path, kind, mark, {name: getattr(table, name) for name in PARTS})
    _, table = read_table(path, kind, mark, PARTS)
    try:
        return GridSpline(*(table[name] for name in PARTS[:3]), int(table["degree"]))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no table ({error}): remove it, and it is made again") from error
