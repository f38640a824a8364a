"""Signed distances against surfaces, and their derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh

from difsim import mesh
from difsim.mesh.distance import signed_distance
from difsim.shape import Box, Complement, Cylinder, Ellipsoid, Offset, Plane, Posed, Prism, Sphere, Union
from tests.catalogue import SHAPES, rotation
from tests.helpers import check_finite, check_gradients, each, rows, to_single

POINTS = np.random.default_rng(7).uniform(-1.5, 1.5, size=(400, 3))


@pytest.mark.parametrize("solid", ["box", "prism"])
def test_distance_is_that_from_the_triangles_of_the_surface(solid):
    """In and out; libigl's, of the same solid."""
    if solid == "box":
        sdf, surface = Box((0.5, 0.8, 0.3)), mesh.box((1.0, 1.6, 0.6))
    else:
        angles = np.radians([90, 210, 330])
        base = 1.2 / np.sqrt(3) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        hull = trimesh.Trimesh([[*p, z] for z in (0, 0.6) for p in base]).convex_hull
        sdf, surface = Prism(1.2, 0.6), mesh.TriMesh(np.asarray(hull.vertices), np.asarray(hull.faces))
    np.testing.assert_allclose(rows(sdf.distance, POINTS), signed_distance(surface, POINTS), atol=1e-12)


def distances_and_normals(sdf, x):
    """... and the distances of the feet of the points, x - d ∇d."""
    distance, normal, slope = (jax.vmap(f)(x) for f in (sdf.distance, sdf.normal, jax.grad(sdf.distance)))
    return distance, normal, slope, jax.vmap(sdf.distance)(x - distance[:, None] * normal)


