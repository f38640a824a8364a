"""On the host: files that are complete or absent, and folders that are there as a whole or not at all."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".part-"  # how the names of unfinished files begin: a killed process leaves them


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """A path to write a file to, which is moved to `path` at the end: a killed run leaves the old file or the new one.

        with atomically(folder / "result.json") as partial:
            partial.write_text(text)

    **Arguments:** `path`, whose folder is made if needed. **Yields:** a path in that folder, with the same suffix.
    **Raises:** whatever the body raises, an OSError with the path; the unfinished file is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = _temporary_path(path)
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        if error.filename is None and error.errno is not None:  # a full disk is reported without a name
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        beside.unlink(missing_ok=True)


def remove_at_once(folder: Path) -> None:
    """Remove a folder so that no part of it stays under its name: half a checkpoint would be refused as damaged.

    **Arguments:** `folder`. **Raises:** OSError where it cannot be removed.
    """
    beside = _temporary_path(folder)
    folder.replace(beside)
    shutil.rmtree(beside)


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes left unfinished in a folder and below it.

    **Arguments:** `folder`. **Raises:** OSError where something cannot be removed.
    """
    for left in [*folder.rglob(f"{UNFINISHED}*")]:
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)  # it was in a folder that is removed already


def _temporary_path(path: Path) -> Path:
    """A name for the unfinished file of a path: two threads may make the same file."""
    return path.with_name(f"{UNFINISHED}{uuid.uuid4().hex[:12]}-{path.name}")
