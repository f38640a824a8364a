"""Steps of many particles: neighbour lists are made again in time, and a step that goes wrong ends the run.

A run is a `Progress` that goes from step to step. There are three loops over steps: `advance` for values,
`take_fixed_steps` for both kinds of derivatives of a known number of steps, and `take_checkpointed_steps` for reverse
derivatives of an unknown number.
"""

from abc import abstractmethod
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from difsim.checks import instance, numbers, require_state
from difsim.declarations import quantity
from difsim.particles.model import AbstractParticles
from difsim.particles.neighbours import SLACK
from difsim.status import Status
from difsim.stepping.stops import AtRest
from difsim.typing import Scalar
from difsim.wide import PARTICLES, put

SKIN = 0.2  # of the reach: longer lists cost more than rebuilding them
MORE_ROOM = 1.3  # by which an overflow raises the slack of a list: a second overflow soon after is rare


class Progress(eqx.Module):
    """The place of a run of particles, from which it goes on bit for bit.

    `motion` of the model after `steps`, the last sound one; `neighbours`, the list of who may meet whom, which sees
    further than the model's reach by the share `skin` of it, and was made with more room `lists` times; `status`, a
    `difsim.Status`, tells what ended the run, and `particle` which one did (-1: none, or all together); `trial` s,
    the step that error control tries next; `rest_time` s since when all particles are at rest (inf while they move,
    or where nobody asked).
    """

    motion: Any
    neighbours: Any
    steps: Int[Array, ""]
    status: Int[Array, ""]
    particle: Int[Array, ""]
    trial: Scalar
    rest_time: Scalar
    lists: Int[Array, ""]
    skin: Scalar = quantity("", "share of the model's reach by which the list sees further")


class NeighbourList(eqx.Module):
    """A neighbour list whose capacity was found on the host.

    Runs make it again from their own state, with this capacity. `near`, the list; `skin`, by which share of the
    model's reach it sees further.

    **Arguments:** by `allocate`.
    """

    near: Any
    skin: Scalar = quantity("", "share of the model's reach by which the list sees further", gt=0)


def allocate(model: AbstractParticles, state: Any, skin: float = SKIN, slack: float = SLACK) -> NeighbourList:
    """Find the capacity of a neighbour list. On the host.

    `simulate` and `run` do this by themselves. Call it for a run inside `jit`, where no capacity can be found, or to
    choose it, and give it to the solver: `Courant(neighbours=allocate(model, state))`.

    **Arguments:** `model`; `state` of it; `skin`, by which share of the reach the list sees further, so that it lasts
    for some steps; `slack`, how many times as much room it has as it needs for this state.
    **Returns:** the list.
    **Raises:** ValueError for what is no model of particles or no state of it, and for positions that are not finite
    or too far apart.
    """
    instance("allocate: model", model, AbstractParticles, "a model of particles, such as Grains or Continuum")
    require_state("allocate", model, state)
    for name, given in (("skin", skin), ("slack", slack)):
        numbers(f"allocate: {name}", given, "")
    near = model.allocate(place_state(state), skin, slack)
    return NeighbourList(near, jnp.asarray(skin, state.position.dtype))


def place_state(state: Any) -> Any:
    """The state on a GPU, if there is one and a step of so many particles is sooner there."""
    return put(state, is_wide(state))


def is_wide(state: Any) -> bool:
    """Whether a step of so many particles is sooner on a GPU."""
    return max(state.position.shape) >= PARTICLES


def initialise(
    model: AbstractParticles, state: Any, time: Any = 0.0, listed: NeighbourList | None = None
) -> Progress:
    """The beginning of a run, and with it all steps from there.

    **Arguments:** `model`; `state` of it at `time` s; `listed`, a list of as many particles, which must be
    given under jit.
    **Returns:** the beginning; its status is OVERFLOW after the first step where the list has not enough room.
    """
    listed = allocate(model, state) if listed is None else listed
    return _begin(model, place_state(state), jnp.asarray(time, state.position.dtype), listed)


@eqx.filter_jit
def _begin(model: AbstractParticles, state: Any, time: Scalar, listed: NeighbourList) -> Progress:
    model, near = model.prepare(), listed.near.rebuild(model.positions(state))
    motion = model.begin(time, state, near)
    zero, never = jnp.asarray(0, jnp.int32), jnp.full_like(motion.time, jnp.inf)
    skin = listed.skin.astype(motion.time.dtype)
    return Progress(motion, near, zero, zero, zero - 1, never, never, zero, skin)


def with_room(model: AbstractParticles, progress: Progress) -> Progress:
    """`progress` with a larger list in place of one that ran out of room. On the host."""
    lists = progress.lists + 1
    near = model.allocate(progress.motion.state, float(progress.skin), MORE_ROOM ** (1 + int(lists)))
    zero = jnp.asarray(0, jnp.int32)
    return eqx.tree_at(
        lambda p: (p.motion, p.neighbours, p.status, p.particle, p.lists),
        progress,
        (*_remember(model, progress.motion, near), zero, zero - 1, lists),
    )


