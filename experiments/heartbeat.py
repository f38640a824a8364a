"""A sign of life on the terminal while a command compiles or computes and prints nothing."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

SILENT = 4.0  # s without a word, after which the elapsed time is shown, and again each second
ERASED = "\r\x1b[K"  # the line the cursor is in


class _Terminal:
    """What was last written, and whether the last line is ours, which the next word of the command replaces."""

    def __init__(self):
        self.last, self.is_shown = time.monotonic() - SILENT, False  # the imports before us were silent already


class _Heard:
    """A stream that tells the terminal when something is written to it."""

    def __init__(self, stream: TextIO, terminal: _Terminal):
        self.stream, self.terminal = stream, terminal

    def write(self, text: str) -> int:
        if self.terminal.is_shown:
            self.stream.write(ERASED)
        self.terminal.last, self.terminal.is_shown = time.monotonic(), False
        return self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def heartbeat(what: str) -> Iterator[None]:
    """Show `what` and the elapsed time whenever nothing else was shown for some seconds.

    Only on a terminal: lines of a log file cannot be erased.
    """
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        yield
        return
    stream, terminal, ended, started = sys.stdout, _Terminal(), threading.Event(), time.monotonic()

    def beat():
        while not ended.is_set():
            now = time.monotonic()
            if now - terminal.last > SILENT:
                terminal.is_shown = True
                stream.write(f"{ERASED}{what}: {now - started:.0f} s")
                stream.flush()
            ended.wait(1.0)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        with redirect_stdout(_Heard(sys.stdout, terminal)), redirect_stderr(_Heard(sys.stderr, terminal)):
            yield
            print(end="")  # erases the last line that is ours
    finally:
        ended.set()
        thread.join()
