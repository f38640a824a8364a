"""Hard contact at one point: flight, impact, sliding and sticking, and the transitions between them.

The state contains its phase. In each phase the vector field is smooth, and it stays smooth beyond the end of the
phase. A phase ends where `boundary` falls through zero; there `impact` gives the next state.

| phase | contact force | ends when |
|---|---|---|
| FLIGHT | none | the gap closes |
| SLIDING | N n̂ - μ N ĥ, with n̂·u' = 0 | the slip along ĥ (for μ > 0), or the normal force N, falls to zero |
| STICKING | F, with u' = 0: a point rests, a ball rolls | the friction reaches its bound: |F_t| = μ N |

Rebounds that become smaller would accumulate without end. Therefore an impact whose next hop would be lower than
`rest_height` has no rebound (e = 0), and the motion continues along the ground.

A sliding point turns faster as it slows down: under a force across the slip, the direction of the slip changes at a
rate proportional to 1/|slip|, so that it follows a power of the remaining time. The steps shrink with that time
(`look_ahead`). A slide whose slip becomes negligible (`least_slip`) has stopped, or it turns back (`turning`).

Without friction nothing stops a slip: a point on the ground always slides, also one without slip, and its heading is
not needed.
"""

from abc import abstractmethod
from enum import IntEnum
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from difsim import safe
from difsim.contact.impact import AbstractImpact, rest_force
from difsim.dynamics.model import AbstractForcedModel, AbstractImpactModel
from difsim.dynamics.turning import FASTER, turn_back
from difsim.rotation import solve3
from difsim.typing import Mat3, Scalar, Vec3


class Phase(IntEnum):
    """The phase of the motion of the contact point."""

    FLIGHT = 0
    SLIDING = 1
    STICKING = 2


# The least slip is the larger of two speeds. SLOW multiplies the speed that lifts a body to its rest height: a smaller
# slip moves the body by at most 1e-6/μ of that height. LOST, times the precision to the power 0.4, multiplies the
# speeds whose difference the slip is: the direction of a smaller slip would be less accurate than the tolerances
# require (1e-10 in float64), and such a slip changes the motion by at most 5e-12, the square of its relative size.
SLOW, LOST = 1e-3, 4.0
UNSEEN = 1e-6  # of the least slip: a smaller one is none, such as the rounding error of a start from rest
LEAST_GAIN = 1e-9  # of how fast slip against the slope falls: less is held by friction
SHRINK = 0.25  # the longest step, as a share of the time in which the slip would stop or reverse


class ClosestPoint(eqx.Module):
    """The point at which body and ground are nearest to each other, and its motion.

    `gap` m; `normal` n̂ [3] out of the ground; `velocity` u [3] m/s of the body's material at the point, relative to
    the ground's; `response` W [3, 3] 1/kg, the change of u per impulse at the point; `speed` m/s, the size of the
    speeds whose difference u is, or 0 where u is not a difference.
    """

    gap: Scalar
    normal: Vec3
    velocity: Vec3
    response: Mat3
    speed: Scalar


