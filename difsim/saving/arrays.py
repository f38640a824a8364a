"""Arrays in one file, with a header of plain data; reading a file executes nothing.

    difsim arrays 1                                     the format and its version, a line
    {"kind": ..., "mark": ..., "arrays": [...]}         JSON, a line; of each array name, dtype, shape, weak
    ...                                                 the arrays in this order, little-endian, in C order
    ...                                                 SHA-256 of all that precedes, 32 bytes

`kind` names the type of the file, and `mark` is the hash of its inputs. The caller gives the structure of what is
read, never the file. All sizes are compared with that of the file before memory is allocated.
"""

import hashlib
import json
import math
import os
import stat
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from difsim.saving.atomic import atomically

MAGIC, VERSION = b"difsim arrays ", b"1"
SUM = 32  # bytes of the checksum
HEADER = 2**20  # bytes of a header at most
LARGEST = 2**31  # bytes of a table at most, and of arrays that may have grown
GROWN = 1000, 10  # largest growth relative to the template, for sizes below LARGEST and above it
DTYPES = {
    np.dtype(kind).newbyteorder("<").str: np.dtype(kind)
    for kind in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
}
REMEDY = "remove it, and what it held is computed again"


class _Entry(NamedTuple):
    """One array in the header; `weak` marks JAX's weakly typed numbers."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    weak: bool

    @property
    def size(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)


def write_table(path: str | PathLike, kind: str, mark: str, table: Mapping[str, Any]) -> None:
    """Write arrays by name, as a complete file or not at all.

    **Arguments:** `path`; `kind`, type of the file; `mark`, hash of its inputs; `table`, arrays of numbers by
    name.
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

    checksum = hashlib.sha256()
    with atomically(Path(path)) as beside, beside.open("wb") as file:
        for part in (head, *(array.reshape(-1).view(np.uint8).data for array in arrays)):
            checksum.update(part)
            file.write(part)
        file.write(checksum.digest())


def read_table(
    path: str | PathLike, kind: str, mark: str | None, names: tuple[str, ...] | None = None
) -> tuple[str, dict[str, np.ndarray]]:
    """The mark and the arrays that `write_table` wrote.

    **Arguments:** `path`; `kind` that the file must have; `mark` that it must have (None: any); `names`, all that
    it must contain (None: any).
    **Returns:** the mark, and the arrays by name.
    **Raises:** ValueError for anything else at `path`; FileNotFoundError.
    """
    mark, found = _read(path, kind, mark, _named(names), REMEDY)
    return mark, {name: array for name, (array, _) in found.items()}


def write_arrays(path: str | PathLike, kind: str, mark: str, tree: Any) -> None:
    """Write the arrays of a pytree, as a complete file or not at all.

    **Arguments:** `tree`, the pytree; the others as `write_table`. **Raises:** ValueError for arrays not of
    numbers.
    """
    _write(path, kind, mark, {str(i): leaf for i, leaf in enumerate(jax.tree.leaves(tree))})


def read_arrays(
    path: str | PathLike, kind: str, mark: str, like: Any, grown: bool = False, remedy: str = REMEDY
) -> Any:
    """Read what `write_arrays` wrote, in the structure of `like`.

    **Arguments:** `like`, a pytree of NumPy or JAX arrays, whose kind is kept, or of `jax.ShapeDtypeStruct`;
    `grown`, true if arrays may be longer or shorter than those of `like` along one axis, as re-allocated neighbour
    lists are; `remedy`, the advice at the end of an error message; the others as `read_table`.
    **Returns:** the pytree. **Raises:** ValueError as `read_table`, and for another number, dtype or shape of
    arrays.
    """
    paths, structure = jax.tree_util.tree_flatten_with_path(like)
    _, found = _read(path, kind, mark, _fitting(paths, grown), remedy)
    leaves = [
        array if isinstance(leaf, np.ndarray | np.generic) else _jax(array, weak)
        for (_, leaf), (array, weak) in zip(paths, found.values(), strict=True)
    ]
    return structure.unflatten(leaves)


def _jax(array: np.ndarray, weak: bool) -> jax.Array:
    """The array as a JAX array, weakly typed if it was so; otherwise a resumed run would have other types."""
    if weak and jnp.full((), array.dtype.type().item()).dtype == array.dtype:
        return jnp.full(array.shape, array.dtype.type().item()).at[...].set(array)
    return jnp.asarray(array)


def _named(names: tuple[str, ...] | None) -> Callable[[list[_Entry]], str | None]:
    """A function that says what is wrong with the entries of a file, which must have these names."""

    def wrong(entries: list[_Entry]) -> str | None:
        found = [entry.name for entry in entries]
        if names is not None and sorted(found) != sorted(names):
            return f"the arrays {sorted(found)}, where {sorted(names)} are expected"
        if sum(entry.size for entry in entries) > LARGEST:
            return f"more than {LARGEST} bytes"
        return None

    return wrong


def _fitting(paths: list, grown: bool) -> Callable[[list[_Entry]], str | None]:
    """A function that says what is wrong with the entries of a file, which must fit the leaves of a pytree."""

    def wrong(entries: list[_Entry]) -> str | None:
        if [entry.name for entry in entries] != [str(i) for i in range(len(paths))]:
            return f"{len(entries)} arrays, where {len(paths)} are expected"
        expected = 0
        for (path, leaf), entry in zip(paths, entries, strict=True):
            shape, dtype = tuple(leaf.shape), np.dtype(leaf.dtype)
            expected += dtype.itemsize * max(1, math.prod(shape))
            other = sum(a != b for a, b in zip(shape, entry.shape, strict=False))
            if len(shape) != len(entry.shape) or dtype != entry.dtype or other > int(grown):
                name = jax.tree_util.keystr(path) or "an array"
                return (
                    f"{name} of shape {list(entry.shape)} and {entry.dtype}, where {list(shape)} and {dtype} are "
                    "expected"
                )
        if grown and sum(entry.size for entry in entries) > max(
            min(GROWN[0] * expected, LARGEST), GROWN[1] * expected
        ):
            return f"many times more than the {expected} bytes that are expected"
        return None

    return wrong


def _read(
    path: str | PathLike, kind: str, mark: str | None, wrong: Callable[[list[_Entry]], str | None], remedy: str
) -> tuple[str, dict[str, tuple[np.ndarray, bool]]]:
    """The mark, and each array by name with its weak flag; `wrong` says why entries are refused."""

    def refused(why: str) -> ValueError:
        return ValueError(f"{path} {why}: {remedy}")

    mode = os.stat(path).st_mode  # before opening the file: opening a pipe would block
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
        checksum = hashlib.sha256(first + line)
        found = {}
        for entry in entries:
            array = np.empty(entry.shape, entry.dtype)
            part = array.reshape(-1).view(np.uint8).data
            file.readinto(part)
            checksum.update(part)
            found[entry.name] = array, entry.weak
        if file.read(SUM) != checksum.digest():
            raise refused("is damaged: its checksum is not that of what it holds")
        return header["mark"], found


def _header(line: bytes) -> dict[str, Any]:
    """The header of a file.

    **Raises:** ValueError, KeyError, TypeError or RecursionError for a line that is no header.
    """
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
        # An empty array may be long along other axes, but NumPy does not allow any length.
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
