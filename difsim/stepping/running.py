"""Long runs of particles, on the host: from time to time, with room made where lists overflow, resumable."""

import hashlib
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim.particles import SLACK, AbstractParticles
from difsim.saving import save_whole
from difsim.stepping.marching import AbstractStep, CourantStep, Progress, advance, start
from difsim.stepping.status import REMEDY, Status
from difsim.typing import require

MORE_ROOM = 1.3  # by which an overflow raises the slack of the list: a second overflow soon after is rare


class Evolution(eqx.Module):
    """States (or what was kept of them) of a run at `times` s, as numpy arrays with a leading axis of the times
    that it reached.

    `status` and `particle` tell what ended it before the last of the times asked for (OK: nothing did); `end`:
    where it is now; `steps` made until each time; `lists`: how often a neighbour list ran out of room.
    """

    times: Float[np.ndarray, " t"]
    states: Any
    steps: Int[np.ndarray, " t"]
    end: Progress
    lists: int

    @property
    def status(self) -> Int[Array, ""]:
        return self.end.status

    @property
    def particle(self) -> Int[Array, ""]:
        return self.end.particle


def evolve(
    model: AbstractParticles,
    state: Any,
    times: Any,
    step: AbstractStep | None = None,
    skin: float = 0.2,
    slack: float = SLACK,
    max_steps: int = 10_000_000,
    checkpoint: Path | None = None,
    watch: Callable[[float], None] | None = None,
    throw: bool = True,
    keep: Callable[[Any], Any] = lambda state: state,
    until: Callable[[Any], bool] = lambda kept: False,
) -> Evolution:
    """Run particles from `state` at 0 s through `times`.

    **Arguments:** `state`, or a `Progress`, which goes on from its own time with its list; `times` [t], s,
    rising; `step`: `CourantStep()` unless given; `skin`, `slack`: as `start`; `checkpoint`: a folder that keeps
    the run after each of the times; a run that finds its own there goes on from it, to the same bits;
    `watch(time)`: called at each of the times, for a progress bar; `throw`: whether a failure raises;
    `keep(state)`: what is kept at each of the times, such as `lambda s: s.clumps` of a long run; `until(kept)`:
    whether that is enough, and the run ends there.
    **Raises:** ValueError for times that are not rising from 0, or begin before the `Progress` does, or a
    checkpoint of another run or of another `keep`; RuntimeError for a failure, with its time, particle and remedy.
    """
    times = np.asarray(times, float)
    if times.ndim != 1 or times.size == 0 or times[0] < 0 or (np.diff(times) <= 0).any():
        raise ValueError(f"evolve: times {times} s must rise, from 0 on")
    step = CourantStep() if step is None else step
    mark = digest((model, state, times, step, skin))
    begun = _kept(checkpoint, mark, keep)
    if begun is None:
        first = state if isinstance(state, Progress) else start(model, state, 0.0, skin, slack)
        # Runs go forwards: its state now would pass for that of a time gone by. A run ends within a rounding.
        gone = first.motion.time * (1 - 1e-9) > float(times[0])
        require(~gone, f"evolve: times {times} s begin before {first.motion.time} s, where the run is by now")
        begun = [], (first, [], 1.0)
    states, (progress, steps, more) = begun
    for time in times[len(states) :]:
        if states and until(states[-1]):
            break
        progress, more = onward(model, progress, float(time), step, max_steps, skin, more)
        if progress.status != Status.OK:
            break
        states.append(_what(keep, progress))
        steps.append(int(progress.steps))
        if checkpoint is not None:
            _keep(checkpoint, mark, states, (progress, steps, more))
        if watch is not None:
            watch(float(time))
    if throw and progress.status != Status.OK:
        raise RuntimeError(describe(progress))
    stacked = jax.tree.map(_stacked, *states) if states else None
    grown = round(float(np.log(more) / np.log(MORE_ROOM)))
    return Evolution(times[: len(states)], stacked, np.asarray(steps, int), progress, grown)


def describe(progress: Progress) -> str:
    """What stopped a run: the status, when, which particle, and the remedy."""
    status = Status(int(progress.status))
    where = f" at particle {int(progress.particle)}" if progress.particle >= 0 else ""
    remedy = REMEDY.get(status, "it goes on")
    return f"{status.name}: at {float(progress.motion.time):.6g} s, step {int(progress.steps)}{where}: {remedy}"


def _stacked(*of_each_time: np.ndarray) -> np.ndarray:
    """With a leading axis of time; what belongs to lists is longer where a list was given more room."""
    if of_each_time[0].ndim == 0:
        return np.stack(of_each_time)
    longest = max(x.shape[-1] for x in of_each_time)
    return np.stack([np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, longest - x.shape[-1])]) for x in of_each_time])


def onward(
    model: AbstractParticles,
    progress: Progress,
    time: float,
    step: AbstractStep,
    max_steps: int,
    skin: float,
    slack: float,
) -> tuple[Progress, float]:
    """On to `time` s, with a larger neighbour list wherever the one there is ran out of room. On the host.

    **Arguments:** as `evolve`; `slack`: how much room lists were given so far, 1 at the start of a run.
    **Returns:** the progress, with its status, and the slack to go on with.
    """
    while True:
        left = max_steps - int(progress.steps)
        progress = advance(model, progress, jnp.asarray(time), step, jnp.asarray(left))
        if progress.status == Status.OK and progress.motion.time < time:
            progress = eqx.tree_at(lambda p: p.status, progress, jnp.asarray(int(Status.STEP_LIMIT), jnp.int32))
        if progress.status != Status.OVERFLOW:
            return progress, slack
        slack *= MORE_ROOM
        roomy = model.allocate(progress.motion.state, skin, MORE_ROOM * slack)
        zero = jnp.asarray(0, jnp.int32)
        motion = model.recalling(progress.motion, model.carried(progress.motion, roomy))
        progress = Progress(motion, roomy, progress.steps, zero, zero - 1, progress.trial)


def digest(made_of: Any) -> str:
    """A hash of all that a run (or what else is slow to make) is made of: a pytree of numbers and arrays."""
    leaves, structure = jax.tree.flatten(made_of)
    said = hashlib.sha256(str(structure).encode())
    for leaf in leaves:
        said.update(np.asarray(leaf).tobytes())
    return said.hexdigest()


def _keep(folder: Path, mark: str, states: list[Any], rest: Any) -> None:
    """The newest state in a file of its own, and what the run goes on from."""
    for name, what in ((f"state_{len(states) - 1:05d}", states[-1]), ("run", (mark, len(states), rest))):
        save_whole(folder / name, partial(pickle.dump, what))


def _kept(folder: Path | None, mark: str, keep: Callable[[Any], Any]) -> Any:
    if folder is None or not (folder / "run").exists():
        return None
    found, count, rest = pickle.loads((folder / "run").read_bytes())
    if found != mark:
        raise ValueError(f"{folder} holds another run: remove it, or name another folder")
    states = [pickle.loads((folder / f"state_{i:05d}").read_bytes()) for i in range(count)]
    # A function has no hash that lasts; but what it keeps of the newest state is there.
    if digest(states[-1]) != digest(_what(keep, rest[0])):
        raise ValueError(f"{folder} has kept something else of this run: remove it, or keep the same")
    return states, rest


def _what(keep: Callable[[Any], Any], progress: Progress) -> Any:
    return jax.tree.map(np.asarray, keep(progress.motion.state))