@eqx.filter_jit
def _remember(model: AbstractParticles, motion: Any, near: Any) -> tuple[Any, Any]:
    """The motion with the memories of another list, which is filled; and the list."""
    near = near.rebuild(model.positions(motion.state))
    return model.with_memory(motion, model.remap_memory(motion, near)), near


class AbstractRule(eqx.Module):
    """A rule for the length of the next step."""

    @abstractmethod
    def step(self, model: AbstractParticles, progress: Progress, left: Scalar) -> Progress:
        """One step further, with a list that is not stale. Under jit.

        **Arguments:** `model`; `progress`; `left` s, the longest step.
        **Returns:** the progress; where the step fails, its status says so and its motion is of no use.
        """


class EqualSteps(AbstractRule):
    """Steps of `dt` s."""

    dt: Scalar = quantity("s", "length of a step")

    def step(self, model, progress, left):
        # The last one takes what the roundings of the others left: in float32 200 of them make 1e-5 of a step.
        return take_step(model, progress, jnp.where(left <= self.dt * (1 + 1e-3), left, self.dt))


class StableSteps(AbstractRule):
    """Steps of `fraction` of the longest stable one."""

    fraction: Scalar = quantity("", "share of the longest stable step")

    def step(self, model, progress, left):
        return take_step(
            model, progress, limit_step(self.fraction * model.stable_time_step(progress.motion), left)
        )


def take_step(model: AbstractParticles, progress: Progress, dt: Scalar) -> Progress:
    """One step of `dt` s further, with a list that is not stale, as `AbstractRule.step`. Under jit."""
    motion = model.step(progress.motion, progress.neighbours, dt)
    nonfinite, outside = model.nonfinite(motion), model.find_outside_validity(motion)
    too_long = dt > model.stable_time_step(progress.motion)
    status, particle = first_fault(
        (progress.neighbours.overflow, Status.OVERFLOW, -1),
        (too_long, Status.STEP_TOO_LONG, -1),
        (nonfinite >= 0, Status.NOT_FINITE, nonfinite),
        (outside >= 0, Status.BEYOND_LAW, outside),
    )
    return accept(progress, motion, status, particle)


def first_fault(*faults: tuple[Bool[Array, ""], Status, Any]) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """The status of the first fault that is there, and its particle; OK and -1 where there is none.

    **Arguments:** `faults`: whether it is there, its status, and the index of a particle. **Returns:** both.
    """
    # Not `jnp.select`, which looks for the first by a reduction: on a GPU that is a kernel of its own.
    status, particle = jnp.asarray(int(Status.OK), jnp.int32), jnp.asarray(-1, jnp.int32)
    for there, code, who in reversed(faults):
        status, particle = jnp.where(there, int(code), status), jnp.where(there, who, particle)
    return status, particle


def with_updated_neighbours(model: AbstractParticles, progress: Progress) -> Progress:
    """`progress` with its list rebuilt where particles have moved too far for it. Under jit."""
    # Not the whole motion, which derivatives would carry through the `cond`.
    positions, memory = model.positions(progress.motion.state), model.memory(progress.motion)

    def rebuild():
        made = progress.neighbours.rebuild(positions)
        found = model.remap_memory(progress.motion, made)
        # A list without room leaves out pairs, and would make the motion forget them.
        return made, jax.tree.map(lambda new, old: jnp.where(made.overflow, old, new), found, memory)

    stale = progress.neighbours.is_stale(positions)
    near, memory = jax.lax.cond(stale, rebuild, lambda: (progress.neighbours, memory))
    motion = model.with_memory(progress.motion, memory)
    return eqx.tree_at(lambda p: (p.motion, p.neighbours), progress, (motion, near))


def accept(
    progress: Progress,
    motion: Any,
    status: Int[Array, ""],
    particle: Int[Array, ""],
    kept: Bool[Array, ""] | bool = True,
) -> Progress:
    """`progress` with the motion after one more step, which counts if it is `kept` and its status is OK. Under jit."""
    sound = kept & (status == Status.OK)
    return eqx.tree_at(
        lambda p: (p.motion, p.steps, p.status, p.particle),
        progress,
        (motion, progress.steps + sound, status.astype(jnp.int32), particle.astype(jnp.int32)),
    )


def select(first: Bool[Array, ""], one: Any, other: Any) -> Any:
    """The arrays of `one` if `first`, else those of `other`. Under jit."""
    return jax.tree.map(lambda a, b: jnp.where(first, a, b), one, other)


def sound_step(rule: AbstractRule, model: AbstractParticles, progress: Progress, left: Scalar) -> Progress:
    """`rule.once`; where the step fails, the same progress with its status. Under jit."""
    after = rule.step(model, progress, left)
    motion = select(after.status == Status.OK, after.motion, progress.motion)
    return eqx.tree_at(lambda p: p.motion, after, motion)