class AbstractHardModel(AbstractForcedModel, AbstractImpactModel):
    """A body that flies, and touches the ground at one point at a time.

    Its state contains, with the motion, `phase` (a `Phase`) and `slip_direction` [3], the direction ĥ of the slip
    during sliding. The heading is a state with its own rate, because the direction of the slip velocity has no
    derivative where the slip stops.
    """

    law: eqx.AbstractVar[AbstractImpact]
    rest_height: eqx.AbstractVar[Scalar]

    @abstractmethod
    def flight(self, t: Scalar, state: Any) -> Any:
        """The rate of the state in free flight. **Arguments:** `t`, s; `state`. **Returns:** d state/dt."""

    @abstractmethod
    def closest_point(self, state: Any) -> ClosestPoint:
        """The point at which body and ground are nearest to each other."""

    @abstractmethod
    def apply_force(self, state: Any, rate: Any, force: Vec3) -> Any:
        """Add the effect of a force at the nearest point to the rate of the state.

        **Arguments:** `state`; `rate`, without the force; `force` [3], N. **Returns:** the rate with the force.
        """

    @abstractmethod
    def apply_impulse(self, state: Any, impulse: Vec3) -> Any:
        """Add an impulse at the nearest point to the momenta of the state.

        **Arguments:** `state`; `impulse` [3], N s. **Returns:** the state after the impulse.
        """

    @abstractmethod
    def translate(self, state: Any, shift: Vec3) -> Any:
        """Translate the state. **Arguments:** `state`; `shift` [3], m. **Returns:** the state at its new position."""

    def rates(self, t, state):
        free = self.flight(t, state)
        here = self._accelerating_point(state, free)
        sliding, sticking = state.phase == Phase.SLIDING, state.phase == Phase.STICKING
        h, u = self._slip_direction(state, here), here.velocity
        force = jnp.where(sliding, here.sliding_force(h, self.law.friction), 0.0)
        force = jnp.where(sticking, here.sticking_force(), force)
        # The force keeps n̂·u = 0 along the ground, so that the part of u' normal to ĥ turns the slip.
        change = here.acceleration + here.response @ force
        turn = safe.divide(change - jnp.dot(h, change) * h, jnp.broadcast_to(jnp.dot(h, u), (3,)))
        rate = eqx.tree_at(
            lambda r: (r.phase, r.slip_direction),
            self.apply_force(state, free, force),
            (jnp.zeros_like(state.phase), jnp.where(sliding & self._rubs, turn, 0.0)),
        )
        return rate, {"contact": -jnp.dot(force, u)}

    def boundary(self, t, state):
        here = self._accelerating_point(state, self.flight(t, state))
        left = safe.least(self._slip_and_pull(state, here))
        # The margin is an acceleration, so that a root found to 1e-12 is equally accurate for any mass.
        margin = here.margin(self.law.friction) * jnp.trace(here.response)
        grounded = jnp.where(state.phase == Phase.SLIDING, left, margin)
        return jnp.where(state.phase == Phase.FLIGHT, here.gap, grounded)

    def impact(self, t, state):
        before = self._accelerating_point(state, self.flight(t, state))
        n, u, W, μ = before.normal, before.velocity, before.response, self.law.friction
        flying, sliding, sticking = (state.phase == phase for phase in Phase)

        # An impact has no rebound where the next hop would stay below the rest height.
        closing = jnp.dot(n, u)
        low = self._is_low(before, jnp.where(closing > 0, closing, self.law.restitution * closing))
        law = eqx.tree_at(lambda law: law.restitution, self.law, jnp.where(low, 0.0, self.law.restitution))
        hit = law.impulse(W, n, u)
        after = u + W @ hit.total
        slip = after - jnp.dot(n, after) * n

        # Where the slip has stopped, its rounding error is removed. Sliding that started with less than the least
        # slip would begin beyond its own end, which no root search would find.
        small = jnp.dot(slip, slip) <= before.least_slip(self.rest_height) ** 2
        stops = (flying & low & (hit.stopped | small)) | (
            sliding & (jnp.argmin(self._slip_and_pull(state, before)) == 0)
        )
        stops = stops & self._rubs
        halted = self.apply_impulse(state, -solve3(W, u))
        rest = self._accelerating_point(halted, self.flight(t, halted))
        held = rest_force(W, n, rest.acceleration, μ)
        # Slip that begins from rest is 0, and has the derivative of a slide along its heading: a start that is moved
        # in time or pushed that way has slipped by then.
        begins = jnp.where(flying, self._beginning_slip(W, n, u, held.slip_direction), 0.0)
        turns = sliding & stops & ~held.sticks
        back = self._slip_after_turn(rest, state.slip_direction, held.slip_direction, turns)
        begins = jnp.where(turns, before.least_slip(self.rest_height) * back, begins)
        begins = jnp.where(held.sticks, 0.0, begins)
        impulse = jnp.where(stops, -solve3(W, u - begins), jnp.where(flying, hit.total, 0.0))
        # The time of impact is known to 1e-12 s, so that the gap may be -1e-12 m: without the shift a hop lower than
        # this would begin below the ground.
        state = self.translate(self.apply_impulse(state, impulse), -before.gap * n)

        # A point without slip sticks or begins to slide. A sticking point slides once friction reaches its bound.
        force = before.sticking_force()
        push = jnp.dot(n, force)
        phase = jnp.where(stops, jnp.where(held.sticks, Phase.STICKING, Phase.SLIDING), Phase.FLIGHT)
        phase = jnp.where((flying & low & ~stops) | (sticking & (push > 0)), Phase.SLIDING, phase)
        onward = jnp.where(turns, safe.unit(back), held.slip_direction)
        heading = jnp.where(stops, onward, jnp.where(sticking, safe.unit(push * n - force), safe.unit(slip)))
        heading = jnp.where((phase == Phase.SLIDING) & self._rubs, heading, 0.0)
        state = eqx.tree_at(
            lambda s: (s.phase, s.slip_direction), state, (phase.astype(state.phase.dtype), heading)
        )
        return state, {"contact": -jnp.dot(impulse, u + 0.5 * W @ impulse)}

    def closing_speed(self, t, state):
        met = self.closest_point(state)
        return -jnp.dot(met.normal, met.velocity)

    def is_in_contact(self, t, state):
        here = self._accelerating_point(state, self.flight(t, state))
        rise = jnp.dot(here.normal, here.velocity)
        # On a slope, rounding turns a velocity along the ground into one off the ground: so low a hop does not count.
        landed = (state.phase == Phase.FLIGHT) & (here.gap <= 0) & ((rise <= 0) | self._is_low(here, rise))
        return landed | ((state.phase == Phase.STICKING) & (here.margin(self.law.friction) < 0))

    def _beginning_slip(self, response: Mat3, normal: Vec3, velocity: Vec3, heading: Vec3) -> Vec3:
        """The slip after a plastic impact of a point that slides along a heading: its derivative, with the value 0."""
        along = normal - self.law.friction * heading
        push = safe.divide(-jnp.dot(normal, velocity), jnp.dot(normal, response @ along))
        slip = jnp.dot(heading, velocity + push * (response @ along))
        return (slip - jax.lax.stop_gradient(slip)) * jax.lax.stop_gradient(heading)

    def _slip_after_turn(
        self, rest: "AcceleratingPoint", heading: Vec3, onward: Vec3, turns: Bool[Array, ""]
    ) -> Vec3:
        """The slip, in least slips, of a slide that has turned back, where a point slides `onward` from rest.

        Its derivative is less by what the slip grows in the time of the turn, which has passed at once.
        """

        def rate(way):
            return jnp.dot(onward, rest.acceleration + rest.response @ rest.sliding_force(way, self.law.friction))

        braking = jnp.where(turns, rate(-onward), 1.0)
        gain = jnp.where(turns, jnp.clip(rate(onward), LEAST_GAIN * braking, braking), 1.0)
        back, time = turn_back(jnp.where(turns, heading, -onward), onward, braking, gain)
        pull, rubbing = 0.5 * (braking + gain), 0.5 * (braking - gain)
        growth = jax.lax.stop_gradient(onward - rubbing / pull * back)
        return FASTER * back - (time - jax.lax.stop_gradient(time)) * growth

    @property
    def _rubs(self) -> Bool[Array, ""]:
        """Whether there is friction."""
        return self.law.friction > 0

    def _slip_direction(self, state: Any, here: "AcceleratingPoint") -> Vec3:
        """The direction ĥ of the slip.

        The state's is normalised here: a rounding error of its length would grow as |slip| to the power -2. Without
        friction ĥ has no effect but on the derivative by friction, and follows from the velocity, from rest from the
        acceleration.
        """
        change = here.acceleration + here.response @ here.sliding_force(jnp.zeros(3), self.law.friction)
        slip, pull = (v - jnp.dot(here.normal, v) * here.normal for v in (here.velocity, change))
        follows = safe.unit(slip + UNSEEN * here.least_slip(self.rest_height) * safe.unit(pull))
        return jnp.where(self._rubs, safe.unit(state.slip_direction), jax.lax.stop_gradient(follows))

    def _slip_and_pull(self, state: Any, here: "AcceleratingPoint") -> Float[Array, "2"]:
        """The slip along the heading above the least slip, m/s, and the pull to the ground, m/s².

        Sliding ends when either of the two falls to zero; without friction when the pull does.
        """
        slip = jnp.dot(state.slip_direction, here.velocity) - here.least_slip(self.rest_height)
        return jnp.stack([jnp.where(self._rubs, slip, jnp.inf), -here.away])

    def _is_low(self, here: "AcceleratingPoint", rise: Scalar) -> Bool[Array, ""]:
        """Whether a hop with the speed `rise` m/s off the ground stays below the rest height."""
        return (here.away < 0) & (rise**2 <= -2 * here.away * self.rest_height)

    def _accelerating_point(self, state: Any, free: Any) -> "AcceleratingPoint":
        def motion(state):
            meeting = self.closest_point(state)
            return (meeting.velocity, jnp.dot(meeting.normal, meeting.velocity)), meeting

        _, (acceleration, away), met = jax.jvp(motion, (state,), (free,), has_aux=True)
        return AcceleratingPoint(met.gap, met.normal, met.velocity, met.response, met.speed, acceleration, away)

    def look_ahead(self, state: Any, free: Any) -> tuple["AcceleratingPoint", Scalar]:
        """The nearest point with its accelerations, and the longest step during sliding.

        **Arguments:** `state`; `free`, its rate in free flight. **Returns:** the point; the step, s (inf in the other
        phases).
        """
        here = self._accelerating_point(state, free)
        change = safe.norm(
            here.acceleration + here.response @ here.sliding_force(state.slip_direction, self.law.friction)
        )
        slip = jnp.maximum(jnp.dot(state.slip_direction, here.velocity), here.least_slip(self.rest_height))
        longest = jnp.where(change > 0, SHRINK * safe.divide(slip, change), jnp.inf)
        return here, jnp.where((state.phase == Phase.SLIDING) & self._rubs, longest, jnp.inf)


