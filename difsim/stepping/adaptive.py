"""Adaptive steps through a smooth motion, to the last of the wanted times or to where a stopping rule ends it."""

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from difsim.dynamics import AbstractModel, Approach
from difsim.status import Status
from difsim.stepping.derivatives import Forward, Reverse
from difsim.stepping.guard import ContactGuard, EndingAt, FiniteNorm, Landing, step_size
from difsim.stepping.rest import StopGuard
from difsim.stepping.solution import Stats
from difsim.stepping.table import Choice
from difsim.stepping.tracing import skip_checks
from difsim.stepping.variational import Scales, Variational, build_plain, forward
from difsim.typing import Scalar

ROUNDINGS = 30  # of a place: how deep in the ground a point on its surface may be


class Problem(eqx.Module):
    """A `model` with its integrals from its `state` [n] in its `scales` on, to be looked at at `times` [T]."""

    model: AbstractModel
    scales: Scales
    state: Float[Array, "n"]
    times: Float[Array, "T"]


class Run(eqx.Module):
    """The result of an engine.

    It has `states` [T, n] at `times` [T] (the wanted ones, or that of the end which precedes them), the status and
    the statistics of the run.
    """

    states: Float[Array, "T n"]
    times: Float[Array, "T"]
    status: Int[Array, ""]
    stats: Stats


def run_engine(run: Callable, choice: Choice, problem: Problem) -> Run:
    """The run of an engine, with forward derivatives as rows of it, or differentiated through its steps.

    **Arguments:** `run` as in `variational.forward`, whose rest is (status, stats); `choice`; `problem`.
    **Returns:** the run.
    """
    if isinstance(choice.derivative, Forward):
        given = (problem.model, problem.scales, choice)
        states, times, rest = forward(run, given, problem.state, problem.times)
    else:
        system = build_plain(problem.model, problem.scales)
        states, times, _, rest = run(system, choice, problem.state[None], problem.times, None)
        states = states[:, 0]
    return Run(states, times, *rest)


def status_of(result: diffrax.RESULTS, steps_per_contact: Array, resolve: Scalar | float) -> Array:
    """Our code for a diffrax result and the number of steps that a contact got."""
    code = jnp.where(steps_per_contact < resolve, int(Status.UNDER_RESOLVED), int(Status.OK))
    for name, ours in (
        ("max_steps_reached", Status.STEP_LIMIT),
        ("nonlinear_max_steps_reached", Status.NOT_FINITE),
    ):
        code = jnp.where(result == getattr(diffrax.RESULTS, name), int(ours), code)
    return code


def shift_tangents(system: Variational, times: Array, states: Array, shifts: Array | None) -> Array:
    """`states` [T, 1 + p, n], whose tangents are those at fixed times, with tangents at times that move."""
    if shifts is None or not len(shifts):
        return states
    return jax.vmap(system.shift_tangents, in_axes=(0, 0, 1))(times, states, shifts)


def approach(t: Scalar, z: Array, system: Variational) -> Approach:
    """The distance to the next contact, for the guard.

    **Arguments:** `t`, s; `z`, the rows; `system`. **Returns:** the model's `Approach`.
    """
    return system.model.approach(t, system.state(z))


def guard_steps(choice: Choice, times: Array, near: Callable | None) -> Any:
    """Steps by their error, which shorten near contacts as `near(t, z, system)` says (None: there are none)."""
    solver = choice.solver
    weight = choice.derivative.weight if isinstance(choice.derivative, Forward) else 1.0
    controller: Any = step_size(solver.rtol, solver.atol, times, FiniteNorm(jnp.asarray(weight)))
    if solver.order == 8:
        # Steps end at the wanted times: between its steps Dopri8 is known a thousand times less well.
        controller = EndingAt(controller, times)
    return controller if near is None else ContactGuard(controller, eqx.filter_jit(near))


@skip_checks
def take_steps(system: Variational, choice: Choice, z: Array, t0: Scalar, times: Array, controller: Any) -> Any:
    """Adaptive steps from `t0` to the last of the `times`, or to where the `controller` ends them.

    States are saved at the `times`, and the controller's last state is kept. **Returns:** the solution of diffrax.
    """
    reverse = isinstance(choice.derivative, Reverse)
    return diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, z, system: system.field(t, z)),
        diffrax.Dopri8() if choice.solver.order == 8 else diffrax.Tsit5(),
        t0=t0,
        t1=times[-1],
        dt0=None,
        y0=z,
        args=system,
        # Two records: in one, an end before the last time would follow the last that is reached, not stand last.
        saveat=diffrax.SaveAt(
            subs=[diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True)], controller_state=True
        ),
        stepsize_controller=controller,
        adjoint=diffrax.RecursiveCheckpointAdjoint(choice.derivative.checkpoints)
        if reverse
        else diffrax.ForwardMode(),
        max_steps=choice.solver.max_steps,
        throw=False,
    )


