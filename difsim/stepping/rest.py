"""A step-size guard that also ends a solve: where a body has been at rest for a while, or has left a region.

A body at rest costs a step now and then for ever, and regularised friction lets it creep on: the rule ends both. The
test is made at the ends of accepted steps. That is enough in flight, where gravity is steady over a hop: |v|² is then
convex in time, so a flight that is slow at both ends is slow in between.
"""

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from difsim.stepping.guard import AbstractWrapper, ContactGuard, GuardState
from difsim.stepping.stops import AtRest, Outside
from difsim.typing import Scalar


class StopState(eqx.Module):
    """The guard's state, and what the rules found.

    `since` s when the body is at rest (inf while it moves), the
    state and time of the first step in contact (NaN before), and whether the solve ends `rest` or `left`.
    """

    guard: GuardState
    since: Scalar
    contact_state: Float[Array, "rows n"]
    contact_time: Scalar
    rest: Bool[Array, ""]
    left: Bool[Array, ""]


class StopGuard(AbstractWrapper):
    """Wraps the contact guard; `body_of(z, args)` is the rigid body that the rules look at."""

    controller: ContactGuard
    at_rest: AtRest | None
    outside: Outside | None
    body_of: Callable[..., Any] = eqx.field(static=True)

    def init(self, terms, t0, t1, y0, dt0, args, func, error_order):
        next_t1, guard = self.controller.init(terms, t0, t1, y0, dt0, args, func, error_order)
        no = jnp.asarray(False)
        since = jnp.where(self._slow(self.body_of(y0, args)), t0, jnp.inf)
        return next_t1, StopState(guard, since, jnp.full_like(y0, jnp.nan), jnp.full_like(t0, jnp.nan), no, no)

    def adapt_step_size(self, t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state):
        old = controller_state
        keep, next_t0, next_t1, made_jump, guard, result = self.controller.adapt_step_size(
            t0, t1, y0, y1_candidate, args, y_error, error_order, old.guard
        )
        body = self.body_of(y1_candidate, args)
        since = jnp.where(self._slow(body), jnp.minimum(old.since, t1), jnp.inf)
        first = keep & guard.touching & jnp.isnan(old.contact_time)
        hold = jnp.inf if self.at_rest is None else self.at_rest.hold
        left = jnp.asarray(False) if self.outside is None else self.outside.region.distance(body.position) > 0
        left, rest = keep & left, keep & (t1 - since >= hold)
        new = StopState(
            guard,
            since=jnp.where(keep, since, old.since),
            contact_state=jnp.where(first, y1_candidate, old.contact_state),
            contact_time=jnp.where(first, t1, old.contact_time),
            rest=rest & ~left,
            left=left,
        )
        result = diffrax.RESULTS.where(left | rest, diffrax.RESULTS.event_occurred, result)
        return keep, next_t0, next_t1, made_jump, new, result

    def _slow(self, body: Any) -> Bool[Array, ""]:
        return jnp.asarray(False) if self.at_rest is None else self.at_rest(body)
