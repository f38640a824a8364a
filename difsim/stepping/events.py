"""Hard contact: impacts located exactly, the state restarted after each, derivatives through both.

The restart loop is ours (an impact inside one diffrax solve gives wrong state derivatives). The root finder makes the
time of impact an implicit function, which is differentiated as such. What happens there is the model's: an impact,
the end of a slide, the lift from the ground. Bounces that accumulate end in a phase on the ground, which the model's
state shows.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from difsim.status import Status
from difsim.stepping.adaptive import (
    ROUNDINGS,
    approach,
    guard_steps,
    shift_tangents,
    status_of,
    still_tangents,
    take_steps,
)
from difsim.stepping.derivatives import Reverse
from difsim.stepping.guard import Landing
from difsim.stepping.integrals import Integrating
from difsim.stepping.solution import Stats
from difsim.stepping.table import Choice
from difsim.stepping.variational import Variational
from difsim.typing import Scalar

SLACK = 1e-6  # m, how deep a point may be in the ground
COMES = 1e-6  # of its speed: with less a point on the ground lies or slides there, rather than comes down


def _boundary(model: Integrating, t: Scalar, state: Any) -> Scalar:
    return model.boundary(t, state)


def _repeat(body: Callable, start: Any, most: int, goes_on: Callable) -> Any:
    """`body` of what it returned, from `start` on, `most` times at most."""
    _, ended = jax.lax.while_loop(
        lambda carry: (carry[0] < most) & goes_on(carry[1]),
        lambda carry: (carry[0] + 1, body(carry[1])),
        (0, start),
    )
    return ended


def _is_approaching(model: Integrating, t: Scalar, state: Any) -> Array:
    """Whether the nearest point of the body comes down on the ground, rather than rests, slides or rolls there."""
    return model.closing_speed(t, state) > COMES * model.approach(t, state).speed


def _touch_time_tangents(system: Variational, t: Scalar, z: Array, lies: Array) -> Array:
    """The tangents [p] of the time of touch of a start on the ground.

    A start that comes down is an impact like any other: where its place changes, so does the time of touch. One that
    lies there touches at no time.
    """
    if len(z) == 1:
        return jnp.zeros(0, t.dtype)
    return system.find_landing(t, z, _boundary, lies & _is_approaching(system.model, t, system.state(z)))[2]


def arcs(system: Variational, choice: Choice, z: Array, times: Array, shifts: Array | None) -> Any:
    """Arc by arc from event to event, `MaxImpacts.count` of them at most: `run` of `adaptive.run_engine`.

    A start on the ground that does not leave it begins with an impact. The status is INSIDE for a start in the
    ground, and SEVERAL_POINTS where the body sinks into it at another point than the one that the model holds.
    """
    most = choice.rules.impacts.count
    slack = jnp.maximum(SLACK, ROUNDINGS * system.scales.rounding)
    boundary = eqx.filter_jit(lambda t, z, system: system.model.boundary(t, system.state(z)))

    def arc(carry):
        t, z, shift, hit, states, status, steps, count = carry
        z = jnp.where(hit, system.apply_impact(t, z, shift), z)
        ahead = jnp.clip(times, t, times[-1])
        solution = take_steps(system, choice, z, t, ahead, Landing(guard_steps(choice, ahead, approach), boundary))
        reached, (last,) = solution.ys
        hit = solution.controller_state.landed
        end, last, shift = system.find_landing(solution.ts[1][0], last, _boundary, hit)
        inside = (times >= t) & (times <= end)
        states = jnp.where(inside[:, None, None], reached, states)
        # A point that slides or rolls along the ground sinks only as drift has it and the ripple of a table, which its
        # velocity does not see; another one that goes into the ground comes down on it.
        sunk = (system.model.approach(end, system.state(last)).gap < -slack) & _is_approaching(
            system.model, end, system.state(last)
        )
        status = jnp.maximum(status, status_of(solution.result, jnp.asarray(jnp.inf), 0.0))
        status = jnp.maximum(status, jnp.where(sunk, int(Status.SEVERAL_POINTS), int(Status.OK)))
        steps = steps + solution.stats["num_accepted_steps"]
        end = jnp.where(status > Status.UNDER_RESOLVED, times[-1], end)  # nothing more is tried after a failure
        return end, last, shift, hit, states, status, steps, count + hit

    model, first = system.model, system.state(z)
    near = model.approach(times[0], first)
    inside = near.gap < -slack
    lies = model.is_in_contact(times[0], first) & ~inside
    start = (
        times[0],
        z,
        _touch_time_tangents(system, times[0], z, lies),
        lies,
        jnp.broadcast_to(z, (times.shape[0], *z.shape)),
        jnp.asarray(int(Status.OK)),
        jnp.asarray(0),
        lies.astype(int),
    )
    if isinstance(choice.derivative, Reverse):  # a loop whose turns are not known has no reverse derivative
        ended = jax.lax.scan(lambda carry, _: (arc(carry), None), start, length=most + 1)[0]
    else:
        ended = _repeat(arc, start, most + 1, lambda carry: (carry[0] < times[-1]) | carry[3])
    end, _, _, _, states, status, steps, count = ended
    unfinished = (count > most + lies) & (end < times[-1])
    status = jnp.where(unfinished, jnp.maximum(status, int(Status.IMPACT_LIMIT)), status)
    status = jnp.where(inside, int(Status.INSIDE), status)
    states = shift_tangents(system, times, states, shifts)
    shifts = still_tangents(z, times) if shifts is None else shifts
    return states, times, shifts, (status, Stats(steps, jnp.asarray(jnp.inf), count))
