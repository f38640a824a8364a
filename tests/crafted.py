"""Files that lie where a file of arrays is looked for, and are none: what chance and malice put there."""

import functools
import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

HARM = "harm"  # the environment variable that names the file which proves that something was executed


class Harmful:
    """Executed by whoever unpickles it."""

    def __reduce__(self):
        return exec, (f"import os, pathlib; pathlib.Path(os.environ[{HARM!r}]).touch()",)


def head(good: bytes, change: Callable[[dict], object]) -> bytes:
    """The file with its header changed, and all else as it was."""
    first, line, rest = good.split(b"\n", 2)
    header = json.loads(line)
    made = change(header)
    line = made if isinstance(made, bytes) else json.dumps(header).encode()
    return b"\n".join([first, line, rest])


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


def flipped(good: bytes, at: int) -> bytes:
    return good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]


def contents(good: bytes) -> Iterator[tuple[str, bytes]]:
    """What to write in the place of the `good` content, by what it is."""
    data = good.index(b"\n", good.index(b"\n") + 1) + 1
    random = np.random.default_rng(0)
    yield "empty", b""
    for share in (0.3, 0.7):
        yield f"cut off at {share}", good[: int(share * len(good))]
    yield "cut off by one", good[:-1]
    yield "cut off in the header", good[: data - 5]
    yield "longer by one", good + b"\0"
    for name, at in (("magic", 3), ("data", data), ("last number", len(good) - 33), ("checksum", len(good) - 5)):
        yield f"a bit of the {name}", flipped(good, at)
    yield "random", random.bytes(10_000)
    yield "random after the first line", good[: good.index(b"\n") + 1] + random.bytes(2**21)
    yield "a pickle", pickle.dumps(Harmful())
    yield "a pickle after the header", good[:data] + pickle.dumps(Harmful())
    yield "pickles in an npz", npz(arr_0=np.array([Harmful()], object), rested=np.array([Harmful()], object))
    yield "an npz", npz(arr_0=np.arange(3.0), rested=0)
    yield "a zip bomb", bomb()
    yield "text", b"position,velocity\n1,2\n"
    yield "another version", good.replace(b"arrays 1\n", b"arrays 2\n", 1)
    yield "a version without end", b"difsim arrays " + b"1" * 1000
    yield "no JSON", head(good, lambda h: b"{")
    yield "a list", head(good, lambda h: b"[]")
    yield "deep JSON", head(good, lambda h: b"[" * 100_000)
    yield "a long number", head(good, lambda h: b"1" * 100_000)
    yield "not UTF-8", head(good, lambda h: b"\xff\xfe")
    yield "a header without end", good[: good.index(b"\n") + 1] + b" " * 2**21
    yield "no kind", head(good, lambda h: h.pop("kind"))
    yield "another kind", head(good, lambda h: h.update(kind="tune"))
    yield "another mark", head(good, lambda h: h.update(mark="0"))
    for name, entry in (
        ("no entry", 3),
        ("an object's dtype", {"name": "0", "dtype": "|O", "shape": [1], "weak": False}),
        ("a list as dtype", {"name": "0", "dtype": ["<f8"], "shape": [1], "weak": False}),
        ("text as shape", {"name": "0", "dtype": "<f8", "shape": "12", "weak": False}),
        ("a negative shape", {"name": "0", "dtype": "<f8", "shape": [-1], "weak": False}),
        ("a huge shape", {"name": "0", "dtype": "<f8", "shape": [2**62], "weak": False}),
        ("a huge empty shape", {"name": "0", "dtype": "<f8", "shape": [0, 2**32, 2**32], "weak": False}),
        ("many axes", {"name": "0", "dtype": "<f8", "shape": [1] * 100, "weak": False}),
    ):
        yield name, head(good, lambda h, entry=entry: h.update(arrays=[entry]))
    yield "an array less", head(good, lambda h: h["arrays"].pop())
    yield "a name twice", head(good, lambda h: h.update(arrays=h["arrays"] * 2))


def planted(path: Path) -> Iterator[str]:
    """Puts one thing after the other at `path`, in the place of the good file that is there, and says what it is;
    in the end the good file is there again."""
    good = path.read_bytes()
    for name, content in contents(good):
        path.write_bytes(content)
        yield name
    # 2 GB, nearly all of it a hole: as slow to read and as large in memory as any.
    for name, content in (("2 GB of zeros", b""), ("2 GB behind random bytes", os.urandom(2**20)), ("2 GB", good)):
        path.write_bytes(content)
        os.truncate(path, 2**31)
        yield name
    path.unlink()
    path.mkdir()
    yield "a folder"
    path.rmdir()
    os.mkfifo(path)
    yield "a pipe"
    path.unlink()
    path.write_bytes(good)
