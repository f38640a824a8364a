"""Stones: a body, points, edges and a distance, all of one mesh."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.body import Stone
from difsim.mesh import TriMesh
from difsim.shape import Box

CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
BOX_FACES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
     [1, 5, 7], [1, 7, 3]]
)  # fmt: skip


def box_mesh(sides=(0.1, 0.1, 0.1)) -> TriMesh:
    return TriMesh(CORNERS * np.array(sides), BOX_FACES)


def angle_mesh() -> TriMesh:
    """An L of three cubes of edge 1, 1 thick: one of its edges is concave."""
    outline = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], float)
    vertices = np.concatenate([np.column_stack([outline, np.full(6, z)]) for z in (0.0, 1.0)])
    cap = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 5], [3, 4, 5]])
    sides = [[i, j, j + 6] for i, j in zip(range(6), [1, 2, 3, 4, 5, 0], strict=True)]
    sides += [[i, j + 6, i + 6] for i, j in zip(range(6), [1, 2, 3, 4, 5, 0], strict=True)]
    return TriMesh(vertices, np.concatenate([cap[:, ::-1], cap + 6, sides]))


def test_a_box_has_its_inertia_and_its_twelve_edges():
    sides = np.array([0.1, 0.2, 0.3])
    stone = Stone.from_mesh(box_mesh(sides), mass=2.0, shape=Box(sides / 2))
    expected = 2.0 / 12 * (np.sum(sides**2) - sides**2)
    np.testing.assert_allclose(stone.body.inertia, np.diag(expected), atol=1e-12)
    np.testing.assert_allclose(stone.radius, np.linalg.norm(sides) / 2, rtol=1e-12)
    # The diagonals of the faces are no edges; the pieces of the others are as long as the edges.
    np.testing.assert_allclose(jnp.sum(stone.edges.lengths), 4 * sides.sum(), rtol=1e-12)
    assert float(jnp.max(stone.edges.lengths)) <= 0.3 / 10 + 1e-12
    ends = stone.nodes[stone.edges.nodes]
    np.testing.assert_allclose(jnp.linalg.norm(ends[:, 1] - ends[:, 0], axis=1), stone.edges.lengths, rtol=1e-9)
    # From the middle of an edge its wings lead along faces, and half of their sum, turned round, leads out.
    middle = ends.mean(axis=1)
    distance = jax.jit(jax.vmap(stone.shape.distance))
    for wing in (0, 1):
        np.testing.assert_allclose(distance(middle + 0.01 * stone.edges.wings[:, wing]), 0, atol=1e-12)
    assert float(jnp.min(distance(middle - 0.01 * stone.edges.wings.sum(axis=1)))) > 0.013


def test_points_lie_on_the_tabulated_surface_of_a_concave_stone():
    stone = Stone.from_mesh(angle_mesh(), mass=3.0, count=200, spacing=0.05)
    assert stone.points.shape == (212, 3)
    assert float(jnp.max(jnp.abs(jax.jit(jax.vmap(stone.shape.distance))(stone.points)))) < 0.3 * 0.05
    # 17 of 18 edges are convex: the one along z at (1, 1) is not.
    corner = np.array([1.0, 1.0, 0.5]) - angle_mesh().centroid
    ends = np.asarray(stone.nodes[stone.edges.nodes])
    np.testing.assert_allclose(jnp.sum(stone.edges.lengths), 2 * 8 + 5, rtol=1e-12)
    assert np.linalg.norm(ends[..., :2].mean(axis=1) - corner[:2], axis=1).min() > 0.05


def test_a_file_is_no_mesh():
    # Below the type check of this session, which a user does not have.
    with pytest.raises(ValueError, match=r"difsim\.mesh\.load"):
        inspect.unwrap(Stone.from_mesh)("a.obj", mass=1.0)
