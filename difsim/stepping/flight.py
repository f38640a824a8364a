"""Flights of hours: steps of high order through smooth fields, to a given time or to the first contact."""

from collections.abc import Callable

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix

from difsim.dynamics import Approach
from difsim.stepping.guard import ContactGuard, FiniteNorm, adaptive
from difsim.stepping.methods import AbstractMethod, Run, flat_field, status_of
from difsim.stepping.status import Status
from difsim.typing import Scalar, number


class Coast(AbstractMethod):
    """Adaptive Dopri8 steps through a smooth field; it does not look for contacts.

    **Arguments:** `rtol`; `atol`, in m and m/s; `max_steps`; `adjoint`, diffrax's: `ForwardMode()` (the
    default, for `jax.jacfwd`) or `RecursiveCheckpointAdjoint()` (for `jax.grad`).
    """

    rtol: Scalar = number(default=1e-12)
    atol: Scalar = number(default=1e-12)
    max_steps: int = eqx.field(static=True, default=4096)
    adjoint: diffrax.AbstractAdjoint = diffrax.ForwardMode()

    @property
    def tangent_tolerance(self):
        return self.rtol if isinstance(self.adjoint, diffrax.ForwardMode) else None

    def solve(self, model, state, unravel, times):
        solution = _high_order(
            self,
            model,
            state,
            flat_field(unravel),
            times,
            adaptive(self.rtol, self.atol, times, FiniteNorm()),
            saveat=diffrax.SaveAt(ts=times),
        )
        never = jnp.asarray(jnp.inf)
        return Run(
            states=solution.ys,
            status=status_of(solution.result, never, 0.0),
            steps=solution.stats["num_accepted_steps"],
            steps_per_contact=never,
        )


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

    rtol: Scalar = number(default=1e-12)
    atol: Scalar = number(default=1e-12)
    max_steps: int = eqx.field(static=True, default=4096)
    slack: Scalar = number(default=1e-6)
    adjoint: diffrax.AbstractAdjoint = diffrax.ForwardMode()

    @property
    def tangent_tolerance(self):
        return self.rtol if isinstance(self.adjoint, diffrax.ForwardMode) else None

    def solve(self, model, state, unravel, times):
        field = flat_field(unravel)

        def gap(t, y, args, **_):  # diffrax names its arguments, and has more than these
            return args.approach(t, unravel(y)).gap

        solution = _high_order(
            self,
            model,
            state,
            field,
            times,
            ContactGuard(adaptive(self.rtol, self.atol, times, FiniteNorm()), _half_way(unravel)),
            # Two records, as in events.py: the end of the flight would follow the last time reached.
            saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True)]),
            # Newton's last step is below 10 ns and 10 nm, its error far less; distances of km round to 1e-12 m,
            # so that much less could never be met.
            # direction=False: the gap falls through zero; a start on the surface that lifts off does not count.
            event=diffrax.Event(gap, optimistix.Newton(rtol=1e-12, atol=1e-8), direction=False),
        )
        reached, (last,) = solution.ys
        end = solution.ts[1][0]
        status = status_of(solution.result, jnp.asarray(jnp.inf), 0.0)
        missed = (status == Status.OK) & ~solution.event_mask
        status = jnp.where(missed, int(Status.NO_CONTACT), status)
        start, now = (times[0], state), (jnp.ones_like(times[0]), field(times[0], state, model))
        depth, sinking = jax.jvp(lambda t, y: -gap(t, y, model), start, now)
        inside = (depth > self.slack) | ((depth >= 0) & (sinking >= 0))
        later = times > end
        return Run(
            states=jnp.where(later[:, None], last, reached),
            status=jnp.where(inside, int(Status.INSIDE), status),
            steps=solution.stats["num_accepted_steps"],
            steps_per_contact=jnp.asarray(jnp.inf),
            times=jnp.where(later, end, times),
        )


def _high_order(
    method: Coast | ToContact, model, state, field: Callable, times, controller, **ending
) -> diffrax.Solution:
    """Dopri8 from `times[0]` on, with diffrax's options for what is saved and where it ends."""
    return diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Dopri8(),
        t0=times[0],
        t1=times[-1],
        dt0=None,
        y0=state,
        args=model,
        # Steps end at the wanted times: between its steps Dopri8 is known a thousand times less well.
        stepsize_controller=diffrax.ClipStepSizeController(controller, step_ts=times),
        adjoint=method.adjoint,
        max_steps=method.max_steps,
        throw=False,
        **ending,
    )


def _half_way(unravel: Callable) -> Callable:
    """`approach` for the guard with half the gap, for which alone the bounds of a flight hold.

    A start on the surface, with a gap of round-off size and either sign, begins with the shortest step.
    """

    def approach(t, y, model):
        near = model.approach(t, unravel(y))
        gap = jnp.maximum(near.gap / 2, jnp.finfo(near.gap.dtype).tiny)
        return Approach(gap=gap, speed=near.speed, resolution=near.resolution, acceleration=near.acceleration)

    return approach
