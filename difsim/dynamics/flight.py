"""Free flight of a point mass about a rotating body, until it meets the body's surface.

The motion has two forms: `Flight` in the frame that rotates with the body, and `InertialFlight` in axes that do not
rotate. The mass is 1 kg: it cancels.
"""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim import safe
from difsim.declarations import part, quantity, rule, variable
from difsim.dynamics.frames import AbstractFrame, frame_field
from difsim.dynamics.model import AbstractModel, Approach, motion_units
from difsim.dynamics.primary import Primary
from difsim.dynamics.surroundings import Surroundings, changes
from difsim.gravity import AbstractField
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, Vec3, as_float

TWICE = "gravity is Rotating, so the centrifugal term would count twice: give the field in it alone"


class FlightState(eqx.Module):
    """The position and velocity of a point mass in the model's frame."""

    position: Vec3 = variable("m", "position r")
    velocity: Vec3 = variable("m/s", "velocity r'", default=(0.0, 0.0, 0.0))


class Flight(AbstractModel):
    """A point mass in the frame fixed to a rotating body (Wu et al. 2019, Eqs 1-2).

    r'' + 2 ω × r' + ω × (ω × r) + ω' × r = ∇U.

    The energies add up to the Jacobi constant ½ v² - ½ |ω × r|² - U, J/kg. A spin that changes and a primary that moves
    in the frame change it: the powers `frame`, ω'·(r × (v + ω × r)), and `tide`, -∂U/∂t. Flights that are run until
    `AtContact()` end at the surface; others fly on, through the body.
    """

    has_contact_forces: ClassVar[bool] = False
    state_kinds: ClassVar = (FlightState,)
    gravity: AbstractField = part(
        "field U of the body alone, without a centrifugal term, which the model has itself"
    )
    frame: AbstractFrame = frame_field("constant spin ω [3] of the body, rad/s, or its frame")
    surface: AbstractSDF = part("surface of the body, in the same frame")
    resolution: Scalar = quantity(
        "s",
        "shortest step near the surface: what is thinner than it times the speed may be passed",
        gt=0,
        default=0.1,
    )
    primary: Primary | None = part("second body, whose tide is added to the field", default=None)

    @rule(TWICE)
    def _has_plain_gravity(self):
        return self.gravity.is_inertial

    def vector_field(self, t, state):
        here = Surroundings.at(self, t)
        return FlightState(state.velocity, here.acceleration(state.position, state.velocity))

    def power(self, t, state):
        here, x = Surroundings.at(self, t), state.position
        momentum = jnp.cross(x, state.velocity + here.motion.velocity_at(x))
        return changes(self, t, lambda field: -field.potential(x), momentum)

    def approach(self, t, state):
        """Bounds that are valid while half of the gap is closed.

        **Arguments:** `t`, s; `state`. **Returns:** the gap and the bounds.
        """
        gap = self.surface.distance(state.position)
        return Approach(
            gap=gap,
            speed=safe.norm(state.velocity),
            resolution=self.resolution,
            acceleration=Surroundings.at(self, t).greatest_acceleration(state.position, gap),
        )

    def scales(self, t, state):
        return flight_scales(self.approach(t, state), state)

    def energy(self, t, state):
        here = Surroundings.at(self, t)
        swept = here.motion.velocity_at(state.position)
        return {
            "kinetic": 0.5 * state.velocity @ state.velocity,
            "potential": -here.field.potential(state.position),
            "centrifugal": -0.5 * swept @ swept,
        }


def flight_scales(near: Approach, state: FlightState) -> tuple[FlightState, FlightState]:
    """The origin and units of a point mass in flight, for `AbstractModel.scales`.

    **Arguments:** `near`, the approach to the surface; `state`. **Returns:** origin and units, in the state's
    structure.
    """
    units, ones = motion_units(near), jnp.ones(3)
    return FlightState(state.position), FlightState(units.length * ones, units.speed * ones)


class InertialFlight(AbstractModel):
    """The same flight in axes that do not rotate, r'' = R ∇U(Rᵀ r), with the attitude R of field and surface."""

    has_contact_forces: ClassVar[bool] = False
    state_kinds: ClassVar = (FlightState,)
    body: Flight = part("flight in the body's frame")

    def from_body(self, t: Scalar, state: FlightState) -> FlightState:
        """A state of the body's frame in axes that do not rotate: R r and R (v + ω × r).

        **Arguments:** `t`, s; `state`. **Returns:** the inertial state.
        """
        motion = self.body.frame.at(as_float(t))
        moving = state.velocity + motion.velocity_at(state.position)
        return FlightState(motion.attitude @ state.position, motion.attitude @ moving)

    def to_body(self, t: Scalar, state: FlightState) -> FlightState:
        """A state of the inertial axes in the body's frame, the inverse of `from_body`.

        **Arguments:** `t`, s; `state`. **Returns:** the state in the body's frame.
        """
        motion = self.body.frame.at(as_float(t))
        position = motion.attitude.inverse @ state.position
        velocity = motion.attitude.inverse @ state.velocity
        return FlightState(position, velocity - motion.velocity_at(position))

    def vector_field(self, t, state):
        here = Surroundings.at(self.body, t)
        turn = here.motion.attitude
        return FlightState(state.velocity, turn @ here.field.acceleration(turn.inverse @ state.position))

    def power(self, t, state):
        return self.body.power(t, self.to_body(t, state))

    def approach(self, t, state):
        return self.body.approach(t, self.to_body(t, state))

    def scales(self, t, state):
        return flight_scales(self.approach(t, state), state)

    def energy(self, t, state):
        return self.body.energy(t, self.to_body(t, state))


class TimeReversed(AbstractModel):
    """Any model with reversed time: τ = -t grows, so its solutions go from later states to earlier ones.

    It recovers the past of a model without losses of energy by friction or impacts.
    """

    model: AbstractModel = part("model of the motion forward in time")

    @property
    def has_contact_forces(self):
        return self.model.has_contact_forces

    @property
    def state_kinds(self):
        return self.model.state_kinds

    def vector_field(self, t, state):
        return jax.tree.map(jnp.negative, self.model.vector_field(-t, state))

    def power(self, t, state):
        return jax.tree.map(jnp.negative, self.model.power(-t, state))

    def approach(self, t, state):
        return self.model.approach(-t, state)

    def scales(self, t, state):
        return self.model.scales(-t, state)

    def energy(self, t, state):
        return self.model.energy(-t, state)
