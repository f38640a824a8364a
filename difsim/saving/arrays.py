"""Arrays in one file, with a header of plain data. Nothing that is read is executed.

    difsim arrays 1                                     the format and its version, a line
    {"kind": ..., "mark": ..., "arrays": [...]}         JSON, a line; of each array name, dtype, shape, weak
    ...                                                 the arrays in this order, little-endian, in C order
    ...                                                 SHA-256 of all that goes before, 32 bytes

`kind` says what the file is, `mark` what it was made of. The structure of what is read comes from the caller,
never from the file. All sizes are checked against the file's own before memory is taken.
"""

import hashlib
import json
import math
import os
import stat
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from difsim.saving.whole import save_whole

MAGIC, VERSION = b"difsim arrays ", b"1"
SUM = 32  # bytes of the checksum
HEADER = 2**20  # bytes of a header at the most
LARGEST = 2**31  # bytes of a table at the most, and of what may have grown
GROWN = 1000, 10  # times the template: what may have grown below LARGEST at the most, and what above
DTYPES = {
    np.dtype(kind).newbyteorder("<").str: np.dtype(kind)
    for kind in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
}
REMEDY = "remove it, and what it held is computed again"


class _Entry(NamedTuple):
    """What the header says of one array; `weak` as of JAX's weakly typed numbers."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    weak: bool

    @property
    def size(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)


def write_table(path: str | PathLike, kind: str, mark: str, table: Mapping[str, Any]) -> None:
    """Write arrays by name, whole or not at all.

    **Raises:** ValueError for arrays that are not of numbers, and for more than 2 GiB.
    """
    sizes = {name: np.asarray(value).nbytes for name, value in table.items()}
    if sum(sizes.values()) > LARGEST:
        raise ValueError(f"{path}: arrays of {sizes} bytes are more than {LARGEST}, too many for a table")
    _write(path, kind, mark, table)


def _write(path: str | PathLike, kind: str, mark: str, table: Mapping[str, Any]) -> None:
    arrays, entries = [], []
    for name, value in table.items():
        array = np.asarray(value)
        array = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
        if array.dtype.str not in DTYPES:
            raise ValueError(f"{path}: {name} is an array of {array.dtype}: give numbers")
        arrays.append(array)
        weak = bool(getattr(value, "weak_type", False))
        entries.append({"name": name, "dtype": array.dtype.str, "shape": list(array.shape), "weak": weak})
    head = b"%s%s\n%s\n" % (
        MAGIC,
        VERSION,
        json.dumps({"kind": kind, "mark": mark, "arrays": entries}, ensure_ascii=True).encode(),
    )
    if len(head) > HEADER:
        raise ValueError(f"{path}: {len(arrays)} arrays are too many for one file: keep less")

    def write(file: BinaryIO) -> None:
        said = hashlib.sha256()
        for part in (head, *(array.reshape(-1).view(np.uint8).data for array in arrays)):
            said.update(part)
            file.write(part)
        file.write(said.digest())

    save_whole(Path(path), write)


def read_table(
    path: str | PathLike, kind: str, mark: str | None, names: tuple[str, ...] | None = None, remedy: str = REMEDY
) -> tuple[str, dict[str, np.ndarray]]:
    """The mark and the arrays that `write_table` wrote.

    **Arguments:** `kind`, `mark`: what the file must be, and must be made of (None: of anything); `names`: of the
    arrays, all of them (None: any); `remedy`: the end of what an error says.
    **Raises:** ValueError for anything else at `path`, with what is wrong and the remedy; FileNotFoundError.
    """
    mark, found = _read(path, kind, mark, _named(names), remedy)
    return mark, {name: array for name, (array, _) in found.items()}


def write_arrays(path: str | PathLike, kind: str, mark: str, tree: Any) -> None:
    """Write the arrays of a pytree, whole or not at all.

    **Raises:** ValueError for arrays that are not of numbers.
    """
    _write(path, kind, mark, {str(i): leaf for i, leaf in enumerate(jax.tree.leaves(tree))})


def read_arrays(
    path: str | PathLike, kind: str, mark: str, like: Any, grown: bool = False, remedy: str = REMEDY
) -> Any:
    """Read what `write_arrays` wrote, in the structure of `like`.

    **Arguments:** `like`: a pytree of arrays, NumPy's or JAX's (as such they come back), or of
    `jax.ShapeDtypeStruct`; `grown`: whether arrays may be longer or shorter than those of `like` along one axis,
    as lists are that were given more room; the others as `read_table`.
    **Raises:** ValueError as `read_table`, also for another number of arrays, other dtypes and other shapes.
    """
    paths, structure = jax.tree_util.tree_flatten_with_path(like)
    _, found = _read(path, kind, mark, _fitting(paths, grown), remedy)
    leaves = [
        array if isinstance(leaf, np.ndarray | np.generic) else _jax(array, weak)
        for (_, leaf), (array, weak) in zip(paths, found.values(), strict=True)
    ]
    return structure.unflatten(leaves)


def _jax(array: np.ndarray, weak: bool) -> jax.Array:
    """The array as JAX's; one that was weakly typed is so again, or a run that goes on would have other types."""
    if weak and jnp.full((), array.dtype.type().item()).dtype == array.dtype:
        return jnp.full(array.shape, array.dtype.type().item()).at[...].set(array)
    return jnp.asarray(array)


