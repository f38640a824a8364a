"""Loads on a free body beyond the gravity at its centre: the gradient of gravity, and the pressure of light."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim import safe
from difsim.contact.contact_points import BodyMotion
from difsim.declarations import quantity
from difsim.dynamics.surroundings import Surroundings
from difsim.gravity import AbstractField
from difsim.typing import Scalar, Vec3


class AbstractLoad(eqx.Module):
    """A force and a torque on a rigid body, all in the frame; a `Hopper` takes several."""

    @abstractmethod
    def wrench(self, here: Surroundings, body: BodyMotion) -> tuple[Vec3, Vec3]:
        """The load. **Arguments:** `here`; `body`. **Returns:** force [3], N, and torque [3] about the centre, N m."""

    def energy(self, field: AbstractField, body: BodyMotion) -> Scalar:
        """The potential energy of the load, J. **Arguments:** `field` of gravity; `body`. **Returns:** the energy."""
        return jnp.zeros_like(body.mass)

    def powers(self, here: Surroundings, body: BodyMotion) -> dict[str, Scalar]:
        """The power that leaves the energies, of a load that stores none.

        **Arguments:** `here`; `body`. **Returns:** W by name.
        """
        return {}


class GravityGradient(AbstractLoad):
    """The gradient Γ = ∇∇U of gravity over the extent of the body, to second order.

    The torque is ΣΓ r × r over the body, from its inertia I; the energy is -½ Γ:J with J = ½ tr(I) - I, and the force
    is its slope, so that the energy closes. It costs a third derivative of the field.

    On Dimorphos Γ is 1.4e-6 1/s², so a lander of 12 kg and 0.4 m feels up to 1e-7 N m, a thousandth of its weight times
    its size. A long body librates about the vertical with a period of 4300 s. In a hop of 1000 s it turns by 0.5 rad.
    """

    tag = "gravity-gradient"

    def wrench(self, here, body):
        M = here.field.gradient(body.centre) @ body.inertia
        torque = jnp.stack([M[1, 2] - M[2, 1], M[2, 0] - M[0, 2], M[0, 1] - M[1, 0]])
        force = -jax.grad(lambda x: _energy(here.field, x, body))(body.centre)
        return force, torque

    def energy(self, field, body):
        return _energy(field, body.centre, body)


def _energy(field: AbstractField, place: Vec3, body: BodyMotion) -> Scalar:
    spread = 0.5 * jnp.trace(body.inertia) * jnp.eye(3) - body.inertia
    return -0.5 * jnp.sum(field.gradient(place) * spread)


class LightPressure(AbstractLoad):
    """The pressure of sunlight on a ball: the force P A C along the light, without shadow, through the centre.

    On Dimorphos it accelerates a lander of 12 kg and 0.1 m² by 4e-8 m/s², a thousandth of the gravity there. Its work
    is the power `light`.
    """

    tag = "light-pressure"
    pressure: Scalar = quantity("N/m²", "pressure P of light, 4.56e-6 N/m² at 1 au", ge=0, usual=(1e-8, 1e-4))
    area: Scalar = quantity("m²", "area A across the light", ge=0, usual=(1e-3, 100), slip="cm²")
    coefficient: Scalar = quantity("", "coefficient C, 1 for a black ball", ge=0, usual=(0.5, 2), default=1.3)
    direction: Vec3 = quantity(
        "", "direction of the light, away from the Sun, in axes that do not rotate", default=(1.0, 0.0, 0.0)
    )

    def wrench(self, here, body):
        along = here.motion.attitude.inverse @ safe.unit(self.direction)
        return self.pressure * self.area * self.coefficient * along, jnp.zeros(3)

    def powers(self, here, body):
        return {"light": -self.wrench(here, body)[0] @ body.velocity}
