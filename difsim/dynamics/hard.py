"""Hard contact at one point: flight, impact, sliding and sticking, and what leads from one to the next.

The state says in which phase it is. In each phase the field is smooth, and goes on smoothly through the end of the
phase, where `boundary` falls through zero; there `impact` makes the next state.

| phase | held on the ground by | ends when |
|---|---|---|
| FLIGHT | nothing | the gap closes |
| SLIDING | N n̂ - μ N ĥ, with n̂·u' = 0 | the slip along ĥ is used up, or N is |
| STICKING | F, with u' = 0: a point rests, a ball rolls | friction is used up: |F_t| = μ N |

Bounces that get smaller accumulate. An impact whose next hop would be lower than `rest_height` ends without a
rebound (e = 0), and the motion goes on along the ground.

A slide slows down, and turns the faster the slower it is: with a force across the slip its direction has a rate of
1/|slip|, and goes as a power of the time that is left. Steps shrink with that time (`ahead`), and a slip
that has become negligible (`least_slip`) has stopped.
"""

from abc import abstractmethod
from enum import IntEnum
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from difsim import safe
from difsim.contact.impact import AbstractImpact, hold
from difsim.dynamics.model import AbstractImpactModel
from difsim.rotation import solve3
from difsim.typing import Mat3, Scalar, Vec3


class Phase(IntEnum):
    """What the touching point does."""

    FLIGHT = 0
    SLIDING = 1
    STICKING = 2


# The least slip. Of the speed from which a body rises to its rest height: what slip of that size can still do is
# 1e-6/μ of that height. And of the speeds whose difference the slip is: of less its direction would be known worse
# than tolerances ask (1e-10 in float64), and what it can still do is 5e-12, the square, of the motion.
SLOW, LOST = 1e-3, 4.0  # the latter times the precision to the power 0.4
SHRINK = 0.25  # of the time in which slip would stop or turn round: how long a step is


class Meeting(eqx.Module):
    """Where body and ground are nearest: `gap` m, `normal` n̂ out of the ground, `velocity` u m/s of the body's
    material there over the ground's, `response` W 1/kg of u to an impulse there, and `speed` m/s, how large the
    speeds are whose difference u is (0 where it is none)."""

    gap: Scalar
    normal: Vec3
    velocity: Vec3
    response: Mat3
    speed: Scalar


