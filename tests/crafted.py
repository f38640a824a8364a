"""Files that lie where a file of arrays is looked for, and are none: what chance and malice put there."""

import functools
import io
import pickle  # noqa: TID251  # what a hostile file holds
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from difsim.saving.checkpoint import ABOUT

HARM = "harm"  # the environment variable that names the file which proves that something was executed


class Harmful:
    """Executed by whoever unpickles it."""

    def __reduce__(self):
        return exec, (f"import os, pathlib; pathlib.Path(os.environ[{HARM!r}]).touch()",)


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@functools.cache
def bomb() -> bytes:
    """A zip of some 130 kB that holds 128 MB."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("arr_0.npy", "w") as entry:
        np.lib.format.write_array_header_1_0(entry, {"descr": "<f8", "fortran_order": False, "shape": (2**24,)})
        for _ in range(8):
            entry.write(bytes(2**24))
    return file.getvalue()


def flip(good: bytes, at: int) -> bytes:
    return good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]


def contents(good: bytes) -> Iterator[tuple[str, bytes]]:
    """What to write in the place of the `good` content, by what it is."""
    random = np.random.default_rng(0)
    yield "empty", b""
    yield "cut off", good[: len(good) // 2]
    for name, at in (("array's shape", 70), ("first number", 130)):
        yield f"a bit of an {name}", flip(good, good.index(b"\x93NUMPY") + at)
    yield "a bit of the mark", flip(good, good.index(b'"mark"') + 12)
    yield "random", random.bytes(10_000)
    yield "a pickle", pickle.dumps(Harmful())
    yield "pickles with the right mark", repack(good, npz(x=np.array([Harmful()], object)))
    yield "an npz", npz(arr_0=np.arange(3.0), rested=0)
    yield "a zip bomb", bomb()


def plant(path: Path) -> Iterator[str]:
    """Puts one thing after the other at `path`, in the place of the good file that is there, and says what it is;
    in the end the good file is there again."""
    good = path.read_bytes()
    for name, content in contents(good):
        path.write_bytes(content)
        yield name
    path.write_bytes(good)


def repack(good: bytes, other: bytes) -> bytes:
    """What says of which piece a file is, with the arrays of another."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made, zipfile.ZipFile(io.BytesIO(other)) as arrays:
        made.writestr(ABOUT, zipfile.ZipFile(io.BytesIO(good)).read(ABOUT))
        for name in arrays.namelist():
            made.writestr(name, arrays.read(name))
    return file.getvalue()
