"""The progress of long work: a bar on a terminal, with the elapsed and the remaining time, or calls of a function."""

import sys
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import TypeVar

from difsim.extras import require

T = TypeVar("T")
# True shows a bar. A function is called with the label of the work, what is done, and the total, None if not known.
Progress = bool | Callable[[str, float, float | None], object]
PAUSE = 60.0  # s between plain lines


class Bar:
    """A line of progress that is shown while the block of its `with` runs. Bars may be nested.

    Where the output is not a terminal, a plain line goes to the standard error at most once a minute.

    **Arguments:** `label`; `total` amount of work, None if it is not known; `progress`: False hides the bar, and a
    function is called in its place.
    """

    def __init__(self, label: str, total: int | float | None = None, progress: Progress = True):
        self._label, self._total, self._done, self._lock = label, total, 0.0, Lock()
        self._line = _Line(label, total) if progress is True else None
        self._report = progress if callable(progress) else None

    def __enter__(self) -> "Bar":
        if self._line is not None:
            self._line.start()
        return self

    def __exit__(self, *_) -> None:
        if self._line is not None:
            self._line.stop()

    def advance(self, amount: int | float = 1) -> None:
        """Add to the work that is done. **Arguments:** `amount`."""
        with self._lock:  # threads that work side by side
            self._reach(self._done + amount)

    def reach(self, amount: int | float, note: str = "") -> None:
        """State the work that is done. **Arguments:** `amount`; `note`, a text to show behind the times."""
        with self._lock:
            self._reach(amount, note)

    def note(self, text: str) -> None:
        """Show a text behind the times. **Arguments:** `text`."""
        self.reach(self._done, text)

    def _reach(self, amount: int | float, note: str | None = None) -> None:
        self._done = amount
        if self._line is not None:
            self._line.show(amount, note)
        if self._report is not None:
            self._report(self._label, amount, self._total)


class _Line:
    """The line of a bar. **Arguments:** `label`; `total`, None if it is not known."""

    def __init__(self, label: str, total: int | float | None):
        columns = require("inversion", "rich.progress")
        console = require("inversion", "rich").get_console()
        self._progress = columns.Progress(
            columns.TextColumn("{task.description}", markup=False),
            columns.BarColumn(bar_width=20),
            columns.TaskProgressColumn(show_speed=False),
            columns.TimeElapsedColumn(),
            columns.TimeRemainingColumn(),
            columns.TextColumn("{task.fields[note]}", markup=False),
            console=console,
            redirect_stderr=console.is_terminal and not console.stderr,
            disable=not console.is_terminal,
        )
        self._number = self._progress.add_task(label, total=total, note="")
        self._silent_until = PAUSE

    def start(self) -> None:
        self._progress.start()
        if not self._progress.disable:
            self._progress.console.show_cursor(True)  # Ctrl-C ends a study at once, and would leave it hidden

    def stop(self) -> None:
        self._progress.stop()

    def show(self, done: int | float, note: str | None) -> None:
        self._progress.update(self._number, completed=done, **({} if note is None else {"note": note}))
        (task,) = self._progress.tasks
        if self._progress.disable and task.elapsed > self._silent_until:
            self._silent_until = task.elapsed + PAUSE
            sys.stderr.write(_as_line(task) + "\n")


def _as_line(task) -> str:
    done = " of ".join(
        f"{x:.0f}" if x >= 1000 else f"{x:.4g}" for x in (task.completed, task.total) if x is not None
    )
    left = task.elapsed * (task.total / task.completed - 1) if task.total and task.completed else None
    times = [f"{task.elapsed:.0f} s", *([] if left is None else [f"about {left:.0f} s left"])]
    return ", ".join(filter(None, (f"{task.description}: {done}", *times, task.fields["note"])))


def show_progress(items: Iterable[T], label: str, progress: Progress = True) -> Iterator[T]:
    """Yield items and show how many are done.

    **Arguments:** `items`, of known number; `label` of the bar; `progress`, as of `Bar`. **Returns:** the items.
    """
    items = list(items)
    with Bar(label, len(items), progress) as bar:
        for item in items:
            yield item
            bar.advance()
