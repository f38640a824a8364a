"""An accelerometer and a gyro on a body that flies and bounces."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp

from difsim.declarations import part, quantity
from difsim.dynamics import Hopper
from difsim.dynamics.hopper import HopperState
from difsim.dynamics.surroundings import Surroundings
from difsim.sensors.errors import Errors
from difsim.typing import Scalar, Vec3


class AbstractSensor(eqx.Module):
    """A sensor in the axes of the body: its true value at one time, and the `errors` of its readings."""

    errors: eqx.AbstractVar[Errors]

    @abstractmethod
    def sense(self, model: Hopper, t: Scalar, state: HopperState) -> Vec3:
        """The true value [3] at one time. **Arguments:** `model`; `t`, s; `state`. **Returns:** the value."""


class Accelerometer(AbstractSensor):
    """The specific force at a place of the body, m/s²: its acceleration against the stars, less gravity there.

    With ω* and its rate against the stars it is a + ω*' × r + ω* × (ω* × r) - g(x + r). At rest on the ground it is
    what holds the body against gravity.
    """

    place: Vec3 = quantity("m", "place r from the centre of mass, in the body's frame", default=(0.0, 0.0, 0.0))
    errors: Errors = part("errors of the readings, m/s²", default=Errors)

    def sense(self, model, t, state):
        here, body = Surroundings.at(model, t), state.body
        touch, arm = model.wrench(t, state), body.rotation @ self.place
        moved = model.free(t, body).accelerate(touch.force, touch.torque)
        spin = moved.spin + here.motion.spin
        spin_rate = moved.spin_rate + here.motion.spin_rate + jnp.cross(here.motion.spin, spin)
        centre = moved.acceleration - here.motion.apparent_acceleration(body.position, body.velocity)
        felt = centre + jnp.cross(spin_rate, arm) + jnp.cross(spin, jnp.cross(spin, arm))
        return body.rotation.inverse @ (felt - here.field.acceleration(body.position + arm))


class Gyro(AbstractSensor):
    """The spin of the body against the stars, rad/s."""

    errors: Errors = part("errors of the readings, rad/s", default=Errors)

    def sense(self, model, t, state):
        spin = Surroundings.at(model, t).motion.spin
        return state.body.spin + state.body.rotation.inverse @ spin
