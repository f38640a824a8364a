"""A step-size guard that cannot jump over a contact, and counts the steps that each contact gets.

An adaptive step after a long flight passes through the ground with zero reported error. Conservative
advancement cures it: nothing closes the gap d sooner than speed v and acceleration a allow, v t + a t²/2 = d
(without a, a step from the top of a flight, where v is small, would pass the landing). The next step is not
longer than that t, or than the resolution that a contact needs, whichever is more.
"""

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from difsim import safe
from difsim.dynamics import Approach
from difsim.typing import Scalar, number


def adaptive(rtol: Scalar | float, atol: Scalar | float, times: Array, norm: Callable) -> diffrax.PIDController:
    """Steps by their error, down to some roundings of the greatest of the `times`.

    Below that time stands still, so such a step is taken whatever its error. A higher floor would do harm where a
    force has a kink: its tangents jump there, by J, and a step that is forced across leaves them wrong by J times
    the floor. A cube's corner lets go with J of some 1e3 /s²: a floor of 1e-9 s made errors of 1e-6.
    """
    finest = 8 * jnp.finfo(times.dtype).eps * jnp.max(jnp.abs(times))
    return diffrax.PIDController(rtol=rtol, atol=atol, norm=norm, dtmin=jax.lax.stop_gradient(finest))


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


class ContactGuard(diffrax.AbstractAdaptiveStepSizeController):
    """Wraps an adaptive controller; `approach(t, y, args)` tells how near the next contact is."""

    controller: diffrax.AbstractAdaptiveStepSizeController
    approach: Callable[..., Approach] = eqx.field(static=True)

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
        return ContactGuard(self.controller.wrap(direction), self.approach)

    def _cap(self, near: Approach) -> Array:
        gap = jnp.maximum(near.gap, 0.0)
        fastest = near.speed + safe.sqrt(near.speed**2 + 2 * near.acceleration * gap)
        soonest = jnp.where(fastest > 0, safe.divide(2 * gap, fastest), jnp.inf)
        return jnp.where(near.gap > 0, jnp.maximum(soonest, near.resolution), jnp.inf)

    def init(self, terms, t0, t1, y0, dt0, args, func, error_order):
        next_t1, inner = self.controller.init(terms, t0, t1, y0, dt0, args, func, error_order)
        near = self.approach(t0, y0, args)
        touching = near.gap <= 0
        state = GuardState(inner, touching, jnp.zeros_like(touching, int), touching.astype(int))
        return jnp.minimum(next_t1, t0 + self._cap(near)), state

    def adapt_step_size(self, t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state):
        keep, next_t0, next_t1, made_jump, inner, result = self.controller.adapt_step_size(
            t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state.inner
        )
        y = jnp.where(keep, y1_candidate, y0)
        near = self.approach(next_t0, y, args)
        touching = near.gap <= 0
        state = GuardState(
            inner,
            touching,
            controller_state.steps + (keep & touching),
            controller_state.contacts + (keep & touching & ~controller_state.touching),
        )
        return keep, next_t0, jnp.minimum(next_t1, next_t0 + self._cap(near)), made_jump, state, result


class FiniteNorm(eqx.Module):
    """Size of a scaled error: the root mean square of the state [n], or the largest of the rows [1 + p, n].

    Rows (the state, then each sensitivity times `weight`) do not dilute each other. Not finite counts as 1e8:
    a trial step that plunges deep overflows, and a NaN error makes the controller reject for ever with the
    same step, where a large one makes it shrink.
    """

    weight: Scalar = number(default=1.0)

    def __call__(self, error: Array) -> Array:
        rows = jnp.sqrt(jnp.mean(jnp.atleast_2d(error) ** 2, axis=-1))
        worst = jnp.maximum(rows[0], self.weight * jnp.max(rows))
        return jnp.where(jnp.isfinite(worst), worst, 1e8)