def still_tangents(z: Array, times: Array) -> Array:
    """The tangents [p, T] of times that stand still, for rows z [1 + p, n]."""
    return jnp.zeros((len(z) - 1, *times.shape), times.dtype)


def run_flight(system: Variational, choice: Choice, z: Array, times: Array, shifts: Array | None) -> Any:
    """Steps behind the contact guard to the end: `run` of `run_engine`."""
    rules = choice.rules
    stops = rules.rest is not None or rules.outside is not None
    through = not (system.model.has_contact_forces or stops)  # the body: nothing is felt there
    near = _half_way if rules.contact is not None else None if through else approach
    controller = guard_steps(choice, times, near)
    if stops:
        controller = StopGuard(controller, rules.rest, rules.outside, lambda z, system: system.state(z)[0].body)
    if rules.contact is not None:
        controller = Landing(
            controller, eqx.filter_jit(lambda t, z, system: _gap(system.model, t, system.state(z)))
        )
    solution = take_steps(system, choice, z, times[0], times, controller)
    states, (last,) = solution.ys
    # A force that is NaN makes the steps shrink until they are taken all the same, up to the last one allowed.
    nonfinite = jnp.any(jnp.isnan(last[0]))
    end, shift, ended = solution.ts[1][0], jnp.zeros(len(z) - 1, times.dtype), jnp.asarray(False)
    ending, stats = solution.controller_state, {}
    if rules.contact is not None:
        hit, ending = ending.landed, ending.inner
        end, last, shift = system.find_landing(end, last, _gap, hit)
        ended = ended | hit
    if stops:
        rest, left, guard = ending.rest, ending.left, ending.guard
        ended = ended | rest | left
        stats = {
            "rest_time": jnp.where(rest, ending.since, jnp.nan),
            "contact_time": ending.contact_time,
            "contact_state": system.scales.state(ending.contact_state[0])[0],
        }
    else:
        guard = ending
    contacts, per_contact = (
        (jnp.asarray(0), jnp.asarray(jnp.inf)) if near is None else (guard.contacts, guard.steps_per_contact)
    )
    status = status_of(solution.result, per_contact, choice.solver.resolve)
    if rules.rest is not None:
        status = jnp.where((status <= Status.UNDER_RESOLVED) & ~ended, int(Status.UNSETTLED), status)
    if rules.contact is not None:
        status = jnp.where((status <= Status.UNDER_RESOLVED) & ~ended, int(Status.NO_CONTACT), status)
        status = jnp.where(_starts_inside(system, rules.contact, z, times[0]), int(Status.INSIDE), status)
    if stops:
        status = jnp.where(left, int(Status.LEFT), status)
    status = jnp.where(nonfinite, int(Status.NOT_FINITE), status)
    later = ended & (times > end)
    times, states = jnp.where(later, end, times), jnp.where(later[:, None, None], last, states)
    if shifts is None and rules.contact is None:  # no time moves: a copy of the field less in the program
        shifts = still_tangents(z, times)
    else:
        shifts = jnp.where(later, shift[:, None], still_tangents(z, times) if shifts is None else shifts)
        states = shift_tangents(system, times, states, shifts)
    contacts = contacts if rules.contact is None else contacts + hit
    steps = solution.stats["num_accepted_steps"]
    return states, times, shifts, (status, Stats(steps, per_contact, contacts, **stats))


def _gap(model: AbstractModel, t: Scalar, state: Any) -> Scalar:
    return model.approach(t, state).gap


def _half_way(t: Scalar, z: Array, system: Variational) -> Approach:
    """`approach` for the guard with half the gap, for which alone the bounds of a flight hold.

    A start on the surface, with a gap of round-off size and either sign, begins with the shortest step.
    """
    near = approach(t, z, system)
    gap = jnp.maximum(near.gap / 2, jnp.finfo(near.gap.dtype).tiny)
    return eqx.tree_at(lambda near: near.gap, near, gap)


def _starts_inside(system: Variational, rule: Any, z: Array, t: Scalar) -> Array:
    """Whether a motion starts in the ground, or on its surface and moving into it."""
    depth = -_gap(system.model, t, system.state(z))
    sinking = -system.slope(t, z, _gap)
    slack = jnp.maximum(rule.slack, ROUNDINGS * system.scales.rounding)
    return (depth > slack) | ((depth >= 0) & (sinking >= 0))
