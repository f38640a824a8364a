"""Gravity fields against closed forms, Laplace's equation, and their own derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from difsim.gravity import Ellipsoid, Mascons, PointMass, Rotating, Uniform, lobes_67p
from difsim.gravity.carlson import rf_rd
from difsim.gravity.ellipsoid import G
from tests.catalogue import FIELDS, POINTS, rotation
from tests.helpers import check_finite, check_gradients, each, to_single


@pytest.mark.parametrize("q", [(9, 4, 1), (3, 3, 3), (1, 1e4, 1), (1e4, 1e4, 1), (1e6, 1e3, 1)])
def test_carlson_equals_scipy(q):
    rf, rd = rf_rd(jnp.array(q, float))
    x, y, z = q
    np.testing.assert_allclose(rf, scipy.special.elliprf(x, y, z), rtol=1e-14)
    reference = [scipy.special.elliprd(*p) for p in ((y, z, x), (z, x, y), (x, y, z))]
    np.testing.assert_allclose(rd, reference, rtol=1e-14)


# Potentials and accelerations of the homogeneous ellipsoid 3:2:1 with G = ρ = 1.
ELLIPSOID_NUMBERS = [
    ((0, 0, 0), 19.175450363851, (0, 0, 0)),
    ((3, 0, 0), 10.336854074377, (-5.89239753, 0, 0)),
    ((0, 0, 1), 15.552909651585, (0, 0, -7.24508142)),
    ((1, 0.5, 0.3), 17.447710860229, (-1.96413251, -1.67857834, -2.17352443)),
    ((4, 1, 2), 5.674197741112, (-1.07889249, -0.31244637, -0.69413134)),
    ((6, 6, 6), 2.418063595174, None),
]


@eqx.filter_jit
def potential_and_acceleration(field, x):
    return jax.vmap(field.potential)(x), jax.vmap(field.acceleration)(x)


@pytest.mark.parametrize(("x", "potential", "acceleration"), ELLIPSOID_NUMBERS)
def test_ellipsoid_numbers(x, potential, acceleration):
    triaxial = Ellipsoid(np.zeros(3), np.eye(3), (3, 2, 1), 1 / G)  # G ρ = 1
    ours = potential_and_acceleration(triaxial, jnp.array([x], float))
    np.testing.assert_allclose(ours[0][0], potential, atol=1e-10)
    if acceleration is not None:
        np.testing.assert_allclose(ours[1][0], acceleration, atol=1e-8)


@pytest.mark.parametrize("x", [(0, 0, 0), (0.3, 0.5, -0.2), (0, 0, 2.5), (1.5, -7.0, 4.0)])
def test_ellipsoid_with_equal_axes_is_a_sphere(x):
    radius = 2.0
    sphere = Ellipsoid(np.zeros(3), rotation(0), (radius,) * 3, 1 / G)
    ours = potential_and_acceleration(sphere, jnp.array([x], float))
    GM, r = 4 / 3 * np.pi * radius**3, np.linalg.norm(x)
    potential = GM / r if r > radius else GM * (3 * radius**2 - r**2) / (2 * radius**3)
    np.testing.assert_allclose(ours[0][0], potential, rtol=1e-13)
    np.testing.assert_allclose(ours[1][0], -GM * np.array(x) / max(r, radius) ** 3, rtol=1e-12, atol=1e-14)


def test_mascon_with_a_radius_is_a_ball():
    GM, radius, centre = 5.0, 2.0, jnp.array([0.1, 0.0, 0.0])
    ball, point = (
        jax.jit(lambda x, field=field: (field.potential(x), field.acceleration(x), field.gradient(x)))
        for field in (Mascons([GM], centre[None], radius), PointMass(GM, centre))
    )
    for x in ((0.1, 0, 0), (0.3, 0.5, -0.2), (0, 0, 2.5), (1.5, -7.0, 4.0)):
        x = jnp.array(x, float)
        d = x - centre
        if jnp.linalg.norm(d) > radius:
            expected = point(x)
        else:
            stiffness = GM / radius**3
            expected = 1.5 * GM / radius - 0.5 * stiffness * d @ d, -stiffness * d, -stiffness * jnp.eye(3)
        for ours, theirs in zip(ball(x), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@jax.jit
def tensors(body, points):
    return jax.vmap(body.gradient)(points)


@pytest.mark.parametrize("semi_axes", [(3, 2, 1), (1, 1, 0.01), (1, 0.5, 0.01), (1, 0.01, 0.01), (1, 1, 1)])
def test_gradient_is_symmetric_and_obeys_laplace_and_poisson(semi_axes):
    body = Ellipsoid((0.5, 0, 0), rotation(2), semi_axes, 1 / G)
    rng = np.random.default_rng(3)
    directions = rng.normal(size=(60, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for factor, trace in ((0.5, -1.0), (0.999, -1.0), (1.0001, 0.0), (1.3, 0.0), (20.0, 0.0)):
        points = jnp.array(factor * directions * semi_axes @ rotation(2) + [0.5, 0, 0])
        gradient = np.asarray(tensors(body, points))
        size = np.abs(gradient).max()
        np.testing.assert_allclose(np.trace(gradient, axis1=1, axis2=2) / (4 * np.pi), trace, atol=1e-10 * size)
        np.testing.assert_allclose(gradient, gradient.swapaxes(1, 2), atol=1e-10 * size)


def accelerations(field, x):
    return jax.vmap(field.acceleration)(x)


@pytest.mark.parametrize("name", FIELDS)
def test_work_round_a_closed_loop_is_zero(name):
    """∮ g·dx = 0; equal arcs of a circle that passes in and out of the bodies, at corners too."""
    angle = np.linspace(0, 2 * np.pi, 4001)
    u, v = rotation(4)[:2]
    loop = 1.4 * (np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * v) + [0.6, 0.1, 0.0]
    tangent = 1.4 * (-np.sin(angle)[:, None] * u + np.cos(angle)[:, None] * v)
    power = np.einsum("ij,ij->i", each(accelerations, dict(FIELDS), jnp.array(loop))[name], tangent)
    np.testing.assert_allclose(np.trapezoid(power, angle), 0, atol=1e-6 * np.abs(power).max())


# The polyhedron has its own tests of derivatives.
@pytest.mark.parametrize("name", [name for name in FIELDS if name != "polyhedron"])
def test_derivatives(name):
    """By the place and by every parameter of the field; of the ellipsoid the acceleration by the place, too."""
    check_gradients(lambda field, x: jax.vmap(field.potential)(x), FIELDS[name], jnp.asarray(POINTS))
    if name == "ellipsoid":
        check_gradients(jax.vmap(FIELDS[name].acceleration), jnp.asarray(POINTS))


@pytest.mark.parametrize("name", ["mascons", "ellipsoid", "polyhedron"])
def test_derivatives_are_finite_in_special_points(name):
    special = [[0.0, 0.0, 0.0], [0.1, -0.2, 0.3], [0.1, 0.2, 0.3], [0.1, 0.0, -0.2], [1e6, 0.0, 0.0]]
    check_finite(jax.vmap(FIELDS[name].acceleration), jnp.array(special))


@pytest.mark.parametrize("name", FIELDS)
def test_float32(name):
    x = jnp.broadcast_to(POINTS[0], (4001, 3))  # as many as of the loop, whose program this is in float64
    narrow, g = (each(accelerations, *of)[name] for of in (to_single((dict(FIELDS), x)), (dict(FIELDS), x)))
    assert narrow.dtype == jnp.float32
    np.testing.assert_allclose(narrow, g, rtol=2e-6, atol=2e-6)


def test_sum_scale_and_rotation():
    x, g = jnp.array([1.0, 2.0, 3.0]), (0.0, 0.0, -9.81)
    point = PointMass(2.0, np.zeros(3))
    total = (2 * (point + Uniform(g))).acceleration(x)
    np.testing.assert_allclose(total, 2 * (point.acceleration(x) + jnp.array(g)), rtol=1e-15)
    two = Mascons([2.0, 1.0], np.zeros((2, 3)))
    np.testing.assert_allclose(two.potential(x), 1.5 * point.potential(x), rtol=1e-15)
    omega = jnp.array([0.1, -0.2, 0.3])
    centrifugal = Rotating(point, omega).acceleration(x) - point.acceleration(x)
    np.testing.assert_allclose(centrifugal, -jnp.cross(omega, jnp.cross(omega, x)), atol=1e-15)


def test_67p_at_first_touchdown():
    """Inertia-equivalent lobes are 2.4 % low at the surface, and so 3.2 % of what the rotation leaves."""
    rotating = Rotating(lobes_67p(), (0, 0, 1.40677e-4))

    @jax.jit
    def evaluate(x, far):
        field = rotating.field
        return field.acceleration(x), rotating.acceleration(x), field.potential(far)

    g, left, far = evaluate(jnp.array([2114.5, -955.2, 494.9]), jnp.array([0.0, 0.0, 1e7]))
    np.testing.assert_allclose(jnp.linalg.norm(g), 2.117e-4 * (1 - 0.024), rtol=2e-3)
    np.testing.assert_allclose(jnp.linalg.norm(left), 1.691e-4 * (1 - 0.032), rtol=2e-3)
    np.testing.assert_allclose(far, 666.2 / 1e7, rtol=1e-6)


def test_67p_has_the_inertia_of_its_shape():
    """Principal moments of SHAP5 at uniform density, m² a unit mass: lobes turned the wrong way have others."""
    lobes = lobes_67p().fields
    mass = np.array([float(e.density * jnp.prod(e.semi_axes)) for e in lobes])
    mass = mass / mass.sum()
    centres = np.array([e.centre for e in lobes])
    offsets = centres - mass @ centres
    second = sum(
        m * (np.asarray(e.axes.T @ jnp.diag(e.semi_axes**2) @ e.axes) / 5 + np.outer(r, r))
        for m, e, r in zip(mass, lobes, offsets, strict=True)
    )
    moments = np.linalg.eigvalsh(np.trace(second) * np.eye(3) - second)
    np.testing.assert_allclose(moments, [0.9606e6, 1.7704e6, 1.9047e6], rtol=0.01)
