"""The progress of long work on a terminal, with the elapsed and the remaining time."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from difsim.extras import require

T = TypeVar("T")
PAUSE = 60.0  # s between plain lines


class Bar:
    """A line of progress that is shown while the block of its `with` runs. Bars may be nested.

    Where the output is not a terminal, a plain line goes to the standard error at most once a minute.

    **Arguments:** `label`; `total` amount of work, None if it is not known; `is_shown`: False hides the bar.
    """

    def __init__(self, label: str, total: int | float | None = None, is_shown: bool = True):
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
            disable=not (is_shown and console.is_terminal),
        )
        self._line = self._progress.add_task(label, total=total, note="")
        self._is_plain, self._silent_until = is_shown and not console.is_terminal, PAUSE

    def __enter__(self) -> "Bar":
        self._progress.start()
        if not self._progress.disable:
            self._progress.console.show_cursor(True)  # Ctrl-C ends a study at once, and would leave it hidden
        return self

    def __exit__(self, *_) -> None:
        self._progress.stop()

    def advance(self, amount: int | float = 1) -> None:
        """Add to the work that is done. **Arguments:** `amount`."""
        self._update(advance=amount)

    def reach(self, amount: int | float, note: str = "") -> None:
        """State the work that is done. **Arguments:** `amount`; `note`, a text to show behind the times."""
        self._update(completed=amount, note=note)

    def note(self, text: str) -> None:
        """Show a text behind the times. **Arguments:** `text`."""
        self._update(note=text)

    def _update(self, **changes) -> None:
        self._progress.update(self._line, **changes)
        (task,) = self._progress.tasks
        if self._is_plain and task.elapsed > self._silent_until:
            self._silent_until = task.elapsed + PAUSE
            sys.stderr.write(_as_line(task) + "\n")


def _as_line(task) -> str:
    done = " of ".join(
        f"{x:.0f}" if x >= 1000 else f"{x:.4g}" for x in (task.completed, task.total) if x is not None
    )
    left = task.elapsed * (task.total / task.completed - 1) if task.total and task.completed else None
    times = [f"{task.elapsed:.0f} s", *([] if left is None else [f"about {left:.0f} s left"])]
    return ", ".join(filter(None, (f"{task.description}: {done}", *times, task.fields["note"])))


def show_progress(items: Iterable[T], label: str, is_shown: bool = True) -> Iterator[T]:
    """Yield items and show how many are done.

    **Arguments:** `items`, of known number; `label` of the bar; `is_shown`. **Returns:** the items.
    """
    items = list(items)
    with Bar(label, len(items), is_shown) as bar:
        for item in items:
            yield item
            bar.advance()
