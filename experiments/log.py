"""The log of a run: what it says, on the screen and in a file of its folder."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TextIO


class Tee:
    """A stream whose text goes to a file as well. A bar of progress finds the terminal, so that no file gets it."""

    def __init__(self, screen: TextIO, file: TextIO):
        self.screen, self.file = screen, file

    def write(self, text: str) -> int:
        """Write to both."""
        self.file.write(text)
        return self.screen.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.screen, name)


@contextmanager
def keep_log(path: Path, is_quiet: bool = False) -> Iterator[None]:
    """Add to a file what the block says, its warnings and its error; with `is_quiet` none of it is on the screen."""
    with path.open("a", buffering=1, encoding="utf-8") as file:
        out, errors = (file if is_quiet else Tee(screen, file) for screen in (sys.stdout, sys.stderr))
        with redirect_stdout(out), redirect_stderr(errors):
            try:
                yield
            except Exception:
                traceback.print_exc(file=file)
                raise
