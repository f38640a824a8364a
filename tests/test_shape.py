"""Signed distances against sampled surfaces, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.shape import Box, Complement, Cylinder, Ellipsoid, Offset, Plane, Posed, Prism, Sphere, Union
from tests.catalogue import SHAPES, rotation
from tests.helpers import check_finite, check_gradients, rows, single

POINTS = jnp.array(np.random.default_rng(7).uniform(-1.5, 1.5, size=(400, 3)))


def triangles(corners, faces):
    """Points all over triangular faces, about 5 mm apart: barycentric grids."""
    n = 250
    i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1))
    weights = np.stack([i, j, n - i - j], axis=-1)[i + j <= n] / n
    return np.concatenate([weights @ np.asarray(corners, float)[list(face)] for face in faces])


def box_surface(half_size):
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    faces = []
    for axis, stride in enumerate((4, 2, 1)):
        a, b = [s for s in (4, 2, 1) if s != stride]
        for base in (0, stride):
            faces += [(base, base + a, base + b), (base + a + b, base + a, base + b)]
        assert np.ptp(signs[[base, base + a, base + b], axis]) == 0
    return triangles(signs * half_size, faces)


def prism_surface(edge, height):
    angles = np.radians([90, 210, 330])
    base = edge / np.sqrt(3) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    corners = [[*p, z] for z in (0, height) for p in base]
    sides = [f for i, j in ((0, 1), (1, 2), (2, 0)) for f in ((i, j, i + 3), (j, i + 3, j + 3))]
    return triangles(corners, [(0, 1, 2), (3, 4, 5), *sides])


@pytest.mark.parametrize(
    ("sdf", "surface", "inside"),
    [
        (
            Box((0.5, 0.8, 0.3)),
            box_surface((0.5, 0.8, 0.3)),
            lambda p: np.all(abs(p) < (0.5, 0.8, 0.3), axis=1),
        ),
        (
            Prism(1.2, 0.6),
            prism_surface(1.2, 0.6),
            lambda p: (
                (p[:, 2] > 0)
                & (p[:, 2] < 0.6)
                & (p[:, 1] > -1.2 / np.sqrt(12))
                & (p[:, 1] < 1.2 / np.sqrt(3) - np.sqrt(3) * abs(p[:, 0]))
            ),
        ),
    ],
    ids=["box", "prism"],
)
def test_distance_equals_the_nearest_of_many_surface_points(sdf, surface, inside):
    points = np.asarray(POINTS)[:150]
    nearest = np.array([np.sqrt(((surface - p) ** 2).sum(axis=1).min()) for p in points])
    distance = np.asarray(rows(sdf.distance, POINTS[:150]))
    np.testing.assert_array_equal(distance < 0, inside(points))
    # The nearest sample is never nearer than the surface, and at most a sample spacing beside its foot.
    spacing = 0.007
    assert np.all(nearest >= abs(distance) - 1e-12)
    assert np.all(nearest <= np.sqrt(distance**2 + spacing**2))


@pytest.mark.parametrize("sdf", SHAPES)
def test_gradient_is_a_unit_vector(sdf):
    normal = jax.jit(jax.vmap(jax.grad(sdf.distance)))(POINTS)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(rows(sdf.normal, POINTS), normal, atol=1e-12)


@pytest.mark.parametrize("sdf", SHAPES)
def test_exact_outside(sdf):
    """The foot of a point, x - d ∇d, is on the surface."""
    distance, normal = rows(sdf.distance, POINTS), rows(sdf.normal, POINTS)
    foot = POINTS - distance[:, None] * normal
    on_surface = np.asarray(rows(sdf.distance, foot))[np.asarray(distance) > 0]
    np.testing.assert_allclose(on_surface, 0, atol=1e-12)


@pytest.mark.parametrize("sdf", SHAPES)
def test_derivatives(sdf):
    check_gradients(lambda sdf, x: jax.vmap(sdf.distance)(x), sdf, POINTS[:8])


def distance_and_normal(sdf, x):
    return sdf.distance(x), sdf.normal(x)


@pytest.mark.parametrize(
    ("sdf", "x"),
    [
        (Sphere((0, 0, 0), 1.0), (0, 0, 0)),
        (Box((1, 2, 3)), (0, 0, 0)),
        (Box((1, 2, 3)), (1, 2, 0.5)),
        (Box((1, 2, 3)), (1, 2, 3)),
        (Box((1, 2, 3)), (1.5, 2, 3)),
        (Prism(1.0, 0.2), (0, 0, 0)),
        (Prism(1.0, 0.2), (0, 0, 0.1)),
        (Prism(1.0, 0.2), (0, 1 / np.sqrt(3), 0.2)),
        (Prism(1.0, 0.2), (0, 1.0, 0.2)),
        (Prism(1.0, 0.2), (0, -1 / np.sqrt(12), 0.2)),
        (Cylinder(1.0), (0, 0, 0.3)),
        (Complement(Cylinder(1.0)), (0, 0, 0.3)),
        (Union((Sphere((-1, 0, 0), 1.0), Sphere((1, 0, 0), 1.0))), (0, 0, 0)),
        (Ellipsoid((1.0, 0.7, 0.5)), (0, 0, 0)),
        (Ellipsoid((1.0, 0.7, 0.5)), (0.2, 0, 0)),
        (Ellipsoid((1.0, 0.7, 0.5)), (0.95, 0.2, 0)),
        (Ellipsoid((1.0, 1.0, 1.0)), (0, 0, 0)),
        (Ellipsoid((1.0, 0.7, 0.5)), (2.0, 0, 0)),
    ],
)
def test_derivatives_are_finite_on_edges_corners_and_centres(sdf, x):
    check_finite(distance_and_normal, sdf, jnp.array(x, float))


@pytest.mark.parametrize(
    ("sdf", "x", "normal"),
    [
        (Box((1, 2, 3)), (1, 0.5, 0.5), (1, 0, 0)),
        (Box((1, 2, 3)), (0.2, 0.5, -3), (0, 0, -1)),
        (Prism(1.0, 0.2), (0.1, 0.1, 0.2), (0, 0, 1)),
        (Prism(1.0, 0.2), (0.1, -1 / np.sqrt(12), 0.1), (0, -1, 0)),
        (Sphere((0, 0, 0), 1.0), (0, 1, 0), (0, 1, 0)),
        (Cylinder(2.0), (0, -2, 7), (0, -1, 0)),
        (Complement(Cylinder(2.0)), (2, 0, 7), (-1, 0, 0)),
        (Plane((0, 0, 0), (0, 0, 5)), (3, 4, 0), (0, 0, 1)),
    ],
)
def test_on_a_face_the_distance_is_zero_and_the_normal_is_whole(sdf, x, normal):
    x = jnp.array(x, float)
    np.testing.assert_allclose(sdf.distance(x), 0, atol=1e-15)
    np.testing.assert_allclose(jax.grad(sdf.distance)(x), normal, atol=1e-14)


@pytest.mark.parametrize(
    ("sdf", "x"), [(Box((0.05, 0.05, 0.05)), (0.05, 0.013, 0.02)), (Prism(1.0, 0.2), (0.1, -(12**-0.5), 0.07))]
)
def test_a_normal_does_not_turn_as_touch_comes_near(sdf, x):
    """A touch that is located leaves gaps of some roundings, on which a norm's second derivative is anything."""
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


