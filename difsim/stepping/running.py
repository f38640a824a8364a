"""Long runs of particles, on the host: from time to time, with room made where lists overflow, resumable."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim.particles import SLACK, AbstractParticles, Neighbours
from difsim.saving import digest, read_arrays, write_arrays
from difsim.status import Status
from difsim.stepping.marching import AbstractStep, CourantStep, Progress, advance, begun, start
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
    the run after each of the times; a run that finds its own there goes on from it, to the same bits (its files
    are plain arrays, see `difsim.saving`);
    `watch(time)`: called at each of the times, for a progress bar; `throw`: whether a failure raises;
    `keep(state)`: what is kept at each of the times, such as `lambda s: s.clumps` of a long run; `until(kept)`:
    whether that is enough, and the run ends there.
    **Raises:** ValueError for times that are not finite and rising from 0, or begin before the `Progress` does, or
    a checkpoint that is damaged, of another run or of another `keep`; RuntimeError for a failure, with its time,
    particle and remedy.
    """
    times = np.asarray(times, float)
    rising = times.ndim == 1 and times.size > 0 and times[0] >= 0 and (np.diff(times) > 0).all()
    if not (rising and np.isfinite(times).all()):
        raise ValueError(f"evolve: times {times} s must be finite and rise, from 0 on")
    step = CourantStep() if step is None else step
    store = None if checkpoint is None else _Store(checkpoint, digest((model, state, times, step, skin)))
    found = None if store is None else store.read(lambda: _outline(model, state, skin, slack), len(times), keep)
    if found is None:
        first = state if isinstance(state, Progress) else start(model, state, 0.0, skin, slack)
        # Runs go forwards: its state now would pass for that of a time gone by. A run ends within a rounding.
        gone = first.motion.time * (1 - 1e-9) > float(times[0])
        require(~gone, f"evolve: times {times} s begin before {first.motion.time} s, where the run is by now")
        found = [], (first, [], 1.0)
    states, (progress, steps, more) = found
    for time in times[len(states) :]:
        if states and until(states[-1]):
            break
        progress, more = onward(model, progress, float(time), step, max_steps, skin, more)
        if progress.status != Status.OK:
            break
        states.append(_what(keep, progress))
        steps.append(int(progress.steps))
        if store is not None:
            store.write(states, progress, steps, more)
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
    remedy = status.remedy or "it goes on"
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
        motion = model.with_memory(progress.motion, model.carried(progress.motion, roomy))
        progress = Progress(motion, roomy, progress.steps, zero, zero - 1, progress.trial)


class _Store:
    """A run in a folder: `run`, where it is now, and what is kept of each time in a file of its own, `state_00000`
    and on. `mark`: the digest of what the run is made of."""

    def __init__(self, folder: Path, mark: str):
        self.folder, self.mark = Path(folder), mark
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{folder} is a file, and a checkpoint is a folder: name another")
        self.remedy = "remove the folder, and the run begins anew, or name another"

    def write(self, states: list[Any], progress: Progress, steps: list[int], more: float) -> None:
        """The newest state, and then what the run goes on from."""
        self._write(self._state(len(states) - 1), states[-1])
        grids = [np.asarray(near.cells) for near in _lists(progress)]
        whole = np.frombuffer(bytes.fromhex(digest(progress)), np.uint8)
        self._write("run", (progress, grids, np.asarray(steps), np.asarray(more), whole))

    def read(self, outline: Callable[[], Progress], most: int, keep: Callable[[Any], Any]) -> Any:
        """What was kept, and the progress, the steps and the slack to go on with; None where there is nothing.
        `outline()`: a progress of the same structure; `most`: how many times there are at the most."""
        if not (self.folder / "run").exists():
            return None
        like = outline()
        grids = [np.asarray(near.cells) for near in _lists(like)]
        form = like, grids, np.zeros(1, int), np.zeros(()), np.zeros(32, np.uint8)
        progress, grids, steps, more, whole = self._read("run", form)
        sound = 1 <= len(steps) <= most and all(0 < np.prod(grid, dtype=float) < 2**31 for grid in grids)
        progress = _with_grids(progress, grids) if sound else progress
        if not sound or bytes.fromhex(digest(progress)) != whole.tobytes():
            raise ValueError(f"{self.folder / 'run'} holds no progress of this run: {self.remedy}")
        what = _what(keep, progress)
        missing = [i for i in range(len(steps)) if not (self.folder / self._state(i)).exists()]
        if missing:
            raise ValueError(f"{self.folder / self._state(missing[0])} is missing: {self.remedy}")
        states = [self._read(self._state(i), what) for i in range(len(steps))]
        # A function has no hash that lasts; but what it keeps of the newest state is there.
        if digest(states[-1]) != digest(what):
            raise ValueError(f"{self.folder} has kept something else of this run: remove it, or keep the same")
        return states, (progress, steps.tolist(), float(more))

    def _state(self, i: int) -> str:
        return f"state_{i:05d}"

    def _write(self, name: str, tree: Any) -> None:
        write_arrays(self.folder / name, "run", f"{self.mark} {name}", tree)

    def _read(self, name: str, like: Any) -> Any:
        # Lists, and what belongs to them, are longer where they were given more room.
        return read_arrays(self.folder / name, "run", f"{self.mark} {name}", like, grown=True, remedy=self.remedy)


def _outline(model: AbstractParticles, state: Any, skin: float, slack: float) -> Progress:
    """The structure of a run's progress, with its dtypes and shapes; nothing is computed but a list."""
    if isinstance(state, Progress):
        return state
    near = model.allocate(state, skin, slack)
    return eqx.filter_eval_shape(lambda s, n: begun(model, s, 0.0, n), state, near)


def _is_list(x: Any) -> bool:
    return isinstance(x, Neighbours)


def _lists(tree: Any) -> list[Neighbours]:
    return [x for x in jax.tree.leaves(tree, is_leaf=_is_list) if _is_list(x)]


def _with_grids(tree: Any, grids: list[np.ndarray]) -> Any:
    """With these numbers of cells in its lists: they are part of a list's structure, and of no array."""
    cells = iter(grids)
    return jax.tree.map(
        lambda x: replace(x, cells=tuple(next(cells).tolist())) if _is_list(x) else x, tree, is_leaf=_is_list
    )


def _what(keep: Callable[[Any], Any], progress: Progress) -> Any:
    return jax.tree.map(np.asarray, keep(progress.motion.state))
