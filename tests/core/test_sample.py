"""Points on a surface: where they lie, and how they are spread."""

import numpy as np
import trimesh

from difsim import mesh
from difsim.mesh import surface_points

SHAPE = trimesh.creation.box([1.0, 2.0, 3.0])
BODY = mesh.TriMesh(np.array(SHAPE.vertices), np.array(SHAPE.faces))


def test_points_lie_on_their_faces_with_outward_normals():
    points, normals, faces = surface_points(BODY, 500, seed=1)
    corner = BODY.vertices[BODY.faces[faces, 0]]
    np.testing.assert_allclose(((points - corner) * normals).sum(axis=1), 0, atol=1e-14)
    np.testing.assert_allclose((points * normals).sum(axis=1), np.abs(normals) @ [0.5, 1.0, 1.5], atol=1e-14)
    assert np.all(np.abs(points) <= np.array([0.5, 1.0, 1.5]) + 1e-14)


def test_they_are_uniform_in_area():
    """Counts on the three pairs of sides, and on the cells of one side, within 4 standard deviations."""
    count = 60_000
    points, normals, _ = surface_points(BODY, count, seed=2)
    area = np.array([6.0, 3.0, 2.0]) / 11
    on_pair = np.abs(normals).sum(axis=0)
    assert np.all(np.abs(on_pair - count * area) < 4 * np.sqrt(count * area * (1 - area)))
    side = points[normals[:, 0] > 0.5]
    cells, *_ = np.histogram2d(side[:, 1], side[:, 2], bins=5, range=[[-1, 1], [-1.5, 1.5]])
    assert np.abs(cells - len(side) / 25).max() < 4 * np.sqrt(len(side) / 25)
