"""Tabulated distances against solids with closed forms: order, continuity, the bound outside, memory, files."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh

from difsim import mesh
from difsim.shape import Box, GridSDF, Plane, Posed, Sphere
from tests.helpers import check_gradients, directions, slope, to_single

RADIUS = 1.0


def ball(subdivisions=5):
    shape = trimesh.creation.icosphere(subdivisions=subdivisions, radius=RADIUS)
    return mesh.TriMesh(np.array(shape.vertices), np.array(shape.faces))


def block():
    shape = trimesh.creation.box([2.0, 2.0, 1.0])
    return mesh.TriMesh(np.array(shape.vertices), np.array(shape.faces))


BALL = Sphere((0.0, 0.0, 0.0), RADIUS)


@cache
def coarse():
    return GridSDF.from_mesh(ball(3), 0.15)


distances = jax.jit(jax.vmap(lambda sdf, x: sdf.distance(x), in_axes=(None, 0)))
normals = jax.jit(jax.vmap(lambda sdf, x: sdf.normal(x), in_axes=(None, 0)))


def test_a_plane_in_three_ways():
    """The top of a block: closed form, table of the closed form, table of the mesh; 1e-6 near the surface."""
    plane = Plane((0.0, 0.0, 0.5), (0.0, 0.0, 1.0))
    h = 0.05
    grids = [
        GridSDF.from_mesh(block(), h),
        GridSDF.from_sdf(Box((1.0, 1.0, 0.5)), (-1.0, -1.0, -0.5), (1.0, 1.0, 0.5), h),
    ]
    # Away from the block's edges and the creases inside by 6 cells, over which their trace fades to 1e-5 h.
    points = jnp.array(np.random.default_rng(1).uniform((-0.5, -0.5, 0.45), (0.5, 0.5, 0.6), size=(200, 3)))
    for grid in grids:
        np.testing.assert_allclose(distances(grid, points), distances(plane, points), atol=1e-6)
        np.testing.assert_allclose(normals(grid, points), normals(plane, points), atol=1e-6)


def test_a_far_body_loses_no_digits():
    far = np.array([3e6, -2e6, 1e6])
    moved = mesh.TriMesh(block().vertices + far, block().faces)
    points = np.random.default_rng(2).uniform(-1.2, 1.2, size=(50, 3))
    near = distances(GridSDF.from_mesh(block(), 0.1), jnp.array(points))
    np.testing.assert_allclose(distances(GridSDF.from_mesh(moved, 0.1), jnp.array(points + far)), near, atol=1e-8)


def test_order_of_the_interpolation():
    """Against the sphere that was tabulated: third order in the distance, second in the normal."""
    u = directions(400)
    points = jnp.array(u * np.random.default_rng(3).uniform(0.8, 1.2, size=(400, 1)))
    spacings, values, turns = (0.2, 0.1, 0.05), [], []
    for h in spacings:
        grid = GridSDF.from_sdf(BALL, -np.ones(3), np.ones(3), h, margin=0.4)
        values.append(np.abs(distances(grid, points) - distances(BALL, points)).max())
        turns.append(np.linalg.norm(normals(grid, points) - u, axis=1).max())
    assert slope(spacings, values) > 2.7
    assert slope(spacings, turns) > 1.8
    assert values[-1] < 2e-5 and turns[-1] < 2e-3


def test_the_normal_is_continuous_across_cells():
    """A trilinear table's gradient jumps by 5 % from cell to cell here, however small the step."""
    t = np.arange(-1.1, 1.1, 1e-4)
    line = jnp.array(np.stack([t, 0.3 + 0.2 * t, 0.9 + 0.1 * t], axis=1))
    gradient = np.asarray(jax.jit(jax.vmap(jax.grad(coarse().distance)))(line))
    assert np.abs(np.diff(gradient, axis=0)).max() < 1e-3


def test_outside_the_grid_it_is_a_continuous_lower_bound():
    exact = Posed(Box((1.0, 1.0, 0.5)), (0.0, 0.0, 0.0), np.eye(3))
    grid = GridSDF.from_mesh(block(), 0.125, margin=0.5)
    points = jnp.array(np.random.default_rng(5).uniform(-20, 20, size=(2000, 3)))
    bound, true = np.asarray(distances(grid, points)), np.asarray(distances(exact, points))
    assert np.all(bound <= true + 1e-3)  # 1e-3: the interpolation on the rim
    rim = np.clip(points, grid.spline.lower, grid.spline.upper)
    assert np.all(bound >= true - np.asarray(distances(grid, jnp.array(rim))))
    assert np.all(bound > 0.7 * true)
    corner = np.asarray(grid.spline.upper)
    rim = jnp.array(np.random.default_rng(6).uniform(-1, 1, size=(200, 3)) * corner).at[:, 0].set(corner[0])
    step = jnp.array([[1e-9, 0, 0]])
    np.testing.assert_allclose(distances(grid, rim + step), distances(grid, rim - step), atol=1e-8)


@pytest.mark.parametrize("x", [(0.9, 0.1, 0.3), (0.2, -0.4, 0.3), (3.0, 0.2, -0.1), (3.0, -4.0, 5.0)])
def test_derivatives(x):
    check_gradients(coarse().distance, jnp.array(x), step=1e-3)


def test_float32():
    points = jnp.array(np.random.default_rng(8).uniform(-3, 3, size=(200, 3)))
    d = distances(to_single(coarse()), points.astype(jnp.float32))
    assert d.dtype == jnp.float32
    np.testing.assert_allclose(d, distances(coarse(), points), atol=2e-6)


def test_it_is_made_once(tmp_path, monkeypatch):
    first = GridSDF.from_mesh(ball(2), 0.2, cache=tmp_path / "tables")
    assert len(list((tmp_path / "tables").iterdir())) == 1
    monkeypatch.setattr("igl.signed_distance", None)
    again = GridSDF.from_mesh(ball(2), 0.2, cache=tmp_path / "tables")
    points = jnp.array(directions(20))
    np.testing.assert_array_equal(distances(again, points), distances(first, points))
    for other in ({"spacing": 0.3}, {"spacing": 0.2, "margin": 0.5}):
        with pytest.raises(TypeError):  # another table: the distance is asked for
            GridSDF.from_mesh(ball(2), **other, cache=tmp_path / "tables")


@pytest.mark.parametrize("margin", [None, 0.5])
def test_too_many_nodes_name_the_spacing_that_fits(margin):
    def make(spacing):
        return GridSDF.from_mesh(ball(1), spacing, margin=margin, max_nodes=5000)

    with pytest.raises(ValueError, match=r"makes .* nodes, more than max_nodes = 5e\+03: give") as error:
        make(0.01)
    fits = float(str(error.value).split("give ")[1].split()[0])
    make(fits)
    with pytest.raises(ValueError, match="max_nodes"):
        make(0.8 * fits)
