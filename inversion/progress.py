"""The progress of long work on a terminal, with the elapsed and the remaining time."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from difsim.extras import require

T = TypeVar("T")


class Bar:
    """A line of progress that is shown while the block of its `with` runs. Bars may be nested.

    **Arguments:** `label`; `total` amount of work, None if it is not known; `is_shown`: False hides the bar. Nothing is
    shown where the output is not a terminal.
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

    def __enter__(self) -> "Bar":
        self._progress.start()
        if not self._progress.disable:
            self._progress.console.show_cursor(True)  # Ctrl-C ends a study at once, and would leave it hidden
        return self

    def __exit__(self, *_) -> None:
        self._progress.stop()

    def advance(self, amount: int | float = 1) -> None:
        """Add to the work that is done. **Arguments:** `amount`."""
        self._progress.update(self._line, advance=amount)

    def reach(self, amount: int | float, note: str = "") -> None:
        """State the work that is done. **Arguments:** `amount`; `note`, a text to show behind the times."""
        self._progress.update(self._line, completed=amount, note=note)

    def note(self, text: str) -> None:
        """Show a text behind the times. **Arguments:** `text`."""
        self._progress.update(self._line, note=text)


def show_progress(items: Iterable[T], label: str, is_shown: bool = True) -> Iterator[T]:
    """Yield items and show how many are done.

    **Arguments:** `items`, of known number; `label` of the bar; `is_shown`. **Returns:** the items.
    """
    items = list(items)
    with Bar(label, len(items), is_shown) as bar:
        for item in items:
            yield item
            bar.advance()
