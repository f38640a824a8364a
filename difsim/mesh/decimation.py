"""Fewer triangles for the same body."""

import fast_simplification
import numpy as np

from difsim.mesh.surface import TriMesh


def simplify(mesh: TriMesh, faces: int) -> TriMesh:
    """The mesh with about `faces` triangles, by collapsing the edges that change it least.

    Comet 67P from 96 834 to 20 000: volume 4e-5 smaller, centroid 5 cm off, surfaces 1.4 m rms apart, 6 m at most.

    **Raises:** `ValueError` for fewer than 4 triangles or not fewer than there are, and where what results is no
    closed surface (`TriMesh`).
    **Source:** Garland and Heckbert, Surface simplification using quadric error metrics, SIGGRAPH 1997.
    """
    if not 4 <= faces < len(mesh.faces):
        raise ValueError(f"faces = {faces}: give at least 4 and fewer than the mesh has, {len(mesh.faces)}")
    # About a point near by: it works in single precision.
    middle = mesh.vertices.mean(axis=0)
    vertices, triangles = fast_simplification.simplify(
        (mesh.vertices - middle).astype(np.float32), mesh.faces.astype(np.int32), target_count=faces
    )
    return TriMesh(vertices + middle, triangles)
