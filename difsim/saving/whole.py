"""Files that are there whole, or not at all. On the host."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO


def save_whole(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """What `write(file)` writes, at `path`, whose folder is made if need be.

    It is written beside and moved: a run that is killed while it writes leaves the file that was there before.
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
