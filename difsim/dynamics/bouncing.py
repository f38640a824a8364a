"""Hard contact with the ground: a point that bounces, slides and rests, and a rigid body."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim import safe
from difsim.body import RigidBody, RigidState
from difsim.body.rigid import rigid_scales
from difsim.contact import Newton
from difsim.contact.impact import AbstractImpact
from difsim.contact.outline import AbstractOutline
from difsim.declarations import part, quantity, rule, variable
from difsim.dynamics.hard import AbstractHardModel, AcceleratingPoint, ClosestPoint
from difsim.dynamics.model import Approach, motion_units
from difsim.dynamics.splitting import prevent_fusion
from difsim.gravity import AbstractField
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, Vec3

ROTATES = "the frame must not rotate: use Hopper"


def _rest_height() -> Any:
    return quantity(
        "m",
        "rest height: hops lower than that are none",
        gt=0,
        hint="or bounces and slides would never end",
        default=1e-6,
    )


class PointState(eqx.Module):
    """The motion of a point, its phase and, while it slides, its heading."""

    position: Vec3 = variable("m", "position x")
    velocity: Vec3 = variable("m/s", "velocity v", default=(0.0, 0.0, 0.0))
    phase: Scalar = variable("", "phase of the contact, a `Phase`", default=0.0)
    slip_direction: Vec3 = variable("", "direction ĥ of the slip while it slides", default=(0.0, 0.0, 0.0))


class Bouncer(AbstractHardModel):
    """A unit point mass in a gravity field that rebounds from a surface, and in the end slides and rests on it.

    v_n' = -e v_n and |Δv_t| = min(μ (1 + e) |v_n|, |v_t|) against the slip.
    """

    state_kinds: ClassVar = (PointState,)
    gravity: AbstractField = part("gravity field")
    surface: AbstractSDF = part("surface of the ground")
    restitution: Scalar = quantity("", "coefficient e of restitution", ge=0, le=1, slip="percent")
    friction: Scalar = quantity("", "friction coefficient μ", ge=0, usual=(0, 2), slip="degrees", default=0.0)
    rest_height: Scalar = _rest_height()

    @rule(ROTATES)
    def _is_inertial(self):
        return self.gravity.is_inertial

    @property
    def law(self) -> Newton:
        return Newton(self.restitution, self.friction, turns=0)  # the slip of a point keeps its direction

    def flight(self, t, state):
        return PointState(
            position=state.velocity,
            velocity=self.gravity.acceleration(state.position),
            phase=jnp.zeros_like(state.phase),
            slip_direction=jnp.zeros_like(state.slip_direction),
        )

    def closest_point(self, state):
        return ClosestPoint(
            gap=self.surface.distance(state.position),
            normal=self.surface.normal(state.position),
            velocity=state.velocity,
            response=jnp.eye(3),
            speed=jnp.zeros_like(state.phase),
        )

    def apply_force(self, state, rate, force):
        return eqx.tree_at(lambda r: r.velocity, rate, rate.velocity + force)

    def apply_impulse(self, state, impulse):
        return eqx.tree_at(lambda s: s.velocity, state, state.velocity + impulse)

    def translate(self, state, shift):
        return eqx.tree_at(lambda s: s.position, state, state.position + shift)

    def approach(self, t, state):
        free = self.flight(t, state)
        return hard_approach(
            state.phase,
            safe.norm(state.position),
            safe.norm(state.velocity),
            safe.norm(free.velocity),
            *self.look_ahead(state, free),
        )

    def scales(self, t, state):
        # A point has no size: where it rests on the ground nothing tells how far it will go, and lengths are in metres.
        near = self.approach(t, state)
        height = jnp.maximum(near.gap, 0.0) + safe.divide(near.speed**2, 2 * near.acceleration)
        rests = (near.acceleration > 0) & (height <= self.rest_height)
        units = motion_units(eqx.tree_at(lambda a: a.gap, near, jnp.where(rests, 1.0, near.gap)))
        still, ones = jnp.zeros(3), jnp.ones(3)
        return PointState(state.position, still), PointState(
            position=units.length * ones,
            velocity=units.speed * ones,
            phase=jnp.asarray(1.0),
            slip_direction=ones,
        )

    def energy(self, t, state):
        return {
            "kinetic": 0.5 * state.velocity @ state.velocity,
            "potential": -self.gravity.potential(state.position),
        }


class HardState(eqx.Module):
    """The motion of a body, the phase of its contact and, while it slides, its heading."""

    body: RigidState = part("motion of the body")
    phase: Scalar = variable("", "phase of the contact, a `Phase`", default=0.0)
    slip_direction: Vec3 = variable("", "direction ĥ of the slip while it slides", default=(0.0, 0.0, 0.0))


class HardBody(AbstractHardModel):
    """A rigid body in a gravity field that bounces off a surface, slides, rolls and rests: hard contact.

    m v' = m g + F,  I ω' = r × F - ω × I ω; impacts by `law`, at the one point that touches. A body that touches
    at several points at once is beyond it (use `Hopper`): the solve ends with the status SEVERAL_POINTS.
    """

    state_kinds: ClassVar = (HardState,)
    body: RigidBody = part("mass and inertia")
    outline: AbstractOutline = part("points that may touch")
    law: AbstractImpact = part("law of impact")
    surface: AbstractSDF = part("surface of the ground, in a frame that does not rotate")
    gravity: AbstractField = part("gravity field in that frame")
    rest_height: Scalar = _rest_height()

    @rule(ROTATES)
    def _is_inertial(self):
        return self.gravity.is_inertial

    def flight(self, t, state):
        body = state.body
        weight = self.body.mass * self.gravity.acceleration(body.position)
        return HardState(
            body=self.body.derivative(body, weight, jnp.zeros(3), jnp.zeros(3)),
            phase=jnp.zeros_like(state.phase),
            slip_direction=jnp.zeros_like(state.slip_direction),
        )

    def closest_point(self, state):
        body, (arm, gap) = state.body, self._nearest(state.body)
        return ClosestPoint(
            gap=gap,
            normal=self.surface.normal(body.position + arm),
            velocity=body.velocity + jnp.cross(body.rotation @ body.spin, arm),
            response=self.body.response(body, arm),
            speed=safe.norm(body.velocity) + safe.norm(body.spin) * self.outline.radius,
        )

    def apply_force(self, state, rate, force):
        return self._add_response(rate, state.body, force)

    def impact(self, t, state):
        # Impact and flight as one function take twice as long to compile.
        return super().impact(
            t, eqx.tree_at(lambda s: s.body.position, state, prevent_fusion(state.body.position))
        )

    def apply_impulse(self, state, impulse):
        return self._add_response(state, state.body, impulse)

    def translate(self, state, shift):
        return eqx.tree_at(lambda s: s.body.position, state, state.body.position + shift)

    def approach(self, t, state):
        body, reach = state.body, self.outline.radius
        spin, free = safe.norm(body.spin), self.flight(t, state)
        return hard_approach(
            state.phase,
            safe.norm(body.position) + reach,
            safe.norm(body.velocity) + spin * reach,
            safe.norm(free.body.velocity) + spin**2 * reach,
            *self.look_ahead(state, free),
        )

    def scales(self, t, state):
        reach = self.outline.radius
        units = motion_units(self.approach(t, state), reach)
        origin, size = rigid_scales(state.body, units.speed, units.length, reach)
        return HardState(origin), HardState(size, jnp.asarray(1.0), jnp.ones(3))

    def energy(self, t, state):
        return {
            "kinetic": self.body.kinetic_energy(state.body),
            "potential": -self.body.mass * self.gravity.potential(state.body.position),
        }

    def _nearest(self, body):
        """The arm of the point that is nearest to the surface, and its gap, m."""
        arms = self.outline.arms(self.surface, body.position, body.rotation.as_matrix())
        gaps = jax.vmap(self.surface.distance)(body.position[None] + arms)
        i = jnp.argmin(jax.lax.stop_gradient(gaps))
        return arms[i], gaps[i]

    def _add_response(self, to, body, impulse):
        """A state, or its rate, with what an impulse, or a force, at the nearest point adds."""
        v, spin = self.body.velocity_changes(body, self._nearest(body)[0], impulse)
        return eqx.tree_at(
            lambda s: (s.body.velocity, s.body.spin), to, (to.body.velocity + v, to.body.spin + spin)
        )


def hard_approach(
    phase: Scalar, place: Scalar, speed: Scalar, acceleration: Scalar, here: AcceleratingPoint, longest: Scalar
) -> Approach:
    """The bounds on a step near a hard contact, for the step guard.

    In a slide they hold the longest step. In flight no step from an impact goes past the top of the next hop, where
    the gap could close again unseen.

    `here.away` m/s² is the second rate of the gap: where it grows ever faster, as after the lift from convex ground,
    there is no top, and each step may double it.
    """
    climb, away = jnp.dot(here.normal, here.velocity), here.away
    rise = jnp.abs(climb)
    # A gap of 0 would mean contact, and no bound on the step: in flight the ground counts as just below. The gap
    # is known to the rounding of the place.
    unknown = jnp.maximum(1e-9, 4 * jnp.finfo(here.gap.dtype).eps * place)
    above = jnp.where(jnp.abs(here.gap) < unknown, jnp.finfo(here.gap.dtype).tiny, here.gap)
    leaving = safe.divide(rise, jnp.broadcast_to(away, rise.shape))
    leaving = jnp.where(here.gap > unknown, safe.divide(here.gap, rise), leaving)
    # As it lifts off, at least as long as a fall by what is not known of the gap.
    leaving = jnp.maximum(leaving, safe.sqrt(safe.divide(2 * unknown, acceleration)))
    soon = safe.divide(rise, acceleration)
    soon = jnp.where((climb > 0) & (away > 0), jnp.maximum(soon, leaving), soon)
    return Approach(
        gap=jnp.where(phase > 0, jnp.minimum(here.gap, 0.0), above),
        speed=speed,
        # From rest on the ground, 1 ns: enough for the rise to begin, after which each step may double it.
        resolution=jnp.maximum(soon, 1e-9),
        acceleration=acceleration,
        longest=longest,
    )
