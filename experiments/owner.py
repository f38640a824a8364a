"""One process at a time owns an output folder."""

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from difsim.saving.atomic import remove_unfinished


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """The folder belongs to this process until the end; the system frees it when the process is killed.

    What a killed process left unfinished there is removed.

    **Raises:** ValueError, which names the owner, when another process has the folder.
    """
    path = folder / ".owner"
    file = _locked(path)
    while not (path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())):
        file.close()  # its owner ended, and removed it, between our opening and our locking of it
        file = _locked(path)
    with file:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}\n")
        file.flush()
        remove_unfinished(folder)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _locked(path: Path) -> TextIO:
    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        owner = file.read().strip() or "another process"
        file.close()
        raise ValueError(f"{path.parent} is in use by {owner}: wait for its end, or give another --out") from None
    return file