def limit_step(dt: Scalar, left: Scalar) -> Scalar:
    """A step of `dt` s that ends `left` s from here at the latest."""
    # Within a billionth of the end it goes there: no last step of a rounding.
    return jnp.where(dt >= left * (1 - 1e-9), left, dt)


def has_rested(progress: Progress, at_rest: AtRest | None) -> Bool[Array, ""]:
    """Whether all particles have been at rest for as long as the rule wants; False without a rule."""
    hold = jnp.inf if at_rest is None else at_rest.hold
    return progress.motion.time - progress.rest_time >= hold


def _is_unfinished(
    progress: Progress, until: Scalar, last: Int[Array, ""], at_rest: AtRest | None
) -> Bool[Array, ""]:
    """Whether the run has neither ended nor failed."""
    on = (progress.status == Status.OK) & (progress.motion.time < until) & (progress.steps < last)
    return on & ~has_rested(progress, at_rest)


def _watch_rest(model: AbstractParticles, progress: Progress, at_rest: AtRest | None) -> Progress:
    """`progress` with the time since when its particles are at rest, where there is a rule."""
    if at_rest is None:
        return progress
    speed, spin = model.fastest(jax.lax.stop_gradient(progress.motion.state))
    slow = (speed < at_rest.speed) & (spin < at_rest.spin)
    since = jnp.where(slow, jnp.minimum(progress.rest_time, jax.lax.stop_gradient(progress.motion.time)), jnp.inf)
    return eqx.tree_at(lambda p: p.rest_time, progress, since)


@eqx.filter_jit
def advance(
    model: AbstractParticles,
    progress: Progress,
    until: Float[Array, ""],
    rule: AbstractRule,
    last: Int[Array, ""],
    at_rest: AtRest | None = None,
) -> Progress:
    """On to the time `until` s, or until the step number `last`, or to rest, or until something is wrong.

    The last step is shortened to end at `until`. `simulate` takes it for values alone.
    """

    def is_unfinished(p, last):
        return _is_unfinished(p, until, last, at_rest)

    def refresh(p, last):
        return is_unfinished(p, last) & ~p.neighbours.is_stale(model.positions(p.motion.state))

    def one(p):
        return _watch_rest(model, rule.step(model, p, until - p.motion.time), at_rest)

    def repeat(run):
        # The list is updated here and not at each step: what goes through a `cond` is copied.
        p, last, *fault = run
        p = with_updated_neighbours(model, p)
        # A position that is not finite is stale at once again: without this the loops would never end.
        lost = ~refresh(p, last) & is_unfinished(p, last)
        p = eqx.tree_at(lambda p: p.status, p, jnp.where(lost, int(Status.NOT_FINITE), p.status).astype(jnp.int32))
        end = jax.lax.while_loop(partial(refresh, last=last), one, p)
        # The motion before a step that failed is made again from here: to keep it at each step takes longer.
        failed = end.status != Status.OK
        return select(failed, (p, end.steps, end.status, end.particle), (end, last, *fault))

    model = model.prepare()
    begin = _watch_rest(model, progress, at_rest)
    run = begin, last.astype(begin.steps.dtype), begin.status, begin.particle
    end, _, status, particle = jax.lax.while_loop(lambda run: is_unfinished(*run[:2]), repeat, run)
    return eqx.tree_at(lambda p: (p.status, p.particle), end, (status, particle))


def take_fixed_steps(model: AbstractParticles, progress: Progress, dt: Scalar, steps: int) -> Progress:
    """`steps` steps of `dt` s: under jit, with forward and reverse derivatives.

    Reverse mode keeps the motions at √steps places and makes those between them again.
    """
    inner = max(1, round(steps**0.5))

    def one(p, _):
        return sound_step(EqualSteps(dt), model, with_updated_neighbours(model, p), dt), None

    @jax.checkpoint
    def repeat(p, _):
        return jax.lax.scan(one, p, length=inner)[0], None

    progress = jax.lax.scan(repeat, progress, length=steps // inner)[0]
    return jax.lax.scan(one, progress, length=steps % inner)[0]


def take_checkpointed_steps(
    model: AbstractParticles,
    progress: Progress,
    until: Float[Array, ""],
    rule: AbstractRule,
    last: Int[Array, ""],
    at_rest: AtRest | None,
    checkpoints: int,
) -> Progress:
    """`advance` with reverse derivatives: motions at `checkpoints` places are kept, those between are made again."""
    values, static = eqx.partition(_watch_rest(model, progress, at_rest), eqx.is_array)

    def is_unfinished(values):
        return _is_unfinished(eqx.combine(values, static), until, last, at_rest)

    def one(values):
        p = with_updated_neighbours(model, eqx.combine(values, static))
        p = _watch_rest(model, sound_step(rule, model, p, until - p.motion.time), at_rest)
        return eqx.filter(p, eqx.is_array)

    ended = eqx.internal.while_loop(is_unfinished, one, values, kind="checkpointed", checkpoints=checkpoints)
    return eqx.combine(ended, static)
