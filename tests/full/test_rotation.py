"""Rotations against scipy, round trips, and gradients at and near every special angle."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Rotation
from tests.helpers import check_gradients


class rot:
    """Functions of quaternions [4], as `vmap` and `check_gradients` take them."""

    def rotate(q, v):
        return Rotation(q) @ v

    def inverse_rotate(q, v):
        return Rotation(q).inverse @ v

    def multiply(p, q):
        return (Rotation(p) @ Rotation(q)).quaternion

    def conjugate(q):
        return Rotation(q).inverse.quaternion

    def normalise(q):
        return Rotation(q).normalise().quaternion

    def derivative(q, spin):
        return Rotation(q).rate(spin)

    def to_matrix(q):
        return Rotation(q).as_matrix()

    def to_rotation_vector(q):
        return Rotation(q).as_rotation_vector()

    def to_mrp(q):
        return Rotation(q).as_mrp()

    def from_matrix(x):
        return Rotation.from_matrix(x).quaternion

    def from_rotation_vector(x):
        return Rotation.from_rotation_vector(x).quaternion

    def from_mrp(x):
        return Rotation.from_mrp(x).quaternion


TURN = jnp.array([0.3, -0.5, 0.8]) / np.sqrt(0.98)  # an axis in general position


def close(a, b, tolerance=1e-14):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


def test_second_derivatives():
    """The series below the switch carry the curvature too: a Newton step at rest needs it."""
    phi = jnp.outer(jnp.array([0.0, 1e-7, 0.0999, 0.1001, 2.0]), TURN)
    q = jax.vmap(rot.from_rotation_vector)(phi)
    check_gradients(jax.vmap(jax.jacfwd(rot.from_rotation_vector)), phi, rtol=1e-5, unit=1.0, step=1e-5)
    check_gradients(jax.vmap(jax.jacfwd(rot.to_rotation_vector)), q, rtol=1e-5, unit=1.0, step=1e-5)
    close(jax.hessian(lambda x: rot.from_rotation_vector(x)[0])(jnp.zeros(3)), -np.eye(3) / 4)