def test_a_drum_is_empty_inside():
    drum, x = Complement(Cylinder(0.6)), np.asarray(POINTS)
    np.testing.assert_allclose(rows(drum.distance, POINTS), 0.6 - np.hypot(x[:, 0], x[:, 1]), atol=1e-15)
    inwards = -np.stack([x[:, 0], x[:, 1], 0 * x[:, 0]], axis=1) / np.hypot(x[:, 0], x[:, 1])[:, None]
    np.testing.assert_allclose(rows(drum.normal, POINTS), inwards, atol=1e-14)


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


@pytest.mark.parametrize("sdf", SHAPES)
def test_float32(sdf):
    d = rows(single(sdf).distance, single(POINTS[:5]))
    assert d.dtype == jnp.float32
    np.testing.assert_allclose(d, rows(sdf.distance, POINTS[:5]), atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Plane((0, 0, 0), (0, 0, 0)), "direction"),
        (lambda: Plane((0, 0, np.nan), (0, 0, 1)), "point"),
        (lambda: Plane((0, 0), (0, 0, 1)), "point has shape"),
        (lambda: Sphere((0, 0, 0), 0.0), "radius"),
        (lambda: Box((1, -1, 1)), "half_size"),
        (lambda: Ellipsoid((1, 0, 1)), "semi_axes"),
        (lambda: Cylinder(0.0), "radius"),
        (lambda: Prism(-1.0, 1.0), "edge"),
        (lambda: Posed(Box((1, 1, 1)), (0, 0, 0), 2 * np.eye(3)), "orthonormal"),
        (lambda: Posed(Box((1, 1, 1)), (0, 0, 0), -np.eye(3)), "reflection"),
        (lambda: Union(()), "at least one solid"),
    ],
)
def test_wrong_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
