"""A run of particles in a folder, from which it goes on after it was interrupted."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from difsim.particles.neighbours import Neighbours
from difsim.saving.checkpoint import REMEDY, Checkpoint
from difsim.saving.marks import digest
from difsim.stepping.marching import Progress


def write_run(checkpoint: Checkpoint, states: list[Any], progress: Progress, steps: list[int]) -> None:
    """Write the newest state, and then what the run goes on from.

    **Arguments:** `checkpoint`; `states`, what was saved at each time; `progress`; `steps` until each time.
    """
    checkpoint.write_tree(f"state_{len(states) - 1:05d}", states[-1])
    checkpoint.write_tree("run", (progress, _cells(progress), np.asarray(steps)))


def read_run(
    checkpoint: Checkpoint, outline: Callable[[], Progress], saved: Callable[[Progress], Any]
) -> tuple[list[Any], Progress, list[int]] | None:
    """Read what an earlier run left.

    **Arguments:** `checkpoint`; `outline()`, a progress of the same structure; `saved(progress)`, what is saved of a
    time. **Returns:** what was saved at each time, the progress, and the steps until each time; None where there is no
    earlier run.
    **Raises:** ValueError for a file that is damaged or missing, and where something else was saved.
    """
    if "run" not in checkpoint:
        return None
    like = outline()
    # Lists, and what belongs to them, are longer where they were given more room.
    progress, cells, steps = checkpoint.read_tree("run", (like, _cells(like), np.zeros(1, int)), grown=True)
    progress = _with_cells(progress, cells)
    newest = saved(progress)
    states = [checkpoint.read_tree(f"state_{i:05d}", newest, grown=True) for i in range(len(steps))]
    # A function cannot be hashed reproducibly, so its output on the latest state is compared instead.
    if digest(states[-1]) != digest(newest):
        raise ValueError(f"{checkpoint.folder} has other numbers of this run: {REMEDY}, or save the same")
    return states, progress, steps.tolist()


def _is_list(x: Any) -> bool:
    return isinstance(x, Neighbours)


def _cells(progress: Progress) -> list[np.ndarray]:
    """The numbers of cells of each list, which are no arrays of a progress."""
    lists = [x for x in jax.tree.leaves(progress, is_leaf=_is_list) if _is_list(x)]
    return [np.asarray(near.cells) for near in lists]


def _with_cells(progress: Progress, cells: list[np.ndarray]) -> Progress:
    """The progress with these numbers of cells in its lists."""
    numbers = iter(cells)

    def with_cells(x):
        return replace(x, cells=tuple(next(numbers).tolist())) if _is_list(x) else x

    return jax.tree.map(with_cells, progress, is_leaf=_is_list)
