"""`simulate` of many particles.

Without a derivative a run is made on the host, from time to time: a neighbour list that runs out of room gets more,
and a run can be watched, and resumed from a folder. Derivatives, and all runs inside `jit`, have lists of fixed room.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.checks import host_numbers, instance, require_function, traceable
from difsim.fields import is_valid
from difsim.particles.model import AbstractParticles
from difsim.particles.neighbours import SLACK
from difsim.saving.marks import digest
from difsim.status import Status
from difsim.stepping.checkpoint import Store
from difsim.stepping.derivatives import AbstractDerivative, Reverse, Unrolled
from difsim.stepping.error_control import rule_of
from difsim.stepping.marching import (
    SKIN,
    Progress,
    advance,
    begun,
    checkpointed_steps,
    fixed_steps,
    has_rested,
    initialise,
    is_wide,
    sound_step,
    with_room,
    with_updated_neighbours,
)
from difsim.stepping.modes import NONE, REVERSE, allow_one_reverse, refuse_derivatives
from difsim.stepping.solution import Solution, Stats
from difsim.stepping.solvers import AbstractSolver, Courant, FixedSteps
from difsim.stepping.stops import AtRest, AtSample
from difsim.typing import Scalar, as_float, is_known, require
from difsim.wide import devices_of, put_on

SAVE = "simulate: save"  # the argument, in messages
CHECKPOINTS = 100  # motions that reverse derivatives keep: up to 5150 steps each is made again no more than twice


def run_particles(
    model: AbstractParticles,
    state: Any,
    times: Any,
    solver: AbstractSolver,
    derivative: AbstractDerivative | None,
    until: AtRest | AtSample | None,
    save: Callable[[Any], Any] | None,
    checkpoint: Path | None,
    watch: Callable[[float], None] | None,
) -> Solution:
    """Run particles from `state` at `times[0]` through the later `times`.

    **Arguments:** `model`; `state`, or a `Progress`, which goes on from its own time with its list; `times` [T], s,
    rising; `solver`, `Courant`, `FixedSteps` or `Adaptive`; `derivative`: `Unrolled()` of `FixedSteps`, `Reverse()` of
    any solver, or None: values only, with neighbour lists that get more room when they run out of it (inside `jit`:
    with lists of fixed room); `until`, an `AtRest`, or an `AtSample` (values only); `save(state)`, what is saved at
    each of the times, such as `lambda s: s.clumps` of a long run; `checkpoint`, a folder that keeps the run after each
    of the times: a run that finds its own there goes on from it, to the same bits (its files are plain arrays, see
    `difsim.saving`); `watch(time)`, called at each of the times, for a progress bar.
    **Returns:** the solution, whose times after an early end are left out, or inside `jit` are the end's. Its status
    is not raised here.
    **Raises:** ValueError for times that are not finite and rising, or begin before the `Progress` does, for a
    checkpoint that is damaged, of another run or of another `save`, for a state inside `jit` that is no `Progress`,
    and for a derivative that was not asked for.
    """
    for name, given in ((SAVE, save), ("simulate: watch", watch)):
        if given is not None:
            require_function(name, given)
    if checkpoint is not None:
        instance("simulate: checkpoint", checkpoint, str | Path, "the path of a folder")
    on_host = all(map(is_known, jax.tree.leaves((model, state, times))))
    times = _rising(times, isinstance(state, Progress) and not isinstance(solver, FixedSteps))
    if not on_host and not isinstance(state, Progress):
        raise ValueError(
            "simulate: a neighbour list gets its room outside of `jit`: call initialise(model, state) there, and give "
            "the Progress that it returns, or its restarted(model, state), as the state"
        )
    if on_host:
        is_valid((model, solver, until))  # raises, for what was put into one that was right
    if on_host and derivative is None:
        return _on_host(model, state, times, solver, until, save, checkpoint, watch)
    if checkpoint is not None or watch is not None or isinstance(until, AtSample):
        raise ValueError(
            "simulate: checkpoint, watch and AtSample are of runs outside of `jit`, without a derivative"
        )
    progress = _beginning(model, state, times[0])
    _check_beginning(progress, times, solver)
    times = jnp.asarray(times, progress.motion.time.dtype)
    return _in_jit(model, progress, times, solver, derivative, until, save)


def _beginning(model: AbstractParticles, state: Any, time: Any) -> Progress:
    return state if isinstance(state, Progress) else initialise(model, state, time)


def _rising(times: Any, one_is_enough: bool) -> Any:
    """The times, which must be finite and rise if they are known."""
    if not is_known(times):
        return as_float(times)
    times = host_numbers("simulate: times", times, is_finite=False)
    rising = times.ndim == 1 and times.size > 1 - one_is_enough and (np.diff(times) > 0).all()
    if not (rising and np.isfinite(times).all()):
        raise ValueError(
            f"simulate: times {times} s must be two or more, finite and rising from the state's time on"
        )
    return times


def _check_beginning(progress: Progress, times: Any, solver: AbstractSolver) -> None:
    """Refuse times that begin before the run does, and equal steps from a time that is not that of the run."""
    now, first = progress.motion.time, float(times[0]) if is_known(times) else times[0]
    # Runs go forwards: the state now would pass for that of a time gone by. A run ends within a rounding.
    gone = now * (1 - 1e-9) > first
    require(~gone, f"simulate: times {times} s begin before {now} s, where the run is by now")
    if isinstance(solver, FixedSteps):
        rounding = 4 * jnp.finfo(now.dtype).eps + 1e-9
        there = jnp.abs(now - first) <= rounding * jnp.abs(jnp.asarray(first))
        require(
            there, f"simulate: FixedSteps divides times {times} s, which must begin at {now} s, as the run does"
        )


def _on_host(
    model: AbstractParticles,
    state: Any,
    times: Float[np.ndarray, " T"],
    solver: AbstractSolver,
    until: AtRest | AtSample | None,
    save: Callable[[Any], Any] | None,
    checkpoint: Path | None,
    watch: Callable[[float], None] | None,
) -> Solution:
    def saved(progress):
        state = progress.motion.state
        return jax.tree.map(np.asarray, state if save is None else traceable(SAVE, save)(state))

    at_rest = until if isinstance(until, AtRest) else None
    store, found = None, None
    if checkpoint is not None:
        store = Store(checkpoint, digest((model, state, times, solver, at_rest)))
        found = store.read(lambda: _outline(model, state), len(times), saved)
        if found is not None:
            states, progress, steps = found
            found = states, put_on(progress, devices_of(state, is_wide(progress.motion.state))[:1]), steps
    if found is None:
        first = _beginning(model, state, float(times[0]))
        _check_beginning(first, times, solver)
        found = [], first, []
    states, progress, steps = found
    earlier = int(state.steps) if isinstance(state, Progress) else 0
    status = Status.OK
    for i in range(len(states), len(times)):
        if has_rested(progress, at_rest) or (isinstance(until, AtSample) and states and until.holds(states[-1])):
            break
        progress, status = _onward(model, progress, times[max(i - 1, 0) : i + 1], solver, at_rest, earlier)
        # A run that comes to rest between two times has no state at the later one.
        if status != Status.OK or progress.motion.time < float(times[i]):
            break
        states.append(saved(progress))
        steps.append(int(progress.steps))
        if store is not None:
            store.write(states, progress, steps)
        if watch is not None:
            watch(float(times[i]))
    if at_rest is not None and status == Status.OK and not has_rested(progress, at_rest):
        status = Status.UNSETTLED
    stacked = jax.tree.map(_stacked, *states) if states else None
    return _solution(progress, at_rest, status, times[: len(states)], stacked, np.asarray(steps, int))


def _onward(
    model: AbstractParticles,
    progress: Progress,
    span: Float[np.ndarray, " _"],
    solver: AbstractSolver,
    until: AtRest | None,
    earlier: int,
) -> tuple[Progress, Status]:
    """Go on to the end of `span` s, with a larger neighbour list wherever the one there ran out of room.

    `earlier` steps were made before this run.
    """
    time = float(span[-1])
    rule = rule_of(solver, time - float(span[0]), progress.motion.time.dtype)
    last = earlier + _most_steps(solver, int(progress.steps) - earlier)
    while True:
        progress = advance(model, progress, jnp.asarray(time), rule, jnp.asarray(last), until)
        if progress.status == Status.OVERFLOW:
            progress = with_room(model, progress)
            continue
        cut = progress.status == Status.OK and progress.motion.time < time and not has_rested(progress, until)
        return progress, Status.STEP_LIMIT if cut else Status(int(progress.status))


def _most_steps(solver: AbstractSolver, made: Any) -> Any:
    """The number of the last step that a run may make, which has `made` so many: equal steps have their own end."""
    return made + 2 * solver.steps + 1 if isinstance(solver, FixedSteps) else solver.max_steps


@eqx.filter_jit
def _in_jit(
    model: AbstractParticles,
    progress: Progress,
    times: Float[Array, " T"],
    solver: AbstractSolver,
    derivative: AbstractDerivative | None,
    until: AtRest | None,
    save: Callable[[Any], Any] | None,
) -> Solution:
    if derivative is None:
        model, progress, times, solver = refuse_derivatives((model, progress, times, solver), NONE)
    elif isinstance(derivative, Reverse):
        model, progress, times, solver = allow_one_reverse((model, progress, times, solver), REVERSE)
    earlier = progress.steps
    static = eqx.filter(progress, eqx.is_array, inverse=True)

    def interval(values, ends):
        progress = eqx.combine(values, static)
        begin, end = ends
        rule = rule_of(solver, end - begin, times.dtype)
        last = earlier + _most_steps(solver, progress.steps - earlier)
        match derivative:
            case None:
                progress = advance(model, progress, end, rule, last, until)
            case Unrolled():
                progress = fixed_steps(model, progress, rule.dt, solver.steps)
            case Reverse():
                kept = derivative.checkpoints or CHECKPOINTS
                progress = checkpointed_steps(model, progress, end, rule, last, until, kept)
        return eqx.filter(progress, eqx.is_array), seen(progress)

    def seen(progress):
        state = progress.motion.state
        return state if save is None else traceable(SAVE, save)(state), progress.motion.time, progress.steps

    # With equal steps the run is at the first of the times already.
    begins = jnp.append(progress.motion.time, times[:-1])
    spans = (times[:-1], times[1:]) if isinstance(solver, FixedSteps) else (begins, times)
    values, first = eqx.filter(progress, eqx.is_array), seen(progress)
    several = spans[1].shape[0] > 1 and isinstance(derivative, Reverse)
    values, out = jax.lax.scan(jax.checkpoint(interval) if several else interval, values, spans)
    if isinstance(solver, FixedSteps):
        out = jax.tree.map(lambda x, rest: jnp.concatenate([x[None], rest]), first, out)
    progress = eqx.combine(values, static)
    states, reached, steps = out
    status = progress.status
    if derivative is None or isinstance(derivative, Reverse):
        rested = jnp.asarray(has_rested(progress, until))
        cut = (progress.motion.time < times[-1]) & ~rested
        late = int(Status.OK) if until is None else jnp.where(rested, int(Status.OK), int(Status.UNSETTLED))
        late = jnp.where(cut, int(Status.STEP_LIMIT), late)
        status = jnp.where(status == Status.OK, late, status)
    status = jnp.where(is_valid((model, solver, until)), status, int(Status.INVALID_MODEL))
    return _solution(progress, until, status, reached, states, steps)


def _solution(
    progress: Progress, until: AtRest | None, status: Any, times: Any, states: Any, steps: Any
) -> Solution:
    rested = None if until is None else jnp.where(jnp.isfinite(progress.rest_time), progress.rest_time, jnp.nan)
    return Solution(
        times=times,
        states=states,
        last=progress.motion.state,
        status=jnp.asarray(status, jnp.int32),
        stats=Stats(jnp.asarray(steps), rest_time=rested, particle=progress.particle, lists=progress.lists),
        progress=progress,
    )


def next_step(
    model: AbstractParticles, progress: Progress, until: Scalar, solver: AbstractSolver | None = None
) -> Progress:
    """One step further, with the neighbour list updated where it is stale. Under jit.

    It is for particles that move together with something else, such as a tool that they slow down.

    **Arguments:** `model`; `progress`; `until` s, where the step ends at the latest; `solver`, `Courant()` unless
    given.
    **Returns:** the progress; where the step fails, the same one with its status.
    """
    left = until - progress.motion.time
    rule = rule_of(Courant() if solver is None else solver, left, left.dtype)
    return sound_step(rule, model, with_updated_neighbours(model, progress), left)


def failure(solution: Solution) -> str:
    """The reason why a run of particles stopped, in words.

    **Arguments:** `solution`, of a run that failed, with known values.
    **Returns:** the status, when it happened, at which particle, and the remedy.
    """
    status, progress = Status(int(solution.status)), solution.progress
    where = f" at particle {int(progress.particle)}" if progress.particle >= 0 else ""
    when = f"at {float(progress.motion.time):.6g} s, step {int(progress.steps)}{where}"
    return f"{status.name}: {when}: {status.message}: {status.remedy}"


def _outline(model: AbstractParticles, state: Any) -> Progress:
    """The structure of a run's progress, with its dtypes and shapes; nothing is computed but a list."""
    if isinstance(state, Progress):
        return state
    near = model.allocate(state, SKIN, SLACK)
    return eqx.filter_eval_shape(lambda s, n: begun(model, s, 0.0, n, SKIN), state, near)


def _stacked(*of_each_time: np.ndarray) -> np.ndarray:
    """The arrays stacked along a leading axis of time.

    What belongs to lists is longer where a list was given more room.
    """
    if of_each_time[0].ndim == 0:
        return np.stack(of_each_time)
    longest = max(x.shape[-1] for x in of_each_time)
    return np.stack([np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, longest - x.shape[-1])]) for x in of_each_time])
