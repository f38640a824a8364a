"""Many particles, step by step: neighbour lists made again in time, and a stop where something is wrong."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from difsim.body.attitude import require_attitude
from difsim.particles import SLACK, AbstractParticles
from difsim.stepping.status import Status
from difsim.typing import Scalar, number, require


class AbstractStep(eqx.Module):
    """How a run of particles goes on in time."""

    @abstractmethod
    def once(self, model: AbstractParticles, progress: "Progress", left: Scalar) -> "Progress":
        """One step further, of `left` s at most, with a list that is not stale; where it fails, the same progress
        with its status. Under jit."""


class ConstantStep(AbstractStep):
    """Always `dt` s. **Raises:** ValueError for dt ≤ 0."""

    tag = "constant-step"
    dt: Scalar = number()

    def __check_init__(self):
        require(self.dt > 0, f"ConstantStep: dt = {self.dt} s must be positive")

    def once(self, model, progress, left):
        return stepped(model, progress, within(self.dt, left))


class CourantStep(AbstractStep):
    """`courant` times the model's longest stable step. **Raises:** ValueError for courant outside (0, 1]."""

    tag = "courant-step"
    courant: Scalar = number(default=0.5)

    def __check_init__(self):
        inside = (self.courant > 0) & (self.courant <= 1)
        require(inside, f"CourantStep: courant = {self.courant} must be in (0, 1]")

    def once(self, model, progress, left):
        return stepped(model, progress, within(self.courant * model.stable_time_step(progress.motion), left))


class Progress(eqx.Module):
    """Where a run of particles is.

    `motion` of the model after `steps`, the last sound one; `status` (`difsim.stepping.Status`) tells what stopped
    it, and `particle` which one did (-1: none, or all together); `trial` s: what `ErrorControlledStep` tries next.
    """

    motion: Any
    neighbours: Any
    steps: Int[Array, ""]
    status: Int[Array, ""]
    particle: Int[Array, ""]
    trial: Scalar


def start(
    model: AbstractParticles, state: Any, time: float = 0.0, skin: float = 0.2, slack: float = SLACK
) -> Progress:
    """The beginning of a run. On the host: the neighbour list gets its capacity here.

    **Arguments:** `state` of the model at `time` s; `skin`: by which share of the reach the list sees further, so
    that it lasts for some steps; `slack`: how much more room it has than it needs now.
    **Raises:** ValueError as the list's `allocate`, and for an attitude of a body that is no unit quaternion.
    """
    require_attitude("a run of particles", state)
    return begun(model, state, time, model.allocate(state, skin, slack))


def begun(model: AbstractParticles, state: Any, time: float, neighbours: Any) -> Progress:
    """`start` with a list that is there."""
    motion = eqx.filter_jit(model.begin)(jnp.asarray(time, state.position.dtype), state, neighbours)
    zero = jnp.asarray(0, jnp.int32)
    return Progress(motion, neighbours, zero, zero, zero - 1, jnp.full_like(motion.time, jnp.inf))


def stepped(model: AbstractParticles, progress: Progress, dt: Scalar) -> Progress:
    """One step of `dt` s further, with a list that is not stale. Under jit.

    Where it fails: the same progress with its status.
    """
    motion = model.step(progress.motion, progress.neighbours, dt)
    nonfinite, beyond = model.nonfinite(motion), model.beyond(motion)
    too_long = dt > model.stable_time_step(progress.motion)
    status = jnp.select(
        [progress.neighbours.overflow, too_long, jnp.any(nonfinite), jnp.any(beyond)],
        [int(Status.OVERFLOW), int(Status.STEP_TOO_LONG), int(Status.NOT_FINITE), int(Status.BEYOND_LAW)],
    )
    guilty = [jnp.argmax(nonfinite), jnp.argmax(beyond)]
    particle = jnp.select([status == Status.NOT_FINITE, status == Status.BEYOND_LAW], guilty, -1)
    return moved(progress, motion, status, particle)


def listed(model: AbstractParticles, progress: Progress) -> Progress:
    """`progress` with its list made anew where particles have moved too far for it. Under jit."""
    # Not the whole motion, which derivatives would carry through the `cond`.
    places, memory = model.places(progress.motion.state), model.memory(progress.motion)

    def anew():
        made = progress.neighbours.made(places)
        found = model.carried(progress.motion, made)
        # A list without room leaves out pairs, and would make the motion forget them.
        return made, jax.tree.map(lambda new, old: jnp.where(made.overflow, old, new), found, memory)

    stale = progress.neighbours.is_stale(places)
    near, memory = jax.lax.cond(stale, anew, lambda: (progress.neighbours, memory))
    motion = model.with_memory(progress.motion, memory)
    return eqx.tree_at(lambda p: (p.motion, p.neighbours), progress, (motion, near))


def moved(
    progress: Progress,
    motion: Any,
    status: Int[Array, ""],
    particle: Int[Array, ""],
    kept: Bool[Array, ""] | bool = True,
) -> Progress:
    """`progress` with the motion one step later, if that is `kept` and the status is OK. Under jit."""
    sound = kept & (status == Status.OK)
    return eqx.tree_at(
        lambda p: (p.motion, p.steps, p.status, p.particle),
        progress,
        (
            jax.tree.map(lambda new, old: jnp.where(sound, new, old), motion, progress.motion),
            progress.steps + sound,
            status.astype(jnp.int32),
            particle.astype(jnp.int32),
        ),
    )


def within(dt: Scalar, left: Scalar) -> Scalar:
    """A step of `dt` s that ends `left` s from here at the latest."""
    # Within a billionth of the end it goes there: no last step of a rounding.
    return jnp.where(dt >= left * (1 - 1e-9), left, dt)


@eqx.filter_jit
def advance(
    model: AbstractParticles,
    progress: Progress,
    until: Float[Array, ""],
    step: AbstractStep,
    limit: Int[Array, ""],
) -> Progress:
    """On to the time `until` s, or until `limit` more steps are made, or until something is wrong.

    The last step is shortened to end at `until`. Values only: the number of steps is not known beforehand.
    """
    last = progress.steps + limit

    def goes_on(p):
        return (p.status == Status.OK) & (p.motion.time < until) & (p.steps < last)

    def fresh(p):
        return goes_on(p) & ~p.neighbours.is_stale(model.places(p.motion.state))

    def one(p):
        return step.once(model, p, until - p.motion.time)

    def some(p):
        # Listed here and not at each step: what goes through a `cond` is copied.
        p = listed(model, p)
        # A place that is not finite is stale at once again: without this the loops would never end.
        lost = ~fresh(p) & goes_on(p)
        p = eqx.tree_at(lambda p: p.status, p, jnp.where(lost, int(Status.NOT_FINITE), p.status).astype(jnp.int32))
        return jax.lax.while_loop(fresh, one, p)

    return jax.lax.while_loop(goes_on, some, progress)


def march(model: AbstractParticles, progress: Progress, dt: Scalar, steps: int) -> Progress:
    """`steps` steps of `dt` s: under jit, with forward and reverse derivatives.

    Reverse mode keeps the motions at √steps places and makes those between them again.
    """
    inner = max(1, round(steps**0.5))

    def one(p, _):
        return stepped(model, listed(model, p), dt), None

    @jax.checkpoint
    def some(p, _):
        return jax.lax.scan(one, p, length=inner)[0], None

    progress = jax.lax.scan(some, progress, length=steps // inner)[0]
    return jax.lax.scan(one, progress, length=steps % inner)[0]