def _named(names: tuple[str, ...] | None) -> Callable[[list[_Entry]], str | None]:
    """What is wrong with entries of a file, if they shall have these names."""

    def wrong(entries: list[_Entry]) -> str | None:
        found = [entry.name for entry in entries]
        if names is not None and sorted(found) != sorted(names):
            return f"the arrays {sorted(found)}, where {sorted(names)} are asked for"
        if sum(entry.size for entry in entries) > LARGEST:
            return f"more than {LARGEST} bytes"
        return None

    return wrong


def _fitting(paths: list, grown: bool) -> Callable[[list[_Entry]], str | None]:
    """What is wrong with entries of a file, if they shall have the shapes and dtypes of a pytree's leaves."""

    def wrong(entries: list[_Entry]) -> str | None:
        if [entry.name for entry in entries] != [str(i) for i in range(len(paths))]:
            return f"{len(entries)} arrays, where {len(paths)} are asked for"
        room = 0
        for (path, leaf), entry in zip(paths, entries, strict=True):
            shape, dtype = tuple(leaf.shape), np.dtype(leaf.dtype)
            room += dtype.itemsize * max(1, math.prod(shape))
            other = sum(a != b for a, b in zip(shape, entry.shape, strict=False))
            if len(shape) != len(entry.shape) or dtype != entry.dtype or other > int(grown):
                name = jax.tree_util.keystr(path) or "an array"
                return (
                    f"{name} of shape {list(entry.shape)} and {entry.dtype}, where {list(shape)} and {dtype} are "
                    "asked for"
                )
        if grown and sum(entry.size for entry in entries) > max(min(GROWN[0] * room, LARGEST), GROWN[1] * room):
            return f"many times more than the {room} bytes that are asked for"
        return None

    return wrong


def _read(
    path: str | PathLike, kind: str, mark: str | None, wrong: Callable[[list[_Entry]], str | None], remedy: str
) -> tuple[str, dict[str, tuple[np.ndarray, bool]]]:
    """The mark, arrays by name, and whether they were weakly typed; `wrong` says why entries are not what is
    asked for."""

    def refused(why: str) -> ValueError:
        return ValueError(f"{path} {why}: {remedy}")

    mode = os.stat(path).st_mode  # before it is opened: a pipe would wait for ever
    if not stat.S_ISREG(mode):
        raise refused("is a folder, not a file" if stat.S_ISDIR(mode) else "is no regular file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        first = file.readline(len(MAGIC) + 16)
        if not first.startswith(MAGIC) or not first.endswith(b"\n"):
            raise refused("is damaged, or no file of difsim's arrays (those of 0.1.0 are not read any more)")
        version = first[len(MAGIC) : -1]
        if version != VERSION:
            raise refused(f"is of version {version!r} of the format, and here is {VERSION!r}")
        line = file.readline(HEADER)
        try:
            header = _header(line)
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            raise refused("has a damaged header") from error
        if header["kind"] != kind:
            raise refused(f"is of the kind {header['kind'][:40]!r}, not {kind!r}")
        if mark is not None and header["mark"] != mark:
            raise refused(f"is of another {kind}")
        entries = header["arrays"]
        due = len(first) + len(line) + sum(entry.size for entry in entries) + SUM
        if due != size:
            raise refused(f"has {size} bytes, where its header says {due}: it is cut off or damaged")
        if (why := wrong(entries)) is not None:
            raise refused(f"holds something else than is asked for, {why}")
        said = hashlib.sha256(first + line)
        found = {}
        for entry in entries:
            array = np.empty(entry.shape, entry.dtype)
            part = array.reshape(-1).view(np.uint8).data
            file.readinto(part)
            said.update(part)
            found[entry.name] = array, entry.weak
        if file.read(SUM) != said.digest():
            raise refused("is damaged: its checksum is not that of what it holds")
        return header["mark"], found


def _header(line: bytes) -> dict[str, Any]:
    """**Raises:** ValueError, KeyError, TypeError or RecursionError for a line that is no header."""
    if not line.endswith(b"\n"):
        raise ValueError("it has no end")
    header = json.loads(line)
    if (
        not isinstance(header, dict)
        or header.keys() != {"kind", "mark", "arrays"}
        or not all(isinstance(header[k], str) for k in ("kind", "mark"))
    ):
        raise ValueError("other keys")
    entries = []
    for entry in header["arrays"]:
        shape = tuple(entry["shape"])
        # An empty array may be long along other axes, but NumPy has no room for any length.
        if len(shape) > 32 or not all(type(n) is int and 0 <= n < 2**48 for n in shape):
            raise ValueError("a shape that is none")
        if math.prod(max(1, n) for n in shape) > 2**48:
            raise ValueError("a shape that is too large")
        if not isinstance(entry["name"], str) or not isinstance(entry["weak"], bool):
            raise ValueError("an entry that is none")
        entries.append(_Entry(entry["name"], DTYPES[entry["dtype"]], shape, entry["weak"]))
    if len({entry.name for entry in entries}) != len(entries):
        raise ValueError("a name twice")
    return header | {"arrays": entries}
