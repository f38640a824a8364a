"""A step-size guard that cannot jump over a contact, and counts the steps that each contact gets.

An adaptive step after a long flight passes through the ground with zero reported error. Conservative
advancement cures it: nothing closes the gap d sooner than speed v and acceleration a allow, v t + a t²/2 = d
(without a, a step from the top of a flight, where v is small, would pass the landing). The next step is not
longer than that t, or than the resolution that a contact needs, whichever is more. Nor is it longer than the model
says that a step can be (a slide turns and stops the sooner the slower it is). The lengths of steps have no derivative.
"""

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from difsim import safe
from difsim.declarations import quantity
from difsim.dynamics import Approach
from difsim.stepping.derivatives import without_derivative
from difsim.typing import Scalar


def step_size(rtol: Scalar | float, atol: Scalar | float, times: Array, norm: Callable) -> diffrax.PIDController:
    """Steps by their error, down to some roundings of the greatest of the `times`.

    Below that time stands still, so such a step is taken whatever its error. A higher floor would do harm where a
    force has a kink: its tangents jump there, by J, and a step that is forced across leaves them wrong by J times
    the floor. A cube's corner lets go with J of some 1e3 /s²: a floor of 1e-9 s made errors of 1e-6.
    """
    finest = 8 * jnp.finfo(times.dtype).eps * jnp.max(jnp.abs(times))
    return diffrax.PIDController(rtol=rtol, atol=atol, norm=norm, dtmin=jax.lax.stop_gradient(finest))


# Of a step that passes a zero: how near to it a step must end, that a first-order correction is exact.
CLOSE = 1e-8


# Any: to pyright its `rtol`, `atol` and `norm`, which a wrapper derives, would be arguments of constructors.
_Controller: Any = diffrax.AbstractAdaptiveStepSizeController


class AbstractWrapper(_Controller):
    """Wraps an adaptive `controller`, whose tolerances it shows."""

    controller: eqx.AbstractVar[diffrax.AbstractAdaptiveStepSizeController]

    @property
    def rtol(self):
        return self.controller.rtol

    @property
    def atol(self):
        return self.controller.atol

    @property
    def norm(self):
        return self.controller.norm

    def wrap(self, direction):
        return eqx.tree_at(lambda c: c.controller, self, self.controller.wrap(direction))


class EndingAt(AbstractWrapper):
    """Wraps a controller; a step that would pass one of the increasing `times` ends there.

    As diffrax's `ClipStepSizeController`, without its sorts and searches: a sort in the loop over arcs keeps XLA from
    compiling that loop as one function.
    """

    controller: diffrax.AbstractAdaptiveStepSizeController
    times: Float[Array, "T"]

    def wrap(self, direction):
        return EndingAt(self.controller.wrap(direction), self.times * direction)

    def _next(self, t):
        return jnp.min(jnp.where(self.times > t, self.times, jnp.inf))

    def init(self, terms, t0, t1, y0, dt0, args, func, error_order):
        next_t1, inner = self.controller.init(terms, t0, t1, y0, dt0, args, func, error_order)
        return jnp.minimum(next_t1, self._next(t0)), inner

    def adapt_step_size(self, t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state):
        keep, next_t0, next_t1, made_jump, inner, result = self.controller.adapt_step_size(
            t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state
        )
        return keep, next_t0, jnp.minimum(next_t1, self._next(next_t0)), made_jump, inner, result


class GuardState(eqx.Module):
    """The inner controller's state, whether the last state touched, steps in contact, contacts begun."""

    inner: Any
    touching: Bool[Array, ""]
    steps: Int[Array, ""]
    contacts: Int[Array, ""]

    @property
    def steps_per_contact(self) -> Array:
        """Mean number of steps that a contact was resolved with; inf where there was none."""
        return jnp.where(self.contacts > 0, self.steps / jnp.maximum(self.contacts, 1), jnp.inf)


class ContactGuard(AbstractWrapper):
    """Wraps an adaptive controller; `approach(t, y, args)` tells how near the next contact is."""

    controller: diffrax.AbstractAdaptiveStepSizeController
    approach: Callable[..., Approach] = eqx.field(static=True)

    def _cap(self, near: Approach) -> Array:
        gap = jnp.maximum(near.gap, 0.0)
        fastest = near.speed + safe.sqrt(near.speed**2 + 2 * near.acceleration * gap)
        soonest = jnp.where(fastest > 0, safe.divide(2 * gap, fastest), jnp.inf)
        until_touch = jnp.where(near.gap > 0, jnp.maximum(soonest, near.resolution), jnp.inf)
        return jnp.minimum(until_touch, near.longest)

    def init(self, terms, t0, t1, y0, dt0, args, func, error_order):
        next_t1, inner = self.controller.init(terms, t0, t1, y0, dt0, args, func, error_order)
        near = self.approach(*without_derivative((t0, y0, args)))
        touching = near.gap <= 0
        state = GuardState(inner, touching, jnp.zeros_like(touching, int), touching.astype(int))
        return jnp.minimum(next_t1, t0 + self._cap(near)), state

    def adapt_step_size(self, t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state):
        keep, next_t0, next_t1, made_jump, inner, result = self.controller.adapt_step_size(
            t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state.inner
        )
        y = jnp.where(keep, y1_candidate, y0)
        near = self.approach(*without_derivative((next_t0, y, args)))
        touching = near.gap <= 0
        state = GuardState(
            inner,
            touching,
            controller_state.steps + (keep & touching),
            controller_state.contacts + (keep & touching & ~controller_state.touching),
        )
        return keep, next_t0, jnp.minimum(next_t1, next_t0 + self._cap(near)), made_jump, state, result


