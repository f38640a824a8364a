"""Free flight of a point mass about a rotating body, until it meets the body's surface.

The motion has two forms: `Flight` in the frame that rotates with the body, and `InertialFlight` in the inertial
frame; both frames have the same axes at t = 0. The mass is 1 kg: it cancels.
"""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim import safe
from difsim.declarations import part, quantity, rule, variable
from difsim.dynamics.model import AbstractModel, Approach, motion_units
from difsim.gravity import AbstractField, Rotating
from difsim.rotation import Rotation
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, Vec3

TWICE = "gravity is Rotating, so the centrifugal term would count twice: give the field in it alone"


class FlightState(eqx.Module):
    """The position and velocity of a point mass in the model's frame."""

    position: Vec3 = variable("m", "position r")
    velocity: Vec3 = variable("m/s", "velocity r'", default=(0.0, 0.0, 0.0))


class Flight(AbstractModel):
    """A point mass in the frame fixed to a rotating body (paper 000 Eqs 1-2).

    r'' + 2 ω × r' + ω × (ω × r) = ∇U.

    The energies add up to the Jacobi constant ½ v² - ½ |ω × r|² - U, J/kg. Flights that are run until `AtContact()` end
    at the surface; others fly on, through the body.
    """

    has_contact_forces: ClassVar[bool] = False
    state_kinds: ClassVar = (FlightState,)
    gravity: AbstractField = part(
        "field U of the body alone, without a centrifugal term, which the model has itself"
    )
    omega: Vec3 = quantity("rad/s", "constant spin ω of the body", usual=(0, 0.3), slip="degrees/s or rev/min")
    surface: AbstractSDF = part("surface of the body, in the same frame")
    resolution: Scalar = quantity(
        "s",
        "shortest step near the surface: what is thinner than it times the speed may be passed",
        gt=0,
        default=0.1,
    )

    @rule(TWICE)
    def _has_plain_gravity(self):
        return not isinstance(self.gravity, Rotating)

    def vector_field(self, t, state):
        return FlightState(
            position=state.velocity,
            velocity=relative_acceleration(self.gravity, self.omega, state.position, state.velocity),
        )

    def approach(self, t, state):
        """Bounds that are valid while half of the gap is closed.

        **Arguments:** `t`, s; `state`. **Returns:** the gap and the bounds.
        """
        gap = self.surface.distance(state.position)
        return Approach(
            gap=gap,
            speed=safe.norm(state.velocity),
            resolution=self.resolution,
            acceleration=greatest_acceleration(self.gravity, self.omega, state.position, gap),
        )

    def scales(self, t, state):
        return flight_scales(self.approach(t, state), state)

    def energy(self, t, state):
        swept = jnp.cross(self.omega, state.position)
        return {
            "kinetic": 0.5 * state.velocity @ state.velocity,
            "potential": -self.gravity.potential(state.position),
            "centrifugal": -0.5 * swept @ swept,
        }


def flight_scales(near: Approach, state: FlightState) -> tuple[FlightState, FlightState]:
    """The origin and units of a point mass in flight, for `AbstractModel.scales`.

    **Arguments:** `near`, the approach to the surface; `state`. **Returns:** origin and units, in the state's
    structure.
    """
    units, ones = motion_units(near), jnp.ones(3)
    return FlightState(state.position), FlightState(units.length * ones, units.speed * ones)


def relative_acceleration(gravity: AbstractField, omega: Vec3, position: Vec3, velocity: Vec3) -> Vec3:
    """The acceleration ∇U - 2 ω × v - ω × (ω × r) in a rotating frame.

    **Arguments:** `gravity` U; `omega` ω [3], rad/s; `position` r [3], m; `velocity` v [3], m/s.
    **Returns:** the acceleration [3], m/s².
    """
    swept = jnp.cross(omega, position)
    return gravity.acceleration(position) - 2 * jnp.cross(omega, velocity) - jnp.cross(omega, swept)


def greatest_acceleration(gravity: AbstractField, omega: Vec3, position: Vec3, gap: Scalar) -> Scalar:
    """An upper bound of the acceleration towards the surface while half of a gap is closed.

    All mass is farther away than the gap d, so the pull of each part grows by a factor of four at most (a bound if
    the pulls of the parts do not cancel). The Coriolis term does not change the speed; the centrifugal one is ω² r
    at most.

    **Arguments:** `gravity`; `omega` [3], rad/s; `position` [3], m; `gap` d, m. **Returns:** the bound, m/s².
    """
    reach = safe.norm(position) + jnp.maximum(gap, 0.0)
    return 4 * safe.norm(gravity.acceleration(position)) + omega @ omega * reach


class InertialFlight(AbstractModel):
    """The same flight in the inertial frame, r'' = R ∇U(Rᵀ r), with R the rotation by ω t of field and surface."""

    has_contact_forces: ClassVar[bool] = False
    state_kinds: ClassVar = (FlightState,)
    body: Flight = part("flight in the body's frame")

    def from_body(self, t: Scalar, state: FlightState) -> FlightState:
        """A state of the body's frame in the inertial frame: R r and R (v + ω × r).

        **Arguments:** `t`, s; `state`. **Returns:** the inertial state.
        """
        turn, swept = _turn(self.body.omega, t), jnp.cross(self.body.omega, state.position)
        return FlightState(turn @ state.position, turn @ (state.velocity + swept))

    def to_body(self, t: Scalar, state: FlightState) -> FlightState:
        """A state of the inertial frame in the body's frame, the inverse of `from_body`.

        **Arguments:** `t`, s; `state`. **Returns:** the state in the body's frame.
        """
        turn = _turn(self.body.omega, t)
        position = turn.inverse @ state.position
        velocity = turn.inverse @ state.velocity
        return FlightState(position, velocity - jnp.cross(self.body.omega, position))

    def vector_field(self, t, state):
        turn = _turn(self.body.omega, t)
        pull = self.body.gravity.acceleration(turn.inverse @ state.position)
        return FlightState(position=state.velocity, velocity=turn @ pull)

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


def _turn(omega: Vec3, t: Scalar) -> Rotation:
    return Rotation.from_rotation_vector(omega * t)
