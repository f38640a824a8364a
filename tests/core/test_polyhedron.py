"""The polyhedron against closed forms, the sphere, the ellipsoid, its own derivatives and polyhedral-gravity."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh

from difsim.gravity import Ellipsoid, Polyhedron
from difsim.mesh import TriMesh
from difsim.units import G
from tests.catalogue import rotation
from tests.helpers import check_gradients


def mesh_of(body: trimesh.Trimesh) -> TriMesh:
    return TriMesh(np.asarray(body.vertices), np.asarray(body.faces))


def icosphere(subdivisions: int, scale=(1.0, 1.0, 1.0)) -> TriMesh:
    body = trimesh.creation.icosphere(subdivisions=subdivisions)
    return TriMesh(np.asarray(body.vertices) * scale, np.asarray(body.faces))


CUBE = Polyhedron(mesh_of(trimesh.creation.box((2, 2, 2))), 1 / G)  # G ρ = 1

evaluate = jax.jit(lambda body, points: body.evaluate(points))

at_point = jax.jit(lambda body, x: (body.potential(x), body.acceleration(x), body.gradient(x)))

# Potentials and accelerations of the cube of edge 2 with G ρ = 1.
CUBE_NUMBERS = [
    ((0, 0, 0), 9.520309455918, (0, 0, 0)),
    ((1, 0, 0), 7.171240972715, (-5.19379316, 0, 0)),
    ((1, 1, 1), 4.760154727959, (-1.93877611,) * 3),
    ((2, 0, 0), 3.950369616696, (-1.88599552, 0, 0)),
    ((0.3, -0.2, 0.5), 8.733615088214, (-1.15020985, 0.74324825, -2.12313896)),
    ((3, 2, 1), 2.138715364973, (-0.45963393, -0.30512413, -0.15203773)),
    ((-5, -5, -5), 0.923786350029, None),
]


@pytest.mark.parametrize(("x", "potential", "acceleration"), CUBE_NUMBERS)
def test_cube_numbers(x, potential, acceleration):
    x = jnp.array(x, float)
    U, g, _ = at_point(CUBE, x)
    np.testing.assert_allclose(U, potential, rtol=1e-10)
    if acceleration is not None:
        np.testing.assert_allclose(g, acceleration, atol=1e-8)


# Places on the cube, and the share of directions that lead inside.
SHARES = [
    ((0, 0, 0), 1),
    ((0.999, -0.99, 0.5), 1),
    ((1.001, 0, 0), 0),
    ((1, 3, 0), 0),  # in the plane of a facet
    ((1, 1, 3), 0),  # on the line of an edge
    ((-7, 2, 1), 0),
    ((1, 0, 0), 1 / 2),
    ((1, 0.3, 0.3), 1 / 2),  # on the edge between the two triangles of a face
    ((0.3, 0.25, -1), 1 / 2),
    ((1, 1, 0), 1 / 4),
    ((-1, 0.2, 1), 1 / 4),
    ((1, 1, 1), 1 / 8),
    ((-1, 1, -1), 1 / 8),
]


@pytest.mark.parametrize("turn", [np.eye(3), rotation(6)], ids=["straight", "turned"])
def test_laplacian_is_the_share_of_directions_that_lead_inside(turn):
    """Also where the surface lies askew, and the points on it by rounding only."""
    offset = np.array([0.0, 0.0, 0.0] if turn[0, 0] == 1 else [30.0, -20.0, 10.0])
    mesh = mesh_of(trimesh.creation.box((2, 2, 2)))
    body = Polyhedron(TriMesh(mesh.vertices @ turn.T + offset, mesh.faces), 1 / G)
    places, shares = zip(*SHARES, strict=True)
    points = jnp.array(np.array(places, float) @ turn.T + offset)
    laplacian = jax.jit(jax.vmap(body.laplacian))(points)
    np.testing.assert_allclose(laplacian / (-4 * np.pi), shares, atol=1e-11)


def test_gradient_is_symmetric_and_logarithmic_near_an_edge():
    """∇g of the cube at (1 + d, 1 + d, z): its xy rises by 2 log 10 a decade, E of a right angle being 1."""
    distances = 10.0 ** -np.arange(3, 11)
    points = np.stack([1 + distances, 1 + distances, np.full(8, 0.3)], axis=1)
    gradient = evaluate(CUBE, jnp.array(points))[2]
    np.testing.assert_array_equal(gradient, np.swapaxes(gradient, 1, 2))
    np.testing.assert_allclose(np.diff(gradient[:, 0, 1]), 2 * np.log(10), rtol=2e-3)
    np.testing.assert_allclose(np.diff(gradient[2:, 0, 1]), 2 * np.log(10), rtol=1e-5)


def test_fine_mesh_of_an_ellipsoid_is_the_ellipsoid():
    axes = (3.0, 2.0, 1.0)
    mesh = icosphere(3, axes)
    density = 4 / 3 * np.pi * np.prod(axes) / mesh.volume / G  # the same mass
    exact = Ellipsoid(np.zeros(3), np.eye(3), axes, 1 / G)
    points = jnp.array([[0.5, 0.3, 0.1], [4.0, 1.0, 2.0], [0.0, 0.0, 1.5]])
    U, g, _ = evaluate(Polyhedron(mesh, density), points)
    exact_U, exact_g = jax.jit(jax.vmap(jax.value_and_grad(exact.potential)))(points)
    np.testing.assert_allclose(U, exact_U, rtol=4e-3)
    np.testing.assert_allclose(g, exact_g, atol=5e-3 * np.linalg.norm(exact_g, axis=1).max())


ON_THE_SURFACE = jnp.array([[1.0, 0.2, 0.3], [1.0, 0.3, 0.3], [1.0, 1.0, 0.2], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]])


def test_derivatives_by_position():
    """U on facets, edges and vertices too, where ∇g jumps; g within a hair of them, inside and outside."""
    potential = jax.vmap(CUBE.potential)
    check_gradients(potential, ON_THE_SURFACE, step=1e-7, rtol=1e-6)
    near = jnp.concatenate([ON_THE_SURFACE * (1 + 1e-3), ON_THE_SURFACE * (1 - 1e-3)])
    everywhere = np.concatenate([near, [[0.3, -0.2, 0.5], [3.0, 2.0, 1.0]]])
    n, steps = len(everywhere), 1e-6 * np.concatenate([np.eye(3), -np.eye(3)])
    shifted = (everywhere[:, None] + steps).reshape(-1, 3)
    _, g, found = evaluate(CUBE, jnp.array(np.concatenate([everywhere, ON_THE_SURFACE, shifted])))
    gradient, at_surface, g = found[:n], found[n : -len(shifted)], g[-len(shifted) :].reshape(-1, 2, 3, 3)
    np.testing.assert_allclose((g[:, 0] - g[:, 1]) / 2e-6, gradient, atol=1e-6 * np.abs(gradient).max())
    by_rule = jax.jit(jax.vmap(jax.jacrev(CUBE.acceleration)))(jnp.array(everywhere))
    np.testing.assert_allclose(by_rule, gradient, rtol=1e-10, atol=1e-12)
    assert np.isfinite(at_surface).all()
