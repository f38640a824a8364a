"""The rigid body: state, equations of motion, energy."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import rotation
from difsim.contact.contact_points import response
from difsim.fields import number, quaternion
from difsim.typing import Mat3, Quat, Scalar, Vec3, is_known, require


class RigidState(eqx.Module):
    """Position, velocity, attitude and spin of a rigid body.

    **Arguments:** `position` [3] m and `velocity` [3] m/s of the centre of mass in the frame; `attitude` [4], a
    unit quaternion, body to frame; `spin` [3] rad/s in the body frame. **Raises:** `ValueError` for other shapes.
    A rate has this structure too, so the length of the attitude is checked when a run begins (`require_attitude`).
    """

    position: Vec3 = number(is_finite=False)
    velocity: Vec3 = number(is_finite=False)
    attitude: Quat = quaternion()
    spin: Vec3 = number(is_finite=False)

    def point(self, body_point: Vec3) -> Vec3:
        """The position of a body-fixed point in the frame, m."""
        return self.position + rotation.rotate(self.attitude, body_point)

    def velocity_at(self, point: Vec3) -> Vec3:
        """The velocity of the body's material at a point of the frame, m/s."""
        return self.velocity + jnp.cross(rotation.rotate(self.attitude, self.spin), point - self.position)


class RigidBody(eqx.Module):
    """A mass kg and an inertia kg m² ([3, 3] in the body frame, about the centre of mass).

    **Raises:** `ValueError` for a mass that is not positive, an inertia that is not symmetric positive definite
    [3, 3], or one that no mass distribution has (a principal moment above the sum of the other two).
    """

    mass: Scalar = number()
    inertia: Mat3 = number()

    def __check_init__(self):
        require(self.mass > 0, f"RigidBody: mass = {self.mass} kg must be positive")
        # Inside `jit` the conditions are judged by the run (`is_valid`), and have no derivative.
        there = np if is_known(self.inertia) else jnp
        inertia = there.asarray(jax.lax.stop_gradient(self.inertia))
        rounding = max(1e-6, 32 * float(jnp.finfo(inertia.dtype).eps))
        require(
            there.abs(inertia - inertia.T) <= rounding * there.trace(inertia),
            f"RigidBody: the inertia tensor is not symmetric: {inertia}",
        )
        moments = np.linalg.eigvalsh(inertia) if is_known(inertia) else "that are traced"
        require(
            _is_definite(inertia),
            f"RigidBody: principal moments {moments} kg m² must be positive: check signs and units",
        )
        # c <= (a + b) (1 + rounding) for the largest of the principal moments a, b, c.
        most = (1 + rounding) / (2 + rounding) * there.trace(inertia)
        require(
            _is_definite(most * there.eye(3, dtype=inertia.dtype) - inertia),
            f"RigidBody: principal moments {moments} kg m² belong to no body: the largest must not "
            "exceed the sum of the other two",
        )

    def derivative(self, state: RigidState, force: Vec3, torque: Vec3, stored_momentum: Vec3) -> RigidState:
        """The rate of the state by Newton and Euler: m v' = F, I ω' = τ - ω × (I ω + h).

        **Arguments:** `state`; `force` N in the frame; `torque` N m about the centre of mass in the body frame;
        `stored_momentum` h N m s of wheels inside, in the body frame. **Returns:** the rate, in the state's
        structure.
        """
        return RigidState(
            position=state.velocity,
            velocity=force / self.mass,
            attitude=rotation.derivative(state.attitude, state.spin),
            spin=rotation.spin_rate(self.inertia, state.spin, torque, stored_momentum),
        )

    def response(self, state: RigidState, arm: Vec3) -> Mat3:
        """The change of the velocity at a point per impulse there.

        **Arguments:** `state`; `arm` [3] m from the centre of mass to the point, in the frame. **Returns:** the
        response W [3, 3], 1/kg.
        """
        turn = rotation.to_matrix(state.attitude)
        return response(self.mass, rotation.turned3(turn, self.inertia), arm)

    def gained(self, state: RigidState, arm: Vec3, impulse: Vec3) -> tuple[Vec3, Vec3]:
        """The velocity and the spin that an impulse at a point adds.

        **Arguments:** `state`; `arm` [3] m from the centre of mass to the point, and `impulse` [3], N s, in the frame.
        **Returns:** the change of the velocity, m/s, and that of the spin in the body frame, rad/s.
        """
        kick = rotation.inverse_rotate(state.attitude, jnp.cross(arm, impulse))
        return impulse / self.mass, rotation.solve3(self.inertia, kick)

    def kinetic_energy(self, state: RigidState) -> Scalar:
        """The kinetic energy ½ m v² + ½ ω·I ω, J."""
        return 0.5 * self.mass * state.velocity @ state.velocity + self.rotation_energy(state.spin)

    def rotation_energy(self, spin: Vec3) -> Scalar:
        """The kinetic energy of a spin, ½ ω·I ω, J. **Arguments:** `spin` ω [3], rad/s, in the body frame."""
        return 0.5 * jnp.dot(spin, rotation.times3(self.inertia, spin))


def _is_definite(m: Float[Array | np.ndarray, "3 3"]) -> Any:
    """Whether a symmetric matrix is positive definite, by its leading minors."""
    minor = m[0, 0] * m[1, 1] - m[0, 1] ** 2
    rest = 2 * m[0, 1] * m[0, 2] * m[1, 2] - m[0, 0] * m[1, 2] ** 2 - m[1, 1] * m[0, 2] ** 2
    return (m[0, 0] > 0) & (minor > 0) & (m[2, 2] * minor + rest > 0)


def rigid_scales(state: RigidState, speed: Scalar, length: Scalar, reach: Scalar) -> tuple[RigidState, RigidState]:
    """The origin and the units of a rigid body's numbers, for `dynamics.AbstractModel.scales`.

    **Arguments:** `state`; `speed` m/s and `length` m of its motion; `reach` m, its size.
    **Returns:** origin and units, in the state's structure.
    """
    still = jnp.zeros(3)
    origin = RigidState(state.position, still, jnp.zeros(4), still)
    ones = jnp.ones(3)
    return origin, RigidState(length * ones, speed * ones, jnp.ones(4), speed / reach * ones)
