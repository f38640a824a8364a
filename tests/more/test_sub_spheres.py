"""A polyhedron filled with pebbles: they lie inside, and leave no more vacant than they say."""

import numpy as np
import pytest

from difsim.mesh import TriMesh
from difsim.shape.sub_spheres import fill_with_spheres


def hexahedron(corners):
    """Of 8 corners, in the order of binary numbers zyx."""
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    return TriMesh(np.asarray(corners, float), np.array(triangles))


def box(*sides):
    return hexahedron([np.array(sides) * [i & 1, i >> 1 & 1, i >> 2] for i in range(8)])


def disc(radius, height, sectors=24):
    turn = 2 * np.pi * np.arange(sectors) / sectors
    rim = radius * np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    up = np.array([0.0, 0.0, height])
    i, j, n = np.arange(sectors), np.roll(np.arange(sectors), -1), sectors
    low, high = np.full(n, 2 * n), np.full(n, 2 * n + 1)
    triangles = (low, j, i), (high, n + i, n + j), (i, j, n + j), (i, n + j, n + i)
    return TriMesh(
        np.concatenate([rim, rim + up, [0 * up, up]]), np.concatenate([np.stack(t, 1) for t in triangles])
    )


def protrusion(mesh, centre, radius):
    """How far the farthest pebble of a convex solid stands out, m: by the planes of its faces."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    return np.max((centre @ normal.T - (a * normal).sum(1)) + radius[:, None])


def vacancy(centre, radius, inside):
    return np.mean([(((x - centre) ** 2).sum(1) > radius**2).all() for x in inside])


def test_a_cube_is_filled():
    mesh = box(1.0, 1.0, 1.0)
    found = fill_with_spheres(mesh, 0.15, points=240)
    assert found.radius[0] == pytest.approx(0.5, rel=0.05)  # the first is the largest there is
    assert found.vacancy[0] == pytest.approx(1 - 4 / 3 * np.pi * found.radius[0] ** 3, abs=3e-3)
    assert (np.diff(found.vacancy) < 0).all() and found.vacancy[-2] > 0.15 >= found.vacancy[-1]
    assert protrusion(mesh, found.centre, found.radius) < 1e-12
    # By points that the filling does not know: what it chose by its own is a little too good.
    seen = np.random.default_rng(0).uniform(size=(4000, 3))
    assert vacancy(found.centre, found.radius, seen) == pytest.approx(0.15, abs=0.02)


# Of Philae's size, its sides askew.
BODY = [
    [0, 0, 0],
    [1, 0, 0.1],
    [0.1, 0.9, 0],
    [0.9, 0.8, 0],
    [0, 0, 0.8],
    [1, 0.1, 0.9],
    [0, 0.9, 0.7],
    [0.95, 1, 0.8],
]


@pytest.mark.parametrize(
    "mesh, asked, most", [(hexahedron(BODY), 0.2, 40), (disc(0.1, 0.04), 0.25, 60)], ids=["body", "sole"]
)
def test_a_body_and_a_sole_are_filled(mesh, asked, most):
    found = fill_with_spheres(mesh, asked, points=300, samples=4096)
    assert found.vacancy[-1] <= asked and len(found.radius) <= most


def test_what_cannot_be_filled_says_how_far_it_came():
    mesh = box(1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"leave 0\.\d+ vacant"):
        fill_with_spheres(mesh, 0.05, points=18, smallest=0.5, samples=512)
    with pytest.raises(ValueError, match="fill_with_spheres: "):
        fill_with_spheres(mesh, 1.0)
