"""Reaction wheels inside a hopper that make it hop: a slow spin-up and a sudden stop."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp

from difsim import rotation
from difsim.declarations import part, quantity, variable
from difsim.dynamics.hopper import Hopper, HopperState
from difsim.dynamics.model import AbstractForcedModel
from difsim.typing import Scalar, Vec3, as_float


class WheeledState(eqx.Module):
    """The state of a hopper and of its wheels."""

    hopper: HopperState = part("state of the hopper")
    momentum: Vec3 = variable("N m s", "angular momentum h of the wheels in the body's frame")


class TorqueProfile(eqx.Module):
    """Spin-up and stop: the motors' torque u = H (b(t/T₁)/T₁ - b((t - T₁)/T₂)/T₂), b(s) = 1 - cos 2πs in [0, 1].

    At T₁ the wheels have all of H, at T₁ + T₂ none. The largest torques are 2H/T₁ and 2H/T₂.
    """

    momentum: Vec3 = quantity(
        "N m s", "largest momentum H of the wheels, in the body's frame", usual=(0, 100), slip="mN m s"
    )
    spin_up: Scalar = quantity("s", "time T₁ of the spin-up", gt=0, usual=(1e-2, 1e4), slip="ms")
    brake: Scalar = quantity("s", "time T₂ of the stop", gt=0, usual=(1e-3, 1e2), slip="ms")

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

    The hopper's inertia I includes the wheels, locked across their axes but free about them.

    **Source:** the gyrostat; e.g. Hughes, Spacecraft Attitude Dynamics (1986), sec. 3.5.
    """

    state_kinds: ClassVar = (WheeledState,)
    hopper: Hopper = part("body with its wheels")
    torque_profile: TorqueProfile = part("torque u of the motors")
    wheel_inertia: Scalar = quantity(
        "kg m²", "inertia J of each wheel about its axis", gt=0, usual=(1e-8, 1), slip="g m²", default=1e-4
    )

    def start(self, hopper: HopperState) -> WheeledState:
        """The state with wheels at rest in the inertial frame."""
        return WheeledState(hopper, jnp.zeros(3))

    def rates(self, t, state):
        body, torque = state.hopper.body, self.torque_profile.torque(t)
        turn = body.rotation.as_matrix()
        motion = self.hopper.frame.at(as_float(t))
        spin = body.spin + rotation.times3(turn.T, motion.spin)
        reaction = -torque - jnp.cross(spin, state.momentum)
        free = self.hopper.free(t, body).accelerate(jnp.zeros(3), rotation.times3(turn, reaction))
        rate, taken = self.hopper.rate_with_contact(t, state.hopper, free)
        if "frame" in taken:  # the momentum of the wheels is part of what a spin that changes acts on
            taken["frame"] += motion.spin_rate @ rotation.times3(turn, state.momentum)
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
        turn = state.hopper.body.rotation.as_matrix()
        h = state.momentum
        wheels = 0.5 * h @ h / self.wheel_inertia - (turn.T @ self.hopper.frame.at(as_float(t)).spin) @ h
        return self.hopper.energy(t, state.hopper) | {"wheels": wheels}
