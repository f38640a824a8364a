"""A run of particles in a folder, from which it goes on after it was interrupted."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from difsim.particles.neighbours import Neighbours
from difsim.saving.arrays import read_arrays, write_arrays
from difsim.saving.marks import digest
from difsim.stepping.marching import Progress


class Store:
    """A folder with `run`, the progress, and a file `state_00000` and on for what was saved at each time.

    **Arguments:** `folder`; `mark`, the digest of what the run is made of.
    **Raises:** ValueError where `folder` is a file.
    """

    def __init__(self, folder: Path, mark: str):
        self.folder, self.mark = Path(folder), mark
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{folder} is a file, and a checkpoint is a folder: name another")
        self.remedy = "remove the folder, and the run begins anew, or name another"

    def write(self, states: list[Any], progress: Progress, steps: list[int]) -> None:
        """Write the newest state, and then what the run goes on from.

        **Arguments:** `states`, what was saved at each time; `progress`; `steps` until each time.
        """
        self._write(self._state(len(states) - 1), states[-1])
        whole = np.frombuffer(bytes.fromhex(digest(progress)), np.uint8)
        self._write("run", (progress, _cells(progress), np.asarray(steps), whole))

    def read(self, outline: Callable[[], Progress], most: int, saved: Callable[[Progress], Any]) -> Any:
        """Read what an earlier run left.

        **Arguments:** `outline()`, a progress of the same structure; `most`, how many times there are at the most;
        `saved(progress)`, what is saved of a time.
        **Returns:** what was saved at each time, the progress, and the steps until each time; None where
        there is no earlier run.
        **Raises:** ValueError for a file that is damaged or missing, or is of another run.
        """
        if not (self.folder / "run").exists():
            return None
        like = outline()
        given = like, _cells(like), np.zeros(1, int), np.zeros(32, np.uint8)
        progress, grids, steps, whole = self._read("run", given)
        sound = 1 <= len(steps) <= most and all(0 < np.prod(grid, dtype=float) < 2**31 for grid in grids)
        progress = _with_cells(progress, grids) if sound else progress
        if not sound or bytes.fromhex(digest(progress)) != whole.tobytes():
            raise ValueError(f"{self.folder / 'run'} holds no progress of this run: {self.remedy}")
        newest = saved(progress)
        missing = [i for i in range(len(steps)) if not (self.folder / self._state(i)).exists()]
        if missing:
            raise ValueError(f"{self.folder / self._state(missing[0])} is missing: {self.remedy}")
        states = [self._read(self._state(i), newest) for i in range(len(steps))]
        # A function cannot be hashed reproducibly, so its output on the latest state is compared instead.
        if digest(states[-1]) != digest(newest):
            raise ValueError(f"{self.folder} has saved something else of this run: remove it, or save the same")
        return states, progress, steps.tolist()

    def _state(self, i: int) -> str:
        return f"state_{i:05d}"

    def _write(self, name: str, tree: Any) -> None:
        write_arrays(self.folder / name, "run", f"{self.mark} {name}", tree)

    def _read(self, name: str, like: Any) -> Any:
        # Lists, and what belongs to them, are longer where they were given more room.
        return read_arrays(self.folder / name, "run", f"{self.mark} {name}", like, grown=True, remedy=self.remedy)


def _is_list(x: Any) -> bool:
    return isinstance(x, Neighbours)


def _cells(progress: Progress) -> list[np.ndarray]:
    """The numbers of cells of each list, which are no arrays of a progress."""
    lists = [x for x in jax.tree.leaves(progress, is_leaf=_is_list) if _is_list(x)]
    return [np.asarray(near.cells) for near in lists]


def _with_cells(progress: Progress, grids: list[np.ndarray]) -> Progress:
    """The progress with these numbers of cells in its lists."""
    cells = iter(grids)

    def with_cells(x):
        return replace(x, cells=tuple(next(cells).tolist())) if _is_list(x) else x

    return jax.tree.map(with_cells, progress, is_leaf=_is_list)