class AbstractHardModel(AbstractImpactModel):
    """A body that flies, and meets the ground at one point at a time.

    Its state has, beside the motion, `phase` (a `Phase`) and `heading`, the direction ĥ of the slip
    while it slides. ĥ is a state with its own rate: the direction of the slip itself has no derivative where
    slip stops.
    """

    law: eqx.AbstractVar[AbstractImpact]
    rest_height: eqx.AbstractVar[Scalar]

    @abstractmethod
    def flight(self, t: Scalar, state: Any) -> Any:
        """The state's rate in free flight."""

    @abstractmethod
    def closest_point(self, state: Any) -> Meeting:
        """The nearest point."""

    @abstractmethod
    def pushed(self, state: Any, rate: Any, force: Vec3) -> Any:
        """`rate` with `force` [3] N at the nearest point added to it."""

    @abstractmethod
    def struck(self, state: Any, impulse: Vec3) -> Any:
        """`state` with `impulse` [3] N s at the nearest point added to its momenta."""

    @abstractmethod
    def shifted(self, state: Any, shift: Vec3) -> Any:
        """`state` with its position moved by `shift` [3] m."""

    def vector_field(self, t, state):
        return self.rates(t, state)[0]

    def power(self, t, state):
        return self.rates(t, state)[1]

    def rates(self, t, state):
        free = self.flight(t, state)
        here = self._here(state, free)
        sliding, sticking = state.phase == Phase.SLIDING, state.phase == Phase.STICKING
        # Of the unit length: else a rounding of the heading's length would grow as the slip's to the power -2.
        h, u = safe.unit(state.heading), here.velocity
        force = jnp.where(sliding, here.slides(h, self.law.friction), 0.0)
        force = jnp.where(sticking, here.sticks(), force)
        # Along the ground the force leaves n̂·u = 0: what is left of u' beside ĥ turns the slip.
        change = here.acceleration + here.response @ force
        turn = safe.divide(change - jnp.dot(h, change) * h, jnp.broadcast_to(jnp.dot(h, u), (3,)))
        rate = eqx.tree_at(
            lambda r: (r.phase, r.heading),
            self.pushed(state, free, force),
            (jnp.zeros_like(state.phase), jnp.where(sliding, turn, 0.0)),
        )
        return rate, {"contact": -jnp.dot(force, u)}

    def boundary(self, t, state):
        here = self._here(state, self.flight(t, state))
        left = safe.least(here.left(state.heading, self.rest_height))
        # As an acceleration: a boundary is found to 1e-12, whatever the mass.
        margin = here.margin(self.law.friction) * jnp.trace(here.response)
        grounded = jnp.where(state.phase == Phase.SLIDING, left, margin)
        return jnp.where(state.phase == Phase.FLIGHT, here.gap, grounded)

    def impact(self, t, state):
        before = self._here(state, self.flight(t, state))
        n, u, W, μ = before.normal, before.velocity, before.response, self.law.friction
        flying, sliding, sticking = (state.phase == phase for phase in Phase)

        # An impact, without a rebound where the next hop would be too low to count.
        closing = jnp.dot(n, u)
        low = self._is_low(before, jnp.where(closing > 0, closing, self.law.restitution * closing))
        law = eqx.tree_at(lambda law: law.restitution, self.law, jnp.where(low, 0.0, self.law.restitution))
        hit = law.impulse(W, n, u)
        after = u + W @ hit.total
        slip = after - jnp.dot(n, after) * n

        # Where slip has stopped, its round-off is taken out. Of a slide with less than the least slip at its start
        # the end would not be seen.
        small = jnp.dot(slip, slip) <= before.least_slip(self.rest_height) ** 2
        stops = (flying & low & (hit.stopped | small)) | (
            sliding & (jnp.argmin(before.left(state.heading, self.rest_height)) == 0)
        )
        impulse = jnp.where(stops, -solve3(W, u), jnp.where(flying, hit.total, 0.0))
        # The time of impact is known to 1e-12 s, the gap then to 1e-12 m: a lower hop would begin under ground.
        state = self.shifted(self.struck(state, impulse), -before.gap * n)

        # A point that does not slip now sticks or begins to slide; friction that is used up lets it slide.
        held = hold(W, n, self._here(state, self.flight(t, state)).acceleration, μ)
        force = before.sticks()
        push = jnp.dot(n, force)
        phase = jnp.where(stops, jnp.where(held.sticks, Phase.STICKING, Phase.SLIDING), Phase.FLIGHT)
        phase = jnp.where((flying & low & ~stops) | (sticking & (push > 0)), Phase.SLIDING, phase)
        heading = jnp.where(stops, held.heading, jnp.where(sticking, safe.unit(push * n - force), safe.unit(slip)))
        heading = jnp.where(phase == Phase.SLIDING, heading, 0.0)
        state = eqx.tree_at(lambda s: (s.phase, s.heading), state, (phase.astype(state.phase.dtype), heading))
        return state, {"contact": -jnp.dot(impulse, u + 0.5 * W @ impulse)}

    def lies(self, t, state):
        here = self._here(state, self.flight(t, state))
        rise = jnp.dot(here.normal, here.velocity)
        # On a slope a velocity along the ground leaves it by a rounding: so low a hop is none.
        landed = (state.phase == Phase.FLIGHT) & (here.gap <= 0) & ((rise <= 0) | self._is_low(here, rise))
        return landed | ((state.phase == Phase.STICKING) & (here.margin(self.law.friction) < 0))

    def _is_low(self, here: "_Here", rise: Scalar) -> Bool[Array, ""]:
        """Whether a hop with the speed `rise` m/s off the ground stays below the rest height."""
        return (here.away < 0) & (rise**2 <= -2 * here.away * self.rest_height)

    def _here(self, state: Any, free: Any) -> "_Here":
        def motion(state):
            meeting = self.closest_point(state)
            return (meeting.velocity, jnp.dot(meeting.normal, meeting.velocity)), meeting

        _, (acceleration, away), met = jax.jvp(motion, (state,), (free,), has_aux=True)
        return _Here(met.gap, met.normal, met.velocity, met.response, met.speed, acceleration, away)

    def ahead(self, t: Scalar, state: Any) -> tuple[Scalar, Scalar]:
        """The longest step s of a slide, inf in the other phases; the second rate of the gap in flight, m/s²."""
        here = self._here(state, self.flight(t, state))
        change = safe.norm(here.acceleration + here.response @ here.slides(state.heading, self.law.friction))
        slip = jnp.maximum(jnp.dot(state.heading, here.velocity), here.least_slip(self.rest_height))
        longest = jnp.where(change > 0, SHRINK * safe.divide(slip, change), jnp.inf)
        return jnp.where(state.phase == Phase.SLIDING, longest, jnp.inf), here.away


class _Here(Meeting):
    """A meeting and, in free flight, `acceleration` u' m/s² and `away` (n̂·u)' = n̂·u' + n̂'·u, in which the ground's
    curvature counts. No force is cut off where it would pull: a field goes on smoothly through its phase's end."""

    acceleration: Vec3
    away: Scalar

    def slides(self, heading: Vec3, friction: Scalar) -> Vec3:
        """The force N on a point that slides."""
        along = self.normal - friction * heading
        return safe.divide(-self.away, jnp.dot(self.normal, self.response @ along)) * along

    def sticks(self) -> Vec3:
        """The force N on a point that sticks."""
        return -solve3(self.response, self.acceleration)

    def least_slip(self, rest_height: Scalar) -> Scalar:
        """The slip m/s that counts as none; without derivative, as the end of a slide does not hang on it."""
        rise = safe.sqrt(-2 * self.away * rest_height)
        lost = LOST * jnp.finfo(self.speed.dtype).eps ** 0.4 * self.speed
        return jax.lax.stop_gradient(jnp.maximum(SLOW * rise, lost))

    def left(self, heading: Vec3, rest_height: Scalar) -> Float[Array, "2"]:
        """Of sliding: the slip along the heading that is to be used up, m/s, and the pull to the ground, m/s²."""
        return jnp.stack([jnp.dot(heading, self.velocity) - self.least_slip(rest_height), -self.away])

    def margin(self, friction: Scalar) -> Scalar:
        """Of sticking: μ N - |F_t|, N."""
        force = self.sticks()
        push = jnp.dot(self.normal, force)
        return friction * push - safe.norm(force - push * self.normal)
