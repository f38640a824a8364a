"""Simplification of a mesh to fewer triangles."""

import numpy as np

from difsim.checks import integer
from difsim.extras import require
from difsim.mesh.surface import TriMesh, require_mesh


def simplify(mesh: TriMesh, faces: int) -> TriMesh:
    """The mesh with about `faces` triangles, by collapsing the edges that change it least.

    Comet 67P from 96 834 to 20 000: volume 4e-5 smaller, centroid 5 cm off, surfaces 1.4 m rms apart, 6 m at most.

    **Arguments:** `mesh`; `faces`, the number of triangles wanted. **Returns:** the simplified mesh.
    **Raises:** `ValueError` for fewer than 4 triangles, more than the mesh has, or a result that is no closed
    surface.
    **Source:** Garland and Heckbert, Surface simplification using quadric error metrics, SIGGRAPH 1997.
    """
    fast_simplification = require("mesh", "fast_simplification")

    require_mesh("simplify", mesh)
    faces = integer("simplify: faces", faces, 4)
    if not 4 <= faces < len(mesh.faces):
        raise ValueError(f"faces = {faces}: give at least 4 and fewer than the mesh has, {len(mesh.faces)}")
    # Relative to the mean vertex, because the algorithm works in single precision.
    middle = mesh.vertices.mean(axis=0)
    vertices, triangles, *_ = fast_simplification.simplify(
        (mesh.vertices - middle).astype(np.float32), mesh.faces.astype(np.int32), target_count=faces
    )
    return TriMesh(vertices + middle, triangles)
