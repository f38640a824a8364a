"""On the host: points spread evenly over a surface."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from difsim.checks import integer
from difsim.mesh.surface import TriMesh, require_mesh


class SurfacePoints(NamedTuple):
    """Points on a mesh: `points` [N,3] m, outward unit `normals` [N,3], the `faces` [N] they lie on."""

    points: Float[np.ndarray, "N 3"]
    normals: Float[np.ndarray, "N 3"]
    faces: Int[np.ndarray, " N"]


def surface_points(mesh: TriMesh, count: int, seed: int = 0) -> SurfacePoints:
    """Random points on a surface, uniform by area, with the normals of their faces.

    One point lies in each of `count` equal shares of the area, in the order of the faces, which is more even than
    independent points.

    **Arguments:** `mesh`; `count` of points; `seed`. **Returns:** the points.
    **Raises:** `ValueError` for a count below 1.
    """
    require_mesh("surface_points", mesh)
    count = integer("surface_points: count", count)
    random = np.random.default_rng(seed)
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    cross = np.cross(b - a, c - a)
    twice_area = np.linalg.norm(cross, axis=1)
    share = (np.arange(count) + random.uniform(size=count)) / count * twice_area.sum()
    # Rounding may put the last share beyond the last face.
    faces = np.minimum(np.searchsorted(np.cumsum(twice_area), share), len(twice_area) - 1)
    # (√u, v) is uniform in a triangle, without a denser corner.
    u, v = np.sqrt(random.uniform(size=(count, 1))), random.uniform(size=(count, 1))
    points = a[faces] * (1 - u) + b[faces] * (u * (1 - v)) + c[faces] * (u * v)
    return SurfacePoints(points, (cross / twice_area[:, None])[faces], faces)
