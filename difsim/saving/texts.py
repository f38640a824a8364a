"""Text files of users, read only after a look at what they are and how large."""

import os
import stat
from os import PathLike
from pathlib import Path

MOST = 2**26  # bytes, 64 MiB: read and parsed as JSON or CSV within seconds


def read_text(path: str | PathLike, most: int = MOST, encoding: str = "utf-8") -> str:
    """The text of a file.

    **Arguments:** `path`; `most` bytes that it may have, so that a file given by mistake takes neither the memory nor
    minutes of a parser; `encoding`. **Returns:** the text.
    **Raises:** ValueError, which names the file, as `check_file`, and for what is no text; FileNotFoundError.
    """
    check_file(path, most)
    try:
        return Path(path).read_text(encoding=encoding)
    except UnicodeDecodeError:
        raise ValueError(f"{path}: no text in UTF-8") from None


def read_number(text: str) -> float:
    """The number that a text of a file is: as `float`, but 1_0, which Python alone reads as ten, is none.

    **Arguments:** `text`. **Returns:** the number. **Raises:** ValueError.
    """
    if "_" in text:
        raise ValueError(f"{text!r} is no number")
    return float(text)


def check_file(path: str | PathLike, most: int) -> None:
    """Check what a file is before it is opened: opening a pipe would block.

    **Arguments:** `path`; `most` bytes that it may have.
    **Raises:** ValueError, which names the file, for one that is larger, and for a folder, a pipe or a device;
    FileNotFoundError.
    """
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(
            f"{path}: is {'a folder' if stat.S_ISDIR(found.st_mode) else 'no regular file'}: give a file"
        )
    if found.st_size > most:
        raise ValueError(
            f"{path}: has {found.st_size} bytes, more than the {most} that a file of this kind may have"
        )
