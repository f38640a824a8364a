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
"""

from abc import abstractmethod
from enum import IntEnum
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim import safe
from difsim.contact import AbstractImpact, hold
from difsim.dynamics.model import AbstractImpactModel
from difsim.rotation import solve3
from difsim.typing import Mat3, Scalar, Vec3


class Phase(IntEnum):
    """What the touching point does."""

    FLIGHT = 0
    SLIDING = 1
    STICKING = 2


class Meeting(eqx.Module):
    """Where body and ground are nearest: `gap` m, `normal` n̂ out of the ground, `velocity` u m/s of the body's
    material there over the ground's, `response` W 1/kg of u to an impulse there."""

    gap: Scalar
    normal: Vec3
    velocity: Vec3
    response: Mat3


class AbstractHardModel(AbstractImpactModel):
    """A body that flies, and meets the ground at one point at a time.

    Its state has, beside the motion, `lost` J, `phase` (a `Phase`) and `heading`, the direction ĥ of the slip while
    it slides. ĥ is a state with its own rate: the direction of the slip itself has no derivative where slip stops.
    """

    law: eqx.AbstractVar[AbstractImpact]
    rest_height: eqx.AbstractVar[Scalar]

    @abstractmethod
    def flight(self, t: Scalar, state: Any) -> Any:
        """The state's rate in free flight."""

    @abstractmethod
    def meet(self, state: Any) -> Meeting:
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

    def field(self, t, state):
        free = self.flight(t, state)
        force = self._forces(state, free)
        force = jnp.where(
            state.phase == Phase.SLIDING,
            force[0],
            jnp.where(state.phase == Phase.STICKING, force[1], jnp.zeros(3)),
        )
        rate = self.pushed(state, free, force)
        slip, change = jax.jvp(self._slip, (state,), (rate,))
        h = state.heading
        turn = safe.divide(change - jnp.dot(h, change) * h, jnp.broadcast_to(jnp.dot(h, slip), (3,)))
        return eqx.tree_at(
            lambda r: (r.lost, r.phase, r.heading),
            rate,
            (
                -jnp.dot(force, slip),
                jnp.zeros_like(state.phase),
                jnp.where(state.phase == Phase.SLIDING, turn, jnp.zeros(3)),
            ),
        )

    def boundary(self, t, state):
        free = self.flight(t, state)
        meeting = self.meet(state)
        sticking = self._forces(state, free)[1]
        push = jnp.dot(meeting.normal, sticking)
        margin = self.law.friction * push - safe.norm(sticking - push * meeting.normal)
        return jnp.where(
            state.phase == Phase.SLIDING,
            safe.least(self._left(state, free)),
            # As an acceleration: a boundary is found to 1e-12, whatever the mass.
            jnp.where(state.phase == Phase.STICKING, margin * jnp.trace(meeting.response), meeting.gap),
        )

    def impact(self, t, state):
        free = self.flight(t, state)
        met, slid, slipped = self._met(t, state, free), self._slid(t, state, free), self._slipped(t, state, free)

        def choose(met, slid, slipped):
            return jnp.where(
                state.phase == Phase.SLIDING, slid, jnp.where(state.phase == Phase.STICKING, slipped, met)
            )

        return jax.tree.map(choose, met, slid, slipped)

    def _met(self, t, state, free):
        """After an impact."""
        # The time of impact is known to 1e-12 s, the gap then to 1e-12 m: a lower hop would begin under ground.
        meeting = self.meet(state)
        state = self.shifted(state, -meeting.gap * meeting.normal)
        meeting = self.meet(state)
        n, u = meeting.normal, meeting.velocity
        fall = -self._acceleration(state, free)[1]
        rebound = self.law.restitution * jnp.dot(n, u)
        stays = (fall > 0) & (rebound**2 <= 2 * fall * self.rest_height)
        e = jnp.where(stays, 0.0, self.law.restitution)
        impulse = eqx.tree_at(lambda law: law.restitution, self.law, e).impulse(meeting.response, n, u)
        after = self._kicked(state, impulse.total)
        slip = self._slip(after)
        moving = self._phase(after, jnp.where(stays, Phase.SLIDING, Phase.FLIGHT), safe.unit(slip))
        standing = self._stood(t, after)
        rests = stays & (impulse.stopped | (safe.norm(slip) == 0))
        return _choose(rests, standing, moving)

    def _slid(self, t, state, free):
        """After sliding: slip has stopped, or the ground falls away."""
        stopped = jnp.argmin(self._left(state, free)) == 0
        return _choose(stopped, self._stood(t, state), self._phase(state, Phase.FLIGHT, jnp.zeros(3)))

    def _slipped(self, t, state, free):
        """After sticking: friction is used up, so it slides against it, or the ground falls away."""
        meeting = self.meet(state)
        force = self._forces(state, free)[1]
        push = jnp.dot(meeting.normal, force)
        heading = safe.unit(push * meeting.normal - force)
        held = push > 0
        return self._phase(state, jnp.where(held, Phase.SLIDING, Phase.FLIGHT), jnp.where(held, heading, 0.0))

    def _stood(self, t, state):
        """With the slip's round-off taken out, what a point does that does not slip now: it sticks or begins to
        slide."""
        meeting = self.meet(state)
        state = self._kicked(state, -solve3(meeting.response, meeting.velocity))
        acceleration, _ = self._acceleration(state, self.flight(t, state))
        held = hold(meeting.response, meeting.normal, acceleration, self.law.friction)
        return self._phase(state, jnp.where(held.sticks, Phase.STICKING, Phase.SLIDING), held.heading)

    def _kicked(self, state, impulse):
        meeting = self.meet(state)
        taken = -jnp.dot(impulse, meeting.velocity + 0.5 * meeting.response @ impulse)
        return eqx.tree_at(lambda s: s.lost, self.struck(state, impulse), state.lost + taken)

    def _phase(self, state, phase, heading):
        phase = jnp.asarray(phase, state.phase.dtype)
        return eqx.tree_at(lambda s: (s.phase, s.heading), state, (phase, heading))

    def _slip(self, state) -> Vec3:
        meeting = self.meet(state)
        return meeting.velocity - jnp.dot(meeting.normal, meeting.velocity) * meeting.normal

    def _acceleration(self, state, free) -> tuple[Vec3, Scalar]:
        """u' in free flight, and its part (n̂·u)' = n̂·u' + n̂'·u, in which the ground's curvature counts."""

        def velocities(state):
            meeting = self.meet(state)
            return meeting.velocity, jnp.dot(meeting.normal, meeting.velocity)

        return jax.jvp(velocities, (state,), (free,))[1]

    def _forces(self, state, free) -> tuple[Vec3, Vec3]:
        """On a point that slides along the heading, and on one that sticks, N. Neither is cut off where it would
        pull: the field goes on smoothly through the end of its phase."""
        meeting = self.meet(state)
        acceleration, away = self._acceleration(state, free)
        along = meeting.normal - self.law.friction * state.heading
        slides = safe.divide(-away, jnp.dot(meeting.normal, meeting.response @ along)) * along
        return slides, -solve3(meeting.response, acceleration)

    def _left(self, state, free):
        """While sliding: the slip along the heading, m/s, and the pull to the ground, m/s²."""
        return jnp.stack([jnp.dot(state.heading, self._slip(state)), -self._acceleration(state, free)[1]])


def _choose(condition, a, b):
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), a, b)
