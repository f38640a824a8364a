"""Long runs of particles, on the host: neighbour lists grow, states are saved as they come, a folder keeps the run."""

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from difsim.checks import explain_errors, instance, require_function, require_state
from difsim.declarations import is_valid
from difsim.particles.model import AbstractParticles
from difsim.saving.checkpoint import Checkpoint
from difsim.status import Status
from difsim.stepping.checkpoint import read_run, write_run
from difsim.stepping.error_control import rule_of
from difsim.stepping.marching import (
    NeighbourList,
    Progress,
    advance,
    allocate,
    has_rested,
    initialise,
    is_wide,
    sound_step,
    with_room,
    with_updated_neighbours,
)
from difsim.stepping.outcome import conclude, raise_failed
from difsim.stepping.particles import check_list, energy_of, final_status, last_step, loads_of, outcome_of
from difsim.stepping.solution import Solution
from difsim.stepping.solvers import AbstractSolver, Courant
from difsim.stepping.stops import AtRest
from difsim.stepping.table import Choice, choose
from difsim.stepping.trust import Ignore
from difsim.typing import Scalar, describe, instants, is_known
from difsim.wide import devices_of, put_on

SAVE, UNTIL = "run: save", "run: until"  # the arguments, in messages


def run(
    model: AbstractParticles,
    state: Any,
    times: Any,
    *,
    solver: AbstractSolver | None = None,
    until: AtRest | Callable[[Any], bool] | None = None,
    save: Callable[[Any], Any] | None = None,
    checkpoint: str | PathLike | None = None,
    watch: Callable[[float], None] | None = None,
    throw: bool = True,
) -> Solution:
    """Run particles from `state` at `times[0]` through the later `times`, outside of `jit` and without derivatives.

    A neighbour list that runs out of room gets more, and the run goes on.

    **Arguments:**

    - `model`: particles, such as `Grains` or `Continuum`.
    - `state`: the model's own, at `times[0]`.
    - `times`: [T] s, increasing.
    - `solver`: `Courant()` (the default), `FixedSteps(n)` or `Adaptive(rtol)`; its `neighbours` are what the run begins
      with.
    - `until`: `AtRest()`, or a function of what was saved, which ends the run at the first time where it is true.
    - `save`: a function of a state to what is saved of it at each of the times, such as `lambda s: s.clumps` of a long
      run; all of it by default.
    - `checkpoint`: a folder that keeps the run after each of the times. A run that finds its own there goes on from it,
      to the same bits; its files are plain arrays (`difsim.saving`).
    - `watch`: a function of the time, called at each of them, for a progress bar.
    - `throw`: raise `RuntimeError` when the status is not OK.

    **Returns:** a `Solution` with what was saved at the times that were reached.

    **Raises:** `ValueError` for what `simulate` refuses, for traced numbers, and for a checkpoint that is damaged or of
    another `save`; `RuntimeError` as above.
    """
    course = _Course.plan("run", model, state, times, solver, until, save)
    require_state("run", model, state)
    is_valid(state)
    if watch is not None:
        require_function("run: watch", watch)
    listed = course.choice.solver.neighbours
    if listed is not None:
        check_list("run", model, state, listed)
    kept, found = None, None
    if checkpoint is not None:
        instance("run: checkpoint", checkpoint, str | PathLike, "the path of a folder")
        made_of = model, state, course.times, course.choice.solver, course.choice.rules.rest
        kept = Checkpoint(checkpoint, made_of)
        found = read_run(kept, lambda: _outline(model, state, listed), course.look)
    looks, progress, steps = found or ([], initialise(model, state, course.times[0], listed), [])
    progress = put_on(progress, devices_of(state, is_wide(state))[:1])

    def keep(looks, progress, steps):
        if kept is not None:
            write_run(kept, looks, progress, steps)
        if watch is not None:
            watch(float(course.times[len(looks) - 1]))

    return course.go(looks, progress, steps, keep, throw)


def resume(
    model: AbstractParticles,
    progress: Progress,
    times: Any,
    *,
    solver: AbstractSolver | None = None,
    until: AtRest | Callable[[Any], bool] | None = None,
    save: Callable[[Any], Any] | None = None,
    throw: bool = True,
) -> Solution:
    """Go on with a run of particles, to the same bits as if it had not been interrupted.

    **Arguments:** `model`, in which numbers may have changed, such as gravity; `progress`, of an earlier solution;
    `times` [T] s, of which the first is that of the progress; the others as of `run`.
    **Returns:** a `Solution`, which begins with the state of the progress.
    **Raises:** as `run`, and `ValueError` for times that do not begin where the run is.
    """
    instance("resume: progress", progress, Progress, "the progress of a solution")
    course = _Course.plan("resume", model, progress, times, solver, until, save)
    require_state("resume: progress", model, progress.motion.state)
    now, first = float(progress.motion.time), float(course.times[0])
    # A run ends within a rounding of its last time.
    if abs(now - first) > (4 * jnp.finfo(progress.motion.time.dtype).eps + 1e-9) * abs(first):
        raise ValueError(f"resume: times {course.times} s must begin at {now} s, where the run is")
    return course.go([], progress, [], lambda *_: None, throw)


