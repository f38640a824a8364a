"""Rotations against scipy, round trips, and gradients at and near every special angle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation as Reference

from difsim import Rotation, rotation
from difsim.surface_frame import SurfaceFrame
from tests.helpers import check_gradients


def by_rotation(method):
    """A function of a quaternion [4], as `vmap` and `check_gradients` take it."""

    def call(q, *more):
        found = getattr(Rotation(q), method)(*more)
        return found.quaternion if isinstance(found, Rotation) else found

    return call


def from_numbers(method):
    return lambda x: getattr(Rotation, method)(x).quaternion


class rot:
    rotate, derivative, normalise = by_rotation("__matmul__"), by_rotation("rate"), by_rotation("normalise")
    to_matrix, to_mrp = by_rotation("as_matrix"), by_rotation("as_mrp")
    to_rotation_vector = by_rotation("as_rotation_vector")
    from_matrix, from_mrp = from_numbers("from_matrix"), from_numbers("from_mrp")
    from_rotation_vector = from_numbers("from_rotation_vector")


TURN = jnp.array([0.3, -0.5, 0.8]) / np.sqrt(0.98)  # an axis in general position

# Angles where formulae switch, cancel or jump; half a turn itself is tested on its own.
ANGLES = [0.0, 1e-300, 1e-12, 1e-7, 0.06, 0.0632, 0.0633, 0.1, 0.11, 1.0, np.pi / 2, 2.0, 3.0, np.pi - 1e-6]

component = st.floats(-1, 1, allow_subnormal=False)

vectors = st.tuples(component, component, component).map(jnp.array)


def quaternion(phi):
    return rot.from_rotation_vector(jnp.asarray(phi))


def close(a, b, tolerance=1e-14):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


@given(vectors, vectors, vectors)
def test_against_scipy(phi, chi, v):
    p, q = quaternion(3 * phi), quaternion(2 * chi)
    sp, sq = Reference.from_rotvec(np.array(3 * phi)), Reference.from_rotvec(np.array(2 * chi))
    v_ = np.array(v)  # scipy wants writable arrays
    close(rot.rotate(p, v), sp.apply(v_))
    close(Rotation(p).inverse @ v, sp.inv().apply(v_))
    close((Rotation(p) @ Rotation(q)) @ v, (sp * sq).apply(v_))
    close(rot.to_matrix(p), sp.as_matrix())
    close(rot.to_mrp(p), sp.as_mrp(), 1e-13)
    close((Rotation(p) @ Rotation(p).inverse).quaternion, [1, 0, 0, 0])
    close(jnp.linalg.norm(p), 1)


def test_the_length_of_a_quaternion_turns_nothing():
    q, v = quaternion(TURN), jnp.array([0.3, -0.2, 0.9])
    close(rot.rotate(1.7 * q, v), rot.rotate(q, v))


def test_round_trips():
    phi = jnp.outer(jnp.array(ANGLES), TURN)
    q = jax.vmap(rot.from_rotation_vector)(phi)
    close(q, Reference.from_rotvec(np.array(phi)).as_quat(scalar_first=True))
    for there, back in (
        (rot.to_rotation_vector, rot.from_rotation_vector),
        (rot.to_matrix, rot.from_matrix),
        (rot.to_mrp, rot.from_mrp),
    ):
        close(jax.vmap(lambda q, there=there, back=back: back(there(q)))(q), q)
    vector = jax.vmap(rot.to_rotation_vector)
    np.testing.assert_allclose(vector(q), phi, rtol=1e-13)
    np.testing.assert_allclose(vector(-q), phi, rtol=1e-13)  # the same rotation


def test_half_a_turn():
    """Where w = 0 the sign of q is free: compare the rotations."""
    axes = np.array([*np.eye(3), TURN, -TURN])
    r = jnp.asarray(Reference.from_rotvec(np.pi * axes).as_matrix())
    for back in (
        lambda q: q,
        lambda q: rot.from_mrp(rot.to_mrp(q)),
        lambda q: rot.from_rotation_vector(rot.to_rotation_vector(q)),
    ):
        close(jax.vmap(lambda m, back=back: rot.to_matrix(back(rot.from_matrix(m))))(r), r)
    check_gradients(jax.vmap(lambda m: rot.to_matrix(rot.from_matrix(m))), r, unit=1.0, step=1e-5)


def test_tiny_turns_keep_their_digits():
    """A turn far below the rounding of w survives: at 1e-6 rad/s it is real motion."""
    for small in (1e-7, 1e-30):
        np.testing.assert_allclose(rot.to_rotation_vector(quaternion(small * TURN)), small * TURN, rtol=1e-14)
    close(quaternion(jnp.zeros(3)), [1, 0, 0, 0], 0)


def test_gradients():
    phi = jnp.outer(jnp.array([t for t in ANGLES if t <= 3.0]), TURN)
    q = jax.vmap(rot.from_rotation_vector)(phi)
    v = jnp.array([0.2, 1.0, -0.7])
    for f, x in (
        (rot.from_rotation_vector, phi),
        (rot.to_rotation_vector, q),
        (rot.to_mrp, q),
        (rot.from_mrp, jax.vmap(rot.to_mrp)(q)),
        (rot.normalise, q),
        (lambda q: rot.rotate(q, v), q),
        (rot.to_matrix, q),
        (rot.from_matrix, jax.vmap(rot.to_matrix)(q)),
    ):
        check_gradients(jax.vmap(f), x, unit=1.0, step=1e-5)


def test_derivative_is_the_rate_of_a_turning_body():
    q, omega = quaternion([0.4, 1.0, -0.2]), jnp.array([0.1, -0.3, 0.2])
    rate = jax.jacfwd(lambda t: (Rotation(q) @ Rotation.from_rotation_vector(t * omega)).quaternion)(0.0)
    close(rot.derivative(q, omega), rate)
    assert abs(jnp.dot(q, rate)) < 1e-16  # |q| does not change


def test_mrp_at_zero_and_its_shadow():
    close(rot.from_mrp(jnp.zeros(3)), [1, 0, 0, 0], 0)
    q = quaternion(3.0 * TURN)
    assert jnp.linalg.norm(rot.to_mrp(-q)) <= 1
    close(rot.to_matrix(rot.from_mrp(rot.to_mrp(-q))), rot.to_matrix(q))
    assert rot.to_mrp(jnp.array([-1.0, 0.0, 0.0, 0.0])).tolist() == [0, 0, 0]


@pytest.mark.parametrize("theta", [0.0, 1e-7, 1.0, 3.0])
def test_float32(theta):
    phi = (theta * TURN).astype(jnp.float32)
    q = rot.from_rotation_vector(phi)
    v = jnp.array([1.0, 2.0, 3.0], jnp.float32)
    results = (q, rot.rotate(q, v), rot.to_matrix(q), rot.to_mrp(q), rot.derivative(q, v))
    assert all(r.dtype == jnp.float32 for r in results)
    np.testing.assert_allclose(rot.to_rotation_vector(q), phi, rtol=2e-6)
    close(rot.from_matrix(rot.to_matrix(q)), q, 3e-7)
    for f, x in ((rot.from_rotation_vector, phi), (rot.to_rotation_vector, q), (rot.to_mrp, q)):
        slope = jax.jit(jax.jacrev(f))
        close(slope(x), slope(x.astype(jnp.float64)), 1e-5)


def projections(axis):
    """The angles α and β of the projections of an axis; along z any α but 0 and π gives it back."""
    x, y, z = axis
    return jnp.where((x == 0) & (y == 0), jnp.pi / 2, jnp.arctan2(y, x)), jnp.arctan2(z, y)


@given(st.floats(-3.14, 3.14), st.floats(-1.5, 1.5))
def test_axis_formula(alpha, beta):
    expected = np.array([np.cos(alpha), np.sin(alpha), np.sin(alpha) * np.tan(beta)])
    close(rotation.axis_from_projections(alpha, beta), expected / np.linalg.norm(expected), 1e-13)


def test_an_axis_in_the_xz_plane_cannot_be_carried():
    alpha, beta = projections(jnp.array([0.6, 0.0, 0.8]))
    assert (alpha, beta) == (0, np.pi / 2)
    with pytest.raises(ValueError, match="give the axis itself"):
        rotation.axis_from_projections(alpha, beta)
    close(jax.jit(rotation.axis_from_projections)(alpha, beta), [1, 0, 0])


def test_gradients_of_the_projections():
    angles = jnp.array([[0.3, 0.2], [-2.0, 1.2], [2.5, 2.0], [0.0, 0.5]])
    check_gradients(jax.vmap(lambda x: rotation.axis_from_projections(*x)), angles, unit=1.0, step=1e-5)


SITE = jnp.array([2114.5, -955.2, 494.9])

NORMAL = jnp.array([0.775, -0.540, 0.328])

NORTH = jnp.array([0.0, 0.0, 1.0])


def test_surface_frame_axes():
    frame = SurfaceFrame.from_normal(SITE, NORMAL, NORTH)
    close(frame.position(SITE), [0, 0, 0], 0)
    close(frame.direction(NORMAL / jnp.linalg.norm(NORMAL)), [0, 0, 1])
    close(jnp.linalg.det(frame.matrix), 1)
    x, y, z = frame.direction(NORTH)
    assert x > 0 and abs(y) < 1e-15 and z > 0
    above = SITE + 3 * NORMAL / jnp.linalg.norm(NORMAL)
    close(frame.position(above), [0, 0, 3], 1e-12)


@given(vectors)
def test_surface_frame_round_trips(v):
    frame = SurfaceFrame.from_normal(SITE, NORMAL, NORTH)
    close(frame.comet_direction(frame.direction(v)), v)
    rate = jax.jacfwd(lambda t: frame.position(SITE + t * v))(0.0)
    close(frame.direction(v), rate)  # Eq 7: the site is fixed, so a velocity only rotates


def test_an_attitude_in_the_surface_frame_turns_its_axis():
    frame = SurfaceFrame.from_normal(SITE, NORMAL, NORTH)
    q = quaternion([0.3, 1.0, -0.4])
    axis = rot.rotate(q, jnp.array([0.0, 0.0, 1.0]))
    q_surface = (Rotation.from_matrix(frame.matrix) @ Rotation(q)).quaternion
    close(frame.direction(axis), rot.rotate(q_surface, jnp.array([0.0, 0.0, 1.0])))


def test_surface_frame_gradients_and_jit():
    def f(x):
        return SurfaceFrame.from_normal(x[0], x[1], NORTH).position(x[2])

    x = jnp.stack([SITE / 1000, NORMAL, jnp.array([2.0, -1.0, 0.3])])
    check_gradients(f, x, unit=1.0, step=1e-5)
    close(jax.jit(f)(x), f(x))


def test_the_series_at_no_turn_carry_the_curvature():
    """A Newton step at rest needs it."""
    close(jax.hessian(lambda x: rot.from_rotation_vector(x)[0])(jnp.zeros(3)), -np.eye(3) / 4)