class AcceleratingPoint(ClosestPoint):
    """A meeting with its accelerations in free flight.

    `acceleration` u' [3] m/s²; `away` (n̂·u)' = n̂·u' + n̂'·u m/s², whose second term comes from the curvature of the
    ground. The forces are not set to zero where they would be tensile, so that the vector field stays smooth beyond
    the end of its phase.
    """

    acceleration: Vec3
    away: Scalar

    def sliding_force(self, slip_direction: Vec3, friction: Scalar) -> Vec3:
        """The contact force on a sliding point.

        **Arguments:** `slip_direction` ĥ [3]; `friction` μ. **Returns:** the force [3], N.
        """
        along = self.normal - friction * slip_direction
        return safe.divide(-self.away, jnp.dot(self.normal, self.response @ along)) * along

    def sticking_force(self) -> Vec3:
        """The contact force [3] N on a sticking point."""
        return -solve3(self.response, self.acceleration)

    def least_slip(self, rest_height: Scalar) -> Scalar:
        """The slip, m/s, below which a point counts as stopped; it has no derivative.

        The end of sliding hardly depends on this limit, so that its derivative is not needed.
        """
        rise = safe.sqrt(-2 * self.away * rest_height)
        lost = LOST * jnp.finfo(self.speed.dtype).eps ** 0.4 * self.speed
        return jax.lax.stop_gradient(jnp.maximum(SLOW * rise, lost))

    def margin(self, friction: Scalar) -> Scalar:
        """The friction μ N - |F_t|, N, that a sticking point has in reserve."""
        force = self.sticking_force()
        push = jnp.dot(self.normal, force)
        return friction * push - safe.norm(force - push * self.normal)
