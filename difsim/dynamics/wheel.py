"""Reaction wheels inside a hopper that make it hop: a slow spin-up and a sudden stop."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp

from difsim import rotation
from difsim.dynamics.hopper import Hopper, HopperState
from difsim.dynamics.model import AbstractForcedModel
from difsim.fields import number, part
from difsim.typing import Scalar, Vec3, require


class WheeledState(eqx.Module):
    """The hopper's state, and the wheels' `momentum` h [3] N m s in the body's frame."""

    hopper: HopperState = part()
    momentum: Vec3 = number(is_finite=False)


class TorqueProfile(eqx.Module):
    """Spin-up and stop: the motors' torque u = H (b(t/T₁)/T₁ - b((t - T₁)/T₂)/T₂), b(s) = 1 - cos 2πs in [0, 1].

    At T₁ the wheels have all of H, at T₁ + T₂ none. The largest torques are 2H/T₁ and 2H/T₂.

    **Arguments:** `momentum` H [3] N m s in the body's frame; `spin_up` T₁ and `brake` T₂, s.
    **Raises:** `ValueError` unless both are positive.
    """

    momentum: Vec3 = number()
    spin_up: Scalar = number()
    brake: Scalar = number()

    def __check_init__(self):
        require(self.spin_up > 0, f"TorqueProfile: spin_up = {self.spin_up} s must be positive")
        require(self.brake > 0, f"TorqueProfile: brake = {self.brake} s must be positive")

    def torque(self, t: Scalar) -> Vec3:
        """The torque u [3] N m on the wheels, `t` s after the start."""
        up, down = t / self.spin_up, (t - self.spin_up) / self.brake
        return self.momentum * (_bump(up) / self.spin_up - _bump(down) / self.brake)


def _bump(s: Scalar) -> Scalar:
    return jnp.where((s > 0) & (s < 1), 1 - jnp.cos(2 * jnp.pi * s), 0.0)


class Wheeled(AbstractForcedModel):
    """A hopper with three reaction wheels along the body's axes.

    h' = u,  I ω*' = ΣL - u - ω* × (I ω* + h): the motors turn the body against the wheels, and the wheels carry
    gyroscopic momentum. The power of the motors is u · (h/J - ω*).

    **Arguments:** `hopper`, whose inertia I includes the wheels, locked across their axes but free about them;
    `torque_profile`, the motors' torque; `wheel_inertia` J kg m² of each about its axis.
    **Raises:** `ValueError` for an inertia that is not positive.
    **Source:** the gyrostat; e.g. Hughes, Spacecraft Attitude Dynamics (1986), sec. 3.5.
    """

    state_kinds: ClassVar = (WheeledState,)
    hopper: Hopper = part()
    torque_profile: TorqueProfile = part()
    wheel_inertia: Scalar = number(default=1e-4)

    def __check_init__(self):
        require(self.wheel_inertia > 0, f"Wheeled: wheel_inertia = {self.wheel_inertia} kg m² must be positive")

    def start(self, hopper: HopperState) -> WheeledState:
        """The state with wheels at rest in the inertial frame."""
        return WheeledState(hopper, jnp.zeros(3))

    def rates(self, t, state):
        body, torque = state.hopper.body, self.torque_profile.torque(t)
        turn = rotation.to_matrix(body.attitude)
        spin = body.spin + rotation.times3(turn.T, self.hopper.omega)
        reaction = -torque - jnp.cross(spin, state.momentum)
        free = self.hopper.free(body).accelerated(jnp.zeros(3), rotation.times3(turn, reaction))
        rate, taken = self.hopper.rate_with_contact(state.hopper, free)
        motors = -torque @ (state.momentum / self.wheel_inertia - spin)
        return WheeledState(rate, momentum=torque), taken | {"motors": motors}

    def approach(self, t, state):
        return self.hopper.approach(t, state.hopper)

    def scales(self, t, state):
        origin, size = self.hopper.scales(t, state.hopper)
        turned = self.hopper.body.mass * self.hopper.contact.outline.radius * size.body.velocity
        return (
            WheeledState(origin, jnp.zeros(3)),
            WheeledState(size, turned),
        )

    def starts_inside(self, state):
        return self.hopper.starts_inside(state.hopper)

    def energy(self, t, state):
        turn = rotation.to_matrix(state.hopper.body.attitude)
        h = state.momentum
        wheels = 0.5 * h @ h / self.wheel_inertia - (turn.T @ self.hopper.omega) @ h
        return self.hopper.energy(t, state.hopper) | {"wheels": wheels}