@pytest.mark.parametrize("name", SHAPES)
def test_gradient_is_a_unit_vector(name):
    _, normal, slope, _ = each(distances_and_normals, dict(SHAPES), jnp.asarray(POINTS))[name]
    np.testing.assert_allclose(np.linalg.norm(slope, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(normal, slope, atol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_exact_outside(name):
    """The foot of a point, x - d ∇d, is on the surface."""
    distance, *_, foot = each(distances_and_normals, dict(SHAPES), jnp.asarray(POINTS))[name]
    np.testing.assert_allclose(np.asarray(foot)[np.asarray(distance) > 0], 0, atol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_derivatives(name):
    check_gradients(lambda sdf, x: jax.vmap(sdf.distance)(x), SHAPES[name], jnp.asarray(POINTS[:8]))


@pytest.mark.parametrize("name", SHAPES)
def test_float32(name):
    narrow, exact = (
        each(distances_and_normals, *of)[name][0]
        for of in (to_single((dict(SHAPES), jnp.asarray(POINTS))), (dict(SHAPES), jnp.asarray(POINTS)))
    )
    assert narrow.dtype == jnp.float32
    np.testing.assert_allclose(narrow[:5], exact[:5], atol=1e-6)


def distance_and_normal(sdf, x):
    return sdf.distance(x), sdf.normal(x)


def two_balls():
    return Union((Sphere((-1, 0, 0), 1.0), Sphere((1, 0, 0), 1.0)))


# By solid: points on its edges, corners and centres.
SPECIAL = {
    "sphere": (lambda: Sphere((0, 0, 0), 1.0), [(0, 0, 0)]),
    "box": (lambda: Box((1, 2, 3)), [(0, 0, 0), (1, 2, 0.5), (1, 2, 3), (1.5, 2, 3)]),
    "prism": (
        lambda: Prism(1.0, 0.2),
        [(0, 0, 0), (0, 0, 0.1), (0, 1 / np.sqrt(3), 0.2), (0, 1.0, 0.2), (0, -1 / np.sqrt(12), 0.2)],
    ),
    "cylinder": (lambda: Cylinder(1.0), [(0, 0, 0.3)]),
    "drum": (lambda: Complement(Cylinder(1.0)), [(0, 0, 0.3)]),
    "union": (two_balls, [(0, 0, 0)]),
    "ellipsoid": (lambda: Ellipsoid((1.0, 0.7, 0.5)), [(0, 0, 0), (0.2, 0, 0), (0.95, 0.2, 0), (2.0, 0, 0)]),
    "ball as ellipsoid": (lambda: Ellipsoid((1.0, 1.0, 1.0)), [(0, 0, 0)]),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_derivatives_are_finite_on_edges_corners_and_centres(name):
    make, x = SPECIAL[name]
    check_finite(jax.vmap(distance_and_normal, in_axes=(None, 0)), make(), jnp.array(x, float))


@eqx.filter_jit
def distance_and_slope(sdf, x):
    return jax.value_and_grad(sdf.distance)(x)


@pytest.mark.parametrize(
    ("make", "x", "normal"),
    [
        (lambda: Box((1, 2, 3)), (1, 0.5, 0.5), (1, 0, 0)),
        (lambda: Box((1, 2, 3)), (0.2, 0.5, -3), (0, 0, -1)),
        (lambda: Prism(1.0, 0.2), (0.1, 0.1, 0.2), (0, 0, 1)),
        (lambda: Prism(1.0, 0.2), (0.1, -1 / np.sqrt(12), 0.1), (0, -1, 0)),
        (lambda: Sphere((0, 0, 0), 1.0), (0, 1, 0), (0, 1, 0)),
        (lambda: Cylinder(2.0), (0, -2, 7), (0, -1, 0)),
        (lambda: Complement(Cylinder(2.0)), (2, 0, 7), (-1, 0, 0)),
        (lambda: Plane((0, 0, 0), (0, 0, 5)), (3, 4, 0), (0, 0, 1)),
    ],
)
def test_on_a_face_the_distance_is_zero_and_the_normal_is_whole(make, x, normal):
    distance, slope = distance_and_slope(make(), jnp.array(x, float))
    np.testing.assert_allclose(distance, 0, atol=1e-15)
    np.testing.assert_allclose(slope, normal, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "x"),
    [(lambda: Box((0.05, 0.05, 0.05)), (0.05, 0.013, 0.02)), (lambda: Prism(1.0, 0.2), (0.1, -(12**-0.5), 0.07))],
)
def test_a_normal_does_not_turn_as_touch_comes_near(make, x):
    """A touch that is located leaves gaps of some roundings, on which a norm's second derivative is anything."""
    sdf = make()
    above = jnp.array(x)[None] + jnp.outer(jnp.array([1e-9, 1e-16, 1e-17, 0.0]), sdf.normal(1.01 * jnp.array(x)))
    way = jnp.array([0.3, -0.7, 0.4])
    turned = jax.jit(jax.vmap(lambda x: jax.jvp(jax.grad(sdf.distance), (x,), (way,))[1]))(above)
    np.testing.assert_array_equal(turned, 0)


def test_posed_and_offset():
    R, p = rotation(6), np.array([0.3, -0.2, 0.1])
    box = Box((0.5, 0.8, 0.3))
    x = POINTS[:20]
    distance = np.asarray(rows(box.distance, x))
    moved = rows(Posed(box, p, R).distance, jnp.array(np.asarray(x) @ R.T + p))
    np.testing.assert_allclose(moved, distance, atol=1e-13)
    np.testing.assert_allclose(rows(Offset(box, 0.1).distance, x), distance - 0.1, atol=1e-15)


@pytest.mark.parametrize("semi_axes", [(1.2, 0.7, 0.5), (0.2, 1.0, 1.0), (2100.0, 1620.0, 975.0), (1.0, 1.0, 1.0)])
def test_ellipsoid_along_its_normals(semi_axes):
    """A surface point moved along its normal by h has the distance h, up to the least radius of curvature."""
    a = np.array(semi_axes)
    u = np.random.default_rng(9).normal(size=(300, 3))
    on = a * u / np.linalg.norm(u, axis=1)[:, None]
    normal = on / a**2 / np.linalg.norm(on / a**2, axis=1)[:, None]
    sdf, least = Ellipsoid(semi_axes), a.min() ** 2 / a.max()
    for h in (-0.9 * least, -1e-3 * least, 0.0, 0.3 * least, 20 * a.max()):
        x = jnp.array(on + h * normal)
        np.testing.assert_allclose(rows(sdf.distance, x), h, atol=1e-14 * max(a.max(), h))
        np.testing.assert_allclose(rows(sdf.normal, x), normal, atol=1e-12)


def test_ellipsoid_deep_inside():
    """Against many surface points, on the mid-planes and near them too, where two points are nearest.

    Compiled as for a user: only optimised code rounds a² - min a² once.
    """
    a = np.array((1.2, 0.7, 0.5))
    x = np.random.default_rng(10).uniform(-1, 1, size=(300, 3)) * a
    x[:60, 2], x[60:90, 1], x[90:120, 2] = 0, 0, 1e-9 * x[90:120, 2]
    x[0] = 0
    x = x[((x / a) ** 2).sum(axis=1) < 1]
    polar, turn = np.meshgrid(np.linspace(0, np.pi, 400), np.linspace(0, 2 * np.pi, 800))
    surface = np.stack([np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)], axis=-1)
    surface = a * surface.reshape(-1, 3)
    nearest = np.array([np.sqrt(((surface - p) ** 2).sum(axis=1).min()) for p in x])
    optimised = {"xla_backend_optimization_level": 3}
    distances = jax.jit(lambda shape, x: jax.vmap(shape.distance)(x), compiler_options=optimised)
    depth = -np.asarray(distances(Ellipsoid(a), jnp.array(x)))
    assert np.all(depth <= nearest + 1e-12)
    assert np.all(nearest <= np.sqrt(depth**2 + 0.01**2))
