"""Tasks that several processes, also of several machines, share out among themselves through one folder.

Each process claims a task by a file that only one can make. It renews its claims every few seconds. A claim is stale
when its process does not exist any more on this machine, or when it was not renewed while another process watched it
for two minutes. Clocks of two machines are never compared. A stale claim is followed by one with the next number,
which again only one process can make: no claim of another process is ever removed while its task is open.
"""

import itertools
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from difsim.checks import integer
from difsim.saving.marks import digest
from difsim.typing import came

T = TypeVar("T")
Share = tuple[int, int]  # which of how many processes, from 0

BEAT = 5.0  # s from one renewal of a claim to the next
STALE = 120.0  # s without a renewal that is seen: a network's file system may show old times of files for a minute

# Which process of how many a launcher says that this one is; Open MPI first, since SLURM may have started it.
LAUNCHERS = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")


def share_of(text: str) -> Share:
    """The share "3/16", or for "auto" the one that SLURM and Open MPI say in the environment.

    Processes of each job of an array of jobs are counted through the whole array.

    **Arguments:** `text`: RANK/OF, with ranks from 0, or "auto". **Returns:** rank and number of processes.
    **Raises:** ValueError for another text, and for "auto" without the variables.
    """
    if text == "auto":
        return _launched(os.environ)
    rank, slash, of = text.partition("/")
    if not (slash and rank.isascii() and rank.isdigit() and of.isascii() and of.isdigit()):
        raise ValueError(f'share {text!r}: give RANK/OF, such as 0/16 to 15/16, or "auto"')
    return checked((int(rank), int(of)))


def checked(share: Share) -> Share:
    """The share itself. **Raises:** ValueError for no pair of integers, or a rank that is not among the processes."""
    if not (isinstance(share, tuple | list) and len(share) == 2):
        raise ValueError(f"share: got {came(share)}: give a pair, the rank of this process and how many there are")
    rank, of = (integer("share", each, 0) for each in share)
    if not 0 <= rank < of:
        raise ValueError(f"share {rank}/{of}: ranks of {of} processes are 0 to {of - 1}")
    return rank, of


def _launched(variables: Mapping[str, str]) -> Share:
    rank, of = 0, 1
    found = [pair for pair in LAUNCHERS if pair[0] in variables and pair[1] in variables]
    if found:
        rank, of = (int(variables[name]) for name in found[0])
    if "SLURM_ARRAY_TASK_ID" in variables:
        this, first, step, jobs = (
            int(variables.get(f"SLURM_ARRAY_TASK_{name}", default))
            for name, default in (("ID", 0), ("MIN", 0), ("STEP", 1), ("COUNT", 1))
        )
        # The numbers of an array's jobs may have gaps. Two equal ranks only begin with the same task.
        rank, of = (this - first) // step % jobs * of + rank, jobs * of
    elif not found:
        names = ["SLURM_ARRAY_TASK_ID", *(name for pair in LAUNCHERS for name in pair)]
        raise ValueError(f'share "auto": the environment has none of {", ".join(names)}: give RANK/OF')
    return checked((rank, of))


def share_out(
    tasks: Mapping[str, Callable[[], T]], is_done: Callable[[str], bool], folder: Path, share: Share
) -> dict[str, T] | None:
    """Do tasks together with other processes that have the same folder, each task in one process.

    A process takes every n-th task first, then any that is left. It ends when every task is done, or in the hands
    of another process that lives. One that does not live is replaced. Whoever finishes last returns the results.

    **Arguments:** `tasks`: by names of files; a task keeps its result, and returns the kept one when it is called
    again; `is_done`: whether the task of a name has kept its result; `folder` for the claims; `share`: rank and
    number of processes. **Returns:** all results, or None where another process is to return them.
    """
    rank, of = checked(share)
    names = list(tasks)
    left = [name for first in range(of) for name in names[(rank + first) % of :: of]]
    claims, whole = Claims(folder), f"whole-{digest(names)[:24]}"
    before = claims.of(whole)
    while left := [name for name in left if not is_done(name)]:
        for name in left:
            if not is_done(name) and claims.take(name):
                with claims.held(name):
                    if not is_done(name):  # it may have been completed before the claim
                        tasks[name]()
        left = [name for name in left if not is_done(name)]
        if left and not claims.wait(left):
            return None
    # A process that is gone since may have had the whole in our time: it has what it needed, and ended.
    while claims.of(whole) == before:
        if claims.take(whole):
            return {name: task() for name, task in tasks.items()}
        if not claims.wait([whole]):
            break
    return None


class Claims:
    """The claims of one process in a folder, and what it saw of those of others."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.mine: set[Path] = set()
        # Of another's claim: the time of the file, our clock when we saw it first, whether it had been renewed.
        self.seen: dict[Path, tuple[int, float, bool]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        # It ends with the process: the claim on the whole is held until then.
        threading.Thread(target=self._renew, daemon=True).start()

    def of(self, name: str) -> list[Path]:
        """The claims on a task, the last one first."""
        return sorted(self.folder.glob(f"{name}.claim*"), reverse=True)

    def take(self, name: str) -> bool:
        """Whether the claim is ours now: there was none, or only stale ones."""
        for number in itertools.count():
            path = self.folder / f"{name}.claim{number:03}"
            if not path.exists():
                break
            if not self._is_stale(path):
                return False
        try:
            with path.open("x") as file:
                json.dump({"process": os.getpid(), "host": socket.gethostname(), "time": time.ctime()}, file)
        except FileExistsError:
            return False
        self.mine.add(path)
        return True

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Give a claim back at the end; what was seen of others is old by then."""
        try:
            yield
        finally:
            self.seen.clear()
            self.mine = {path for path in self.mine if not path.name.startswith(f"{name}.claim")}
            for path in self.of(name):  # the last one first: no gap below a number
                path.unlink(missing_ok=True)

    def wait(self, names: Sequence[str]) -> bool:
        """Wait a little. False: all tasks are in the hands of processes that have renewed their claims meanwhile."""
        time.sleep(BEAT / 5)
        return not all(any(self.seen.get(path, (0, 0.0, False))[2] for path in self.of(name)) for name in names)

    def _is_stale(self, path: Path) -> bool:
        try:
            renewed, holder = path.stat().st_mtime_ns, path.read_text()
        except FileNotFoundError:  # given back a moment ago
            return False
        if _is_gone(holder):
            return True
        before, at, _ = self.seen.get(path, (None, 0.0, False))
        if renewed != before:
            self.seen[path] = renewed, time.monotonic(), before is not None
            return False
        return time.monotonic() - at > STALE

    def _renew(self) -> None:
        while True:
            time.sleep(BEAT)
            for path in list(self.mine):
                try:
                    os.utime(path)
                except OSError:  # its holder is slow, and was replaced; or the network is away for a moment
                    continue


def _is_gone(text: str) -> bool:
    """Whether the process of a claim was one of this machine and does not exist any more.

    One with our own number is gone too: what this process claims, it gives back before it claims anything else.
    """
    try:
        holder = json.loads(text)
    except ValueError:  # killed while it wrote
        return False
    if holder["host"] != socket.gethostname():
        return False
    if holder["process"] == os.getpid():
        return True
    try:
        os.kill(holder["process"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # of another user, but there
        return False
    return False
