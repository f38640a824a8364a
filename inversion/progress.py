"""Progress of long work on the terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from difsim.extras import require


@contextmanager
def show_progress(
    description: str, total: int | float | None = None, is_shown: bool = True
) -> Iterator[Callable[..., None]]:
    """Show a bar with the elapsed and the remaining time.

    **Arguments:** `description`; `total` amount of work, None where it is not known; `is_shown`, False for no bar.
    **Yields:** a function of the amount that is done so far, and of a note to write next to it.
    """
    if not is_shown:
        yield lambda done, note="": None
        return
    rich = require("inversion", "rich.progress")
    with rich.Progress(*rich.Progress.get_default_columns(), rich.TimeElapsedColumn()) as bar:
        task = bar.add_task(description, total=total)
        yield lambda done, note="": bar.update(task, completed=done, description=f"{description} {note}".rstrip())