class _Course(NamedTuple):
    """The task of a run: `model` through `times` s by the `choice`, with `until` and `save` of `run`."""

    model: AbstractParticles
    times: Float[np.ndarray, " T"]
    choice: Choice
    until: AtRest | Callable[[Any], bool] | None
    save: Callable[[Any], Any] | None

    @classmethod
    def plan(cls, name: str, model: Any, start: Any, times: Any, solver: Any, until: Any, save: Any) -> "_Course":
        """The course of the function `name`. **Raises:** ValueError for what cannot be run."""
        instance(f"{name}: model", model, AbstractParticles, "a model of particles; `simulate` runs all others")
        if until is not None and not isinstance(until, AtRest):
            require_function(UNTIL, until)
        if save is not None:
            require_function(SAVE, save)
        choice = choose(model, solver, None, until if isinstance(until, AtRest) else None)
        if not all(map(is_known, jax.tree.leaves((model, start, times, choice)))):
            raise ValueError(
                f"{name}: it runs outside of `jit` and of derivatives: give `simulate` what is traced"
            )
        is_valid((model, choice))  # raises, for what was put into one that was right
        return cls(model, np.asarray(instants(times, name)), choice, until, save)

    def look(self, progress: Progress) -> Any:
        """Make what is kept of a time: what was saved, the energy, and the loads."""
        motion, model = progress.motion, self.model
        saved = motion.state if self.save is None else explain_errors(SAVE, self.save)(motion.state)
        energy = _energy_of(model, motion.state, motion.time, motion.lost)
        return jax.tree.map(np.asarray, (saved, energy, _loads_of(model, progress)))

    def is_found(self, saved: Any) -> bool:
        """Whether what was saved ends the run. **Raises:** ValueError unless `until` gives one truth."""
        if self.until is None or isinstance(self.until, AtRest):
            return False
        found = explain_errors(UNTIL, self.until)(saved)
        if not isinstance(found, bool | np.bool_ | jax.Array | np.ndarray) or np.shape(found) != ():
            raise ValueError(f"{UNTIL} returned {describe(found)}: return one truth, such as `(x > 0).all()`")
        return bool(found)

    def go(
        self, looks: list[Any], progress: Progress, steps: list[int], keep: Callable[..., None], throw: bool
    ) -> Solution:
        """Go on to the end, and call `keep(looks, progress, steps)` at each time."""
        model, times, solver, rest = self.model, self.times, self.choice.solver, self.choice.rules.rest
        begun, earlier = progress, int(progress.steps) - (steps[-1] - steps[0] if steps else 0)
        end = progress.motion.time
        for i in range(len(looks), len(times)):
            if has_rested(progress, rest) or (looks and self.is_found(looks[-1][0])):
                break
            if i:
                end = float(times[i])
                progress = _continue(model, progress, times[i - 1 : i + 1], solver, rest, earlier)
                # A run that comes to rest between two times has no state at the later one.
                if progress.status != Status.OK or progress.motion.time < end:
                    break
            looks.append(self.look(progress))
            steps.append(int(progress.steps))
            keep(looks, progress, steps)
        status = final_status(progress, end, rest) if progress.status == Status.OK else progress.status
        states, energy, loads = jax.tree.map(_stack, *looks)
        outcome = outcome_of(
            progress, rest, status, (), times[: len(looks)], np.asarray(steps, int), energy, loads
        )
        state, times = begun.motion.state, jnp.asarray(times)
        solution, _ = _conclude(model, state, times, self.choice, Ignore(), outcome)
        solution = replace(solution, states=states, times=outcome.times)
        if throw:
            raise_failed(model, solution)
        return solution


_conclude = eqx.filter_jit(conclude)
_energy_of = eqx.filter_jit(energy_of)
_loads_of = eqx.filter_jit(loads_of)


def _outline(model: AbstractParticles, state: Any, listed: NeighbourList | None) -> Progress:
    """The structure of a run's progress, with its dtypes and shapes; nothing is computed but a list."""
    listed = allocate(model, state) if listed is None else listed
    return eqx.filter_eval_shape(initialise, model, state, 0.0, listed)


def _continue(
    model: AbstractParticles,
    progress: Progress,
    span: Float[np.ndarray, "2"],
    solver: AbstractSolver,
    rest: AtRest | None,
    earlier: int,
) -> Progress:
    """Go on to the end of `span` s, with a larger neighbour list wherever the one there ran out of room.

    `earlier` steps were made before this run.
    """
    begin, end = map(float, span)
    rule = rule_of(solver, end - begin, progress.motion.time.dtype)
    last = earlier + last_step(solver, int(progress.steps) - earlier)
    while True:
        progress = advance(model, progress, jnp.asarray(end), rule, jnp.asarray(last), rest)
        if progress.status != Status.OVERFLOW:
            return progress
        progress = with_room(model, progress)


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


def _stack(*of_each_time: np.ndarray) -> np.ndarray:
    """The arrays stacked along a leading axis of time.

    What belongs to lists is longer where a list was given more room.
    """
    if of_each_time[0].ndim == 0:
        return np.stack(of_each_time)
    longest = max(x.shape[-1] for x in of_each_time)
    return np.stack([np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, longest - x.shape[-1])]) for x in of_each_time])
