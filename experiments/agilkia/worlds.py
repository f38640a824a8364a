"""The worlds of descent and bounce: 67P from published numbers, and from a mesh of it."""

from difsim import units
from difsim.gravity import AbstractField, Polyhedron, lobes_67p, pack
from difsim.mesh import TriMesh
from difsim.shape import AbstractSDF, Ellipsoid, GridSDF, Posed, Union

# Gravity without the centrifugal term, and surface; both body-fixed, in m.
World = tuple[AbstractField, AbstractSDF]


def analogue() -> World:
    """67P as two ellipsoids with the inertia of its lobes, in field and surface: always at hand.

    Its surface is some fifty metres off the real one at the first touchdown: flights end elsewhere on it.
    """
    lobes = lobes_67p()
    solids = tuple(Posed(Ellipsoid(lobe.semi_axes), lobe.centre, lobe.axes.T) for lobe in lobes.fields)
    return lobes, Union(solids)


def of_mesh(mesh: TriMesh, spacing: float = 40.0, mascons: int = 1200) -> dict[str, World]:
    """Three fields about the surface of one mesh of 67P, each with its GM.

    "polyhedron" at uniform density, "ellipsoids + mascons" packed into the mesh, and "lobes", the analogue's.

    **Arguments:** `mesh`, comet-fixed, m; `spacing` m of the grid of distances; `mascons`, how many.
    """
    surface = GridSDF.from_mesh(mesh, spacing)
    density = units.GM_67P / (units.G * mesh.volume)
    return {
        "polyhedron": (Polyhedron(mesh, density), surface),
        "ellipsoids + mascons": (pack(mesh, density, mascons=mascons, GM=units.GM_67P).field, surface),
        "lobes": (lobes_67p(), surface),
    }
