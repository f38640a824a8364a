"""The engine of particles: from one time to the next, with a neighbour list of fixed capacity."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.particles.model import AbstractParticles
from difsim.status import Status
from difsim.stepping.derivatives import Reverse, Unrolled, without_derivative
from difsim.stepping.error_control import rule_of
from difsim.stepping.marching import (
    NeighbourList,
    Progress,
    advance,
    allocate,
    has_rested,
    initialise,
    place_state,
    take_checkpointed_steps,
    take_fixed_steps,
)
from difsim.stepping.modes import NONE, REVERSE, allow_one_reverse, refuse_derivatives
from difsim.stepping.outcome import Outcome
from difsim.stepping.solution import Stats
from difsim.stepping.solvers import FixedSteps
from difsim.stepping.stops import AtRest
from difsim.stepping.table import Choice
from difsim.typing import is_known

CHECKPOINTS = 100  # motions that reverse derivatives keep: up to 5150 steps each is made again no more than twice
WITHOUT_GROWTH = "the tangents of particles are no rows of the solve: compare a derivative with differences"
WITHOUT_BALANCE = (
    "losses are not counted: give the model an account of them, such as Grains(losses=ContactLosses())"
)
SHARE = 1e-2  # of the energy, that steps of a tenth of a contact may lose track of


def with_neighbours(model: AbstractParticles, state: Any, choice: Choice) -> tuple[Any, Choice]:
    """The state on the device where a step is sooner, and the choice with a neighbour list. On the host.

    **Arguments:** `model`; `state`; `choice`. **Returns:** both.
    **Raises:** ValueError where the numbers are traced and no list was given, and for a list of other particles.
    """
    state, near = place_state(state), choice.solver.neighbours
    if near is None:
        if not all(map(is_known, jax.tree.leaves((model, state)))):
            raise ValueError(
                "simulate: a neighbour list gets its capacity outside of `jit`: call allocate(model, state) there, and "
                "give the solver with it, such as Courant(neighbours=...)"
            )
        near = allocate(model, state)
    check_list("simulate", model, state, near)
    return state, eqx.tree_at(lambda c: c.solver.neighbours, choice, near, is_leaf=lambda x: x is None)


def check_list(name: str, model: AbstractParticles, state: Any, near: NeighbourList) -> None:
    """Refuse a neighbour list of other particles.

    **Arguments:** `name` of the function; `model`; `state`; `near`. **Raises:** ValueError.
    """
    count = jax.eval_shape(model.positions, state).shape[-1]
    if near.near.count != count:
        raise ValueError(
            f"{name}: neighbours: a list of {near.near.count} particles for {count}: give that of this model"
        )


def march(model: AbstractParticles, state: Any, times: Float[Array, " T"], choice: Choice) -> Outcome:
    """The motion of particles. Under jit.

    **Arguments:** those of `simulate`; `choice`, whose solver has a neighbour list. **Returns:** the outcome.
    """
    solver, derivative, rest = choice.solver, choice.derivative, choice.rules.rest
    if derivative is None:
        model, state, times, solver = refuse_derivatives((model, state, times, solver), NONE)
    elif isinstance(derivative, Reverse):
        model, state, times, solver = allow_one_reverse((model, state, times, solver), REVERSE)
    model = model.prepare()
    progress = initialise(model, state, times[0], solver.neighbours)
    times = times.astype(progress.motion.time.dtype)
    static = eqx.filter(progress, eqx.is_array, inverse=True)

    def interval(values, ends):
        progress = eqx.combine(values, static)
        begin, end = ends
        rule, last = rule_of(solver, end - begin, times.dtype), last_step(solver, progress.steps)
        match derivative:
            case None:
                progress = advance(model, progress, end, rule, last, rest)
            case Unrolled():
                progress = take_fixed_steps(model, progress, (end - begin) / solver.steps, solver.steps)
            case Reverse():
                kept = derivative.checkpoints or CHECKPOINTS
                progress = take_checkpointed_steps(model, progress, end, rule, last, rest, kept)
        return eqx.filter(progress, eqx.is_array), look_at(model, progress)

    values, spans = eqx.filter(progress, eqx.is_array), (times[:-1], times[1:])
    several = spans[0].shape[0] > 1 and isinstance(derivative, Reverse)
    values, later = jax.lax.scan(jax.checkpoint(interval) if several else interval, values, spans)
    seen = jax.tree.map(lambda x, rest: jnp.concatenate([x[None], rest]), look_at(model, progress), later)
    progress = eqx.combine(values, static)
    status = progress.status
    if not isinstance(derivative, Unrolled):
        status = jnp.where(status == Status.OK, final_status(progress, times[-1], rest), status)
    states, times, lost, steps, loads = seen
    energy = jax.lax.map(lambda seen: energy_of(model, *seen), (states, times, lost))
    return outcome_of(progress, rest, status, states, times, steps, energy, loads)


def look_at(model: AbstractParticles, progress: Progress) -> tuple[Any, Any, Any, Any, Any]:
    """Keep of a time the state, the time s, the lost energies, the number of steps and the loads. Under jit."""
    motion = progress.motion
    return motion.state, motion.time, motion.lost, progress.steps, loads_of(model, progress)


def loads_of(model: AbstractParticles, progress: Progress) -> tuple[Any, ...]:
    """The loads on tools or clumps. They have no derivatives, which would go through all contacts again."""
    model, motion, near = without_derivative((model, progress.motion, progress.neighbours))
    return model.loads(motion, near)


def energy_of(model: AbstractParticles, state: Any, time: Any, lost: dict[str, Array]) -> dict[str, Array]:
    """The parts of the energy, J by name. They have no derivatives, which would go through all contacts again."""
    model, state, time, lost = without_derivative((model, state, time, lost))
    return model.energy(time, state) | lost


def last_step(solver: Any, made: Any) -> Any:
    """The number of the last step that a run may make, which has `made` so many: equal steps have their own end."""
    return made + 2 * solver.steps + 1 if isinstance(solver, FixedSteps) else jnp.asarray(solver.max_steps)


def final_status(progress: Progress, end: Any, rest: AtRest | None) -> Array:
    """The status of a run without a fault, which was to last until `end` s or to come to rest."""
    has_come = jnp.asarray(has_rested(progress, rest))
    is_cut = (progress.motion.time < end) & ~has_come
    late = int(Status.OK) if rest is None else jnp.where(has_come, int(Status.OK), int(Status.UNSETTLED))
    return jnp.where(is_cut, int(Status.STEP_LIMIT), late)


def outcome_of(
    progress: Progress,
    rest: AtRest | None,
    status: Any,
    states: Any,
    times: Any,
    steps: Any,
    energy: Any,
    loads: Any,
) -> Outcome:
    """The outcome of a run that ended with `progress`. **Arguments:** as of `Outcome`; `rest`, its rule."""
    rested = None if rest is None else jnp.where(jnp.isfinite(progress.rest_time), progress.rest_time, jnp.nan)
    return Outcome(
        times=times,
        states=states,
        last=progress.motion.state,
        status=jnp.asarray(status, jnp.int32),
        is_finite=jnp.asarray(True),  # each step that is not ends the run before it counts
        stats=Stats(jnp.asarray(steps), rest_time=rested, particle=progress.particle, lists=progress.lists),
        energy=energy,
        energy_unit=jnp.full((), 0.0 if progress.motion.lost else jnp.nan),
        energy_share=SHARE,
        growth=jnp.full((), jnp.nan),
        without_growth=WITHOUT_GROWTH,
        without_balance="" if progress.motion.lost else WITHOUT_BALANCE,
        loads=loads,
        progress=progress,
    )
