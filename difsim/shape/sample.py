"""On the host: points spread evenly over a surface."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from difsim.mesh import TriMesh


class SurfacePoints(NamedTuple):
    """Points on a mesh: `points` [N, 3] m, outward unit `normals` [N, 3], the `faces` [N] they lie on."""

    points: Float[np.ndarray, "N 3"]
    normals: Float[np.ndarray, "N 3"]
    faces: Int[np.ndarray, " N"]


def surface_points(mesh: TriMesh, count: int, seed: int) -> SurfacePoints:
    """`count` independent points, uniform in area, with the normals of their faces; the same for one `seed`.

    **Raises:** `ValueError` for a count below 1.
    """
    if count < 1:
        raise ValueError(f"count is {count}: give at least 1")
    random = np.random.default_rng(seed)
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    cross = np.cross(b - a, c - a)
    twice_area = np.linalg.norm(cross, axis=1)
    faces = random.choice(len(mesh.faces), count, p=twice_area / twice_area.sum())
    # (√u, v): uniform in a triangle, not denser at a corner.
    u, v = np.sqrt(random.uniform(size=(count, 1))), random.uniform(size=(count, 1))
    points = a[faces] * (1 - u) + b[faces] * (u * (1 - v)) + c[faces] * (u * v)
    return SurfacePoints(points, (cross / twice_area[:, None])[faces], faces)
