"""Flights of hours: steps of high order through smooth fields, to a given time or to the first contact."""

from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from difsim.dynamics import AbstractModel, Approach
from difsim.stepping.events import ROUNDINGS
from difsim.stepping.guard import ContactGuard, FiniteNorm, adaptive
from difsim.stepping.methods import AbstractMethod, along, approach, solved, status_of, stepped
from difsim.stepping.precision import Tolerance, tolerance
from difsim.stepping.status import Status
from difsim.stepping.variational import Variational
from difsim.typing import Scalar, number


class Coast(AbstractMethod):
    """Adaptive Dopri8 steps through a smooth field; it does not look for contacts.

    **Arguments:** `rtol`; `atol`, of the motion's own scales; `max_steps`; `adjoint`, diffrax's: `ForwardMode()`
    (the default, for `jax.jacfwd`) or `RecursiveCheckpointAdjoint()` (for `jax.grad`).
    """

    rtol: Tolerance = tolerance(1e-12)
    atol: Tolerance = tolerance(1e-12)
    max_steps: int = eqx.field(static=True, default=4096)
    order: ClassVar = 8
    adjoint: diffrax.AbstractAdjoint = diffrax.ForwardMode()

    def solve(self, problem):
        return solved(_coast, self, problem)


class ToContact(AbstractMethod):
    """The same steps, ended where the gap of `approach` first falls to zero.

    The time of contact is the root of the gap, found in the last step and differentiated as an implicit
    function. Of the solution's `times`, those after the contact are the contact's, with the state there: the
    last is the landing. The status is NO_CONTACT when the last wanted time comes first, and INSIDE for a start
    in the body, or on its surface and moving into it.

    A step uses up at most half the gap, by the bounds of `approach`: the ground cannot be jumped over, and 20
    km of free space cost some fifteen steps.

    **Arguments:** those of `Coast`; `slack` m, how deep a start still counts as one on the surface.
    """

    rtol: Tolerance = tolerance(1e-12)
    atol: Tolerance = tolerance(1e-12)
    max_steps: int = eqx.field(static=True, default=4096)
    order: ClassVar = 8
    slack: Scalar = number(default=1e-6)
    adjoint: diffrax.AbstractAdjoint = diffrax.ForwardMode()

    def solve(self, problem):
        return solved(_to_contact, self, problem)


def _coast(system: Variational, method: Coast, z: Array, times: Array, shifts: Array) -> Any:
    """`run` of `methods.solved`."""
    controller = adaptive(method.rtol, method.atol, times, FiniteNorm())
    solution = stepped(system, method, z, times[0], times, controller)
    never = jnp.asarray(jnp.inf)
    rest = (
        status_of(solution.result, never, 0.0),
        solution.stats["num_accepted_steps"],
        never,
        jnp.asarray(0),
    )
    return along(system, times, solution.ys[0], shifts), times, shifts, rest


def _gap(model: AbstractModel, t: Scalar, state: Any) -> Scalar:
    return model.approach(t, state).gap


def _to_contact(system: Variational, method: ToContact, z: Array, times: Array, shifts: Array) -> Any:
    """`run` of `methods.solved`."""

    guard = ContactGuard(adaptive(method.rtol, method.atol, times, FiniteNorm()), _half_way)
    gap = eqx.filter_jit(lambda t, z, system: _gap(system.model, t, system.state(z)))
    solution = stepped(system, method, z, times[0], times, guard, gap)
    reached, (last,) = solution.ys
    hit = solution.controller_state.landed
    end, last, shift = system.landed(solution.ts[1][0], last, _gap)
    status = status_of(solution.result, jnp.asarray(jnp.inf), 0.0)
    status = jnp.where((status == Status.OK) & ~hit, int(Status.NO_CONTACT), status)
    depth, sinking = jax.jvp(
        lambda t, z: -gap(t, z, system),
        (times[0], z),
        (jnp.ones_like(times[0]), system.field(times[0], z)),
    )
    slack = jnp.maximum(method.slack, ROUNDINGS * system.scales.rounding)
    inside = (depth > slack) | ((depth >= 0) & (sinking >= 0))
    later = hit & (times > end)
    now = jnp.where(later, end, times)
    shifts = jnp.where(later, shift[:, None], shifts)
    states = along(system, now, jnp.where(later[:, None, None], last, reached), shifts)
    rest = (
        jnp.where(inside, int(Status.INSIDE), status),
        solution.stats["num_accepted_steps"],
        jnp.asarray(jnp.inf),
        hit.astype(int),
    )
    return states, now, shifts, rest


def _half_way(t: Scalar, z: Array, system: Variational) -> Approach:
    """`approach` for the guard with half the gap, for which alone the bounds of a flight hold.

    A start on the surface, with a gap of round-off size and either sign, begins with the shortest step.
    """
    near = approach(t, z, system)
    gap = jnp.maximum(near.gap / 2, jnp.finfo(near.gap.dtype).tiny)
    return eqx.tree_at(lambda near: near.gap, near, gap)
