"""Hard contact: impacts located exactly, the state restarted after each, derivatives through both.

The restart loop is ours (an impact inside one diffrax solve gives wrong state derivatives). The root finder
makes the time of impact an implicit function, which is differentiated as such. What happens there is the model's:
an impact, the end of a slide, the lift from the ground. Bounces that accumulate end in a phase on the ground,
which the model's state shows.
"""

from collections.abc import Callable

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix

from difsim.dynamics import AbstractImpactModel
from difsim.stepping.guard import ContactGuard, FiniteNorm, adaptive
from difsim.stepping.methods import AbstractMethod, Run, flat_field, status_of
from difsim.stepping.status import Status
from difsim.typing import Scalar, number

SLACK = 1e-6  # m: how deep a point may be in the ground. Roots are 1e-12, drift along curved ground some 1e-9.


class Events(AbstractMethod):
    """Adaptive steps between at most `impacts` impacts, ends of slides and lift-offs.

    A start on the ground that does not leave it begins with an impact. The status is INSIDE for a start in the
    ground, and SEVERAL_POINTS where the body sinks into it at a point beside the one that the model holds.

    **Arguments:** `impacts`; `rtol`, `atol`; `max_steps` per arc; `adjoint`, diffrax's: `ForwardMode()` (the
    default, for `jax.jacfwd`) or `RecursiveCheckpointAdjoint()` (for `jax.grad`).
    """

    impacts: int = eqx.field(static=True)
    rtol: Scalar = number(default=1e-10)
    atol: Scalar = number(default=1e-10)
    max_steps: int = eqx.field(static=True, default=4096)
    adjoint: diffrax.AbstractAdjoint = diffrax.ForwardMode()

    @property
    def tangent_tolerance(self):
        return self.rtol if isinstance(self.adjoint, diffrax.ForwardMode) else None

    def __check_init__(self):
        if self.impacts < 1:
            raise ValueError(f"Events: impacts = {self.impacts} must be at least 1")

    def solve(self, model, state, unravel: Callable, times):
        if not isinstance(model, AbstractImpactModel):
            raise ValueError(
                f"Events: {type(model).__name__} has no impacts; use Sensitivities() for regularised contact"
            )
        field = flat_field(unravel)
        controller = adaptive(self.rtol, self.atol, times, FiniteNorm())
        guard = ContactGuard(controller, lambda t, y, model: model.approach(t, unravel(y)))
        # direction=False: the gap falls through zero. A ball that just left the ground has a gap of round-off
        # size, of either sign, that rises: it does not count.
        event = diffrax.Event(
            lambda t, y, args, **_: args.boundary(t, unravel(y)),  # diffrax names its arguments
            optimistix.Newton(rtol=1e-12, atol=1e-12),
            direction=False,
        )

        def arc(carry, _):
            t, y, hit, states, status, steps, count = carry
            y = jnp.where(hit, jax.flatten_util.ravel_pytree(model.impact(t, unravel(y)))[0], y)
            later = jnp.clip(times, t, times[-1])
            solution = diffrax.diffeqsolve(
                diffrax.ODETerm(field),
                diffrax.Tsit5(),
                t0=t,
                t1=times[-1],
                dt0=None,
                y0=y,
                args=model,
                # Two records: in one, the end of an arc would follow the last time reached, not stand last.
                saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=later), diffrax.SubSaveAt(t1=True)]),
                stepsize_controller=guard,
                event=event,
                adjoint=self.adjoint,
                max_steps=self.max_steps,
                throw=False,
            )
            reached, (last,) = solution.ys
            end = solution.ts[1][0]
            hit = solution.event_mask
            inside = (times >= t) & (times <= end)
            states = jnp.where(inside[:, None], reached, states)
            sunk = model.approach(end, unravel(last)).gap < -SLACK
            status = jnp.maximum(status, status_of(solution.result, jnp.asarray(jnp.inf), 0.0))
            status = jnp.maximum(status, jnp.where(sunk, int(Status.SEVERAL_POINTS), int(Status.OK)))
            steps = steps + solution.stats["num_accepted_steps"]
            return (end, last, hit, states, status, steps, count + hit), None

        states = jnp.broadcast_to(state, (times.shape[0], *state.shape))
        depth, sinking = jax.jvp(
            lambda t, y: -model.boundary(t, unravel(y)),
            (times[0], state),
            (jnp.ones_like(times[0]), field(times[0], state, model)),
        )
        lies = (depth >= 0) & (sinking >= 0)
        inside = model.approach(times[0], unravel(state)).gap < -SLACK
        start = (
            times[0],
            state,
            lies & ~inside,
            states,
            jnp.asarray(int(Status.OK)),
            jnp.asarray(0),
            jnp.asarray(0),
        )
        (end, _, _, states, status, steps, count), _ = jax.lax.scan(arc, start, length=self.impacts + 1)
        unfinished = (count > self.impacts) & (end < times[-1])
        status = jnp.where(unfinished, jnp.maximum(status, int(Status.IMPACT_LIMIT)), status)
        return Run(
            states=states,
            status=jnp.where(inside, int(Status.INSIDE), status),
            steps=steps,
            steps_per_contact=jnp.asarray(jnp.inf),
            contacts=count,
        )
