"""The rigid body: state, equations of motion, energy."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import rotation
from difsim.contact.contact_points import response
from difsim.declarations import quantity, quaternion, rule, variable
from difsim.rotation import Rotation
from difsim.typing import Mat3, Quat, Scalar, Vec3, is_known


class RigidState(eqx.Module):
    """Position, velocity, attitude and spin of a rigid body.

    A rate has this structure too, so the length of the attitude is checked when a run begins.
    """

    position: Vec3 = variable("m", "position of the centre of mass in the frame")
    velocity: Vec3 = variable("m/s", "velocity v of the centre of mass in the frame")
    attitude: Quat = quaternion("attitude, a unit quaternion from the body's frame to the frame")
    spin: Vec3 = variable("rad/s", "spin ω in the body's frame")

    @property
    def rotation(self) -> Rotation:
        """The rotation from the body's frame to the outer one."""
        return Rotation(self.attitude)

    def point(self, body_point: Vec3) -> Vec3:
        """The position of a body-fixed point in the frame, m."""
        return self.position + self.rotation @ body_point

    def velocity_at(self, point: Vec3) -> Vec3:
        """The velocity of the body's material at a point of the frame, m/s."""
        return self.velocity + jnp.cross(self.rotation @ self.spin, point - self.position)


class RigidBody(eqx.Module):
    """The mass and the inertia of a rigid body."""

    mass: Scalar = quantity("kg", "mass m", gt=0, usual=(1e-6, 1e6), slip="g")
    inertia: Mat3 = quantity(
        "kg m²", "inertia I about the centre of mass, in the body's frame", slip="g m² or kg mm²"
    )

    @rule("the inertia tensor is not symmetric: {inertia}")
    def _is_symmetric(self):
        inertia = self._inertia
        return abs(inertia - inertia.T) <= self._rounding * inertia.trace()

    @rule("the principal moments of the inertia {inertia} kg m² must be positive: check signs and units")
    def _has_positive_moments(self):
        return _is_definite(self._inertia)

    @rule(
        "the principal moments of the inertia {inertia} kg m² belong to no body: the largest must not exceed the sum "
        "of the other two"
    )
    def _has_moments_of_a_body(self):
        # c <= (a + b) (1 + rounding) for the largest of the principal moments a, b, c.
        inertia = self._inertia
        most = (1 + self._rounding) / (2 + self._rounding) * inertia.trace()
        return _is_definite(most * np.eye(3, dtype=inertia.dtype) - inertia)

    @property
    def _inertia(self) -> Float[Array | np.ndarray, "3 3"]:
        """The inertia, in NumPy where it is known: on a device these small operations take six times as long."""
        return np.asarray(self.inertia) if is_known(self.inertia) else self.inertia

    @property
    def _rounding(self) -> float:
        """The relative error of the inertia that its precision leaves."""
        return max(1e-6, 32 * float(jnp.finfo(self.inertia.dtype).eps))

    def derivative(self, state: RigidState, force: Vec3, torque: Vec3, stored_momentum: Vec3) -> RigidState:
        """The rate of the state by Newton and Euler: m v' = F, I ω' = τ - ω × (I ω + h).

        **Arguments:** `state`; `force` N in the frame; `torque` N m about the centre of mass in the body frame;
        `stored_momentum` h N m s of wheels inside, in the body frame. **Returns:** the rate, in the state's
        structure.
        """
        return RigidState(
            position=state.velocity,
            velocity=force / self.mass,
            attitude=state.rotation.rate(state.spin),
            spin=rotation.spin_rate(self.inertia, state.spin, torque, stored_momentum),
        )

    def response(self, state: RigidState, arm: Vec3) -> Mat3:
        """The change of the velocity at a point per impulse there.

        **Arguments:** `state`; `arm` [3] m from the centre of mass to the point, in the frame. **Returns:** the
        response W [3, 3], 1/kg.
        """
        turn = state.rotation.as_matrix()
        return response(self.mass, rotation.turned3(turn, self.inertia), arm)

    def velocity_changes(self, state: RigidState, arm: Vec3, impulse: Vec3) -> tuple[Vec3, Vec3]:
        """The velocity and the spin that an impulse at a point adds.

        **Arguments:** `state`; `arm` [3] m from the centre of mass to the point, and `impulse` [3], N s, in the frame.
        **Returns:** the change of the velocity, m/s, and that of the spin in the body frame, rad/s.
        """
        kick = state.rotation.inverse @ jnp.cross(arm, impulse)
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
