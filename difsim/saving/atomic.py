"""On the host: files that are complete or absent."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO


def write_atomically(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file and move it to `path`, so that a killed run leaves the old file or the new one.

    **Arguments:** `path`, whose folder is made if needed; `write`, a function that writes to the open file.
    **Raises:** whatever `write` raises; the unfinished file is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")  # two processes may make the same file
    try:
        with beside.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