class LandingState(eqx.Module):
    """The state of `Landing`.

    It has the inner controller's state; the `clearance` at the start of the step; while a zero is looked for the end
    `beyond` of the last step that was too long, s (inf otherwise), and how long the first of them was, its `span`
    s; and whether the zero is reached.
    """

    inner: Any
    clearance: Scalar
    beyond: Scalar
    span: Scalar
    landed: Bool[Array, ""]


class Landing(AbstractWrapper):
    """Wraps a controller; ends the solve where `clearance(t, y, args)` falls through zero.

    A step that passes the zero is made again, as long as a secant says, until it ends there: so the state at the
    end is as good as any other at the end of a step, where their interpolant is known less well. What is left is
    for a first-order correction (`Variational.find_landing`), below rounding in value, which makes the time of the zero
    an implicit function for derivatives.
    """

    controller: diffrax.AbstractAdaptiveStepSizeController
    clearance: Callable[..., Scalar] = eqx.field(static=True)

    def init(self, terms, t0, t1, y0, dt0, args, func, error_order):
        next_t1, inner = self.controller.init(terms, t0, t1, y0, dt0, args, func, error_order)
        beyond = jnp.full_like(t0, jnp.inf)
        return next_t1, LandingState(
            inner, self._evaluate_at(t0, y0, args), beyond, jnp.zeros_like(t0), jnp.zeros((), bool)
        )

    def _evaluate_at(self, t, y, args):
        return self.clearance(*without_derivative((t, y, args)))

    def adapt_step_size(self, t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state):
        old = controller_state
        keep, next_t0, next_t1, made_jump, inner, result = self.controller.adapt_step_size(
            t0, t1, y0, y1_candidate, args, y_error, error_order, old.inner
        )
        value = self._evaluate_at(t1, y1_candidate, args)
        # How late the end is by the secant of this step. Steps that end before the zero are kept, so both ends of
        # the next are nearer to it.
        late = safe.divide(value * (t1 - t0), value - old.clearance)
        looking = jnp.isfinite(old.beyond)
        span = jnp.where(looking, old.span, t1 - t0)
        close = jnp.abs(late) <= CLOSE * span + 4 * jnp.finfo(t1.dtype).eps * jnp.abs(t1)
        falls = keep & (old.clearance > 0)
        landed = falls & (looking | (value <= 0)) & close
        passed = falls & (value <= 0) & ~landed
        short = falls & (value > 0) & looking & ~landed
        first, last = jnp.where(passed, t0, t1), jnp.where(passed, t1, old.beyond)
        # The secant of a bend may lead anywhere: then half of what is left.
        target = t1 - late
        target = jnp.where((target > first) & (target < last), target, 0.5 * (first + last))
        new = LandingState(
            jax.tree.map(lambda new, old: jnp.where(passed, old, new), inner, old.inner),
            clearance=jnp.where(keep & ~passed, value, old.clearance),
            beyond=jnp.where(passed | short | ~keep, last, jnp.inf),
            span=span,
            landed=landed,
        )
        return (
            keep & ~passed,
            jnp.where(passed, t0, next_t0),
            jnp.where(passed | short, target, next_t1),
            made_jump,
            new,
            diffrax.RESULTS.where(landed, diffrax.RESULTS.event_occurred, result),
        )


class FiniteNorm(eqx.Module):
    """Size of a scaled error: the root mean square of the state [n], or the largest of the rows [1 + p, n].

    Rows (the state, then each sensitivity times `weight`) do not dilute each other. Not finite counts as
    1e8: a trial step that plunges deep overflows, and a NaN error makes the controller reject for ever with the
    same step, where a large one makes it shrink.
    """

    weight: Scalar = quantity("", "weight of the sensitivities", default=1.0)

    def __call__(self, error: Array) -> Array:
        rows = jnp.sqrt(jnp.mean(jnp.atleast_2d(error) ** 2, axis=-1))
        worst = jnp.maximum(rows[0], self.weight * jnp.max(rows))
        return jnp.where(jnp.isfinite(worst), worst, 1e8)
