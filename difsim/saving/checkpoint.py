"""Finished pieces of long work in files, so that a killed process loses only the unfinished ones."""

import json
import re
import zipfile
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from difsim.checks import require_function
from difsim.saving.atomic import write_atomically
from difsim.saving.marks import PLAIN, digest

ABOUT = "about.json"  # in each file, with its arrays: what it is a piece of
REMEDY = "remove it, and what it held is computed again"


class Checkpoint:
    """A folder of arrays, which are computed once for the same inputs.

    Each piece is one file, whole or absent: NumPy's .npz, uncompressed, with the hash of the inputs. Reading it
    executes nothing.

    **Arguments:** `folder`; `fingerprint`: all inputs of the results (model, data, settings), as text, numbers,
    arrays, dicts, tuples, or Modules of such: each has its own subfolder, so a changed one starts afresh and
    deletes nothing. Do not use the `repr` of a Module, which does not show its numbers.
    **Raises:** ValueError for an input that has no reproducible hash, such as a function, and for a file as folder.
    """

    def __init__(self, folder: str | PathLike, fingerprint: Any):
        whole = Path(folder)
        self.mark = digest(fingerprint)
        self.folder = whole / self.mark[:16]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise ValueError(f"Checkpoint: folder: {folder} is a file, or in one: give a folder") from None

    def get_or(self, key: str, compute: Callable[[], Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """The arrays stored under a key, computed and stored if they are not there yet.

        **Arguments:** `key`, part of a file's name; `compute`, returns the arrays by name. **Returns:** the arrays
        by name.
        **Raises:** ValueError for a key that names no file, for a file that is damaged or of another piece, and unless
        `compute` returns a dict of numbers.
        """
        require_function("Checkpoint.get_or: compute", compute)
        if key not in self:
            found = compute()
            self.write(key, found)
        return self.read(key)

    def __contains__(self, key: str) -> bool:
        return self.path(key).exists()

    def path(self, key: str) -> Path:
        """The file of a piece. **Arguments:** `key`. **Raises:** ValueError for a key that names no file."""
        if not re.fullmatch(r"[\w.=,+-]+", key):
            raise ValueError(f"checkpoint key {key!r}: use letters, digits and . = , + - _ (it names a file)")
        return self.folder / f"{key}.arrays"

    def write(self, key: str, arrays: Mapping[str, Any]) -> None:
        """Store arrays under a key, in the place of those that are there.

        **Arguments:** `key`; `arrays` of numbers by name. **Raises:** ValueError for what is no number.
        """
        table = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        if others := {name: str(array.dtype) for name, array in table.items() if array.dtype.kind not in PLAIN}:
            raise ValueError(f"{self.path(key)}: {others} are no numbers: give numbers")
        with write_atomically(self.path(key)) as beside, zipfile.ZipFile(beside, "w") as file:
            file.writestr(ABOUT, json.dumps({"key": key, "mark": self.mark}))
            for name, array in table.items():
                with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)

    def read(self, key: str) -> dict[str, np.ndarray]:
        """The arrays stored under a key.

        **Arguments:** `key`. **Returns:** the arrays by name. **Raises:** ValueError for a file that is missing,
        damaged or of another piece.
        """
        path, mine = self.path(key), {"key": key, "mark": self.mark}
        if not path.is_file():  # opening a pipe would block
            raise ValueError(f"{path} is missing, or no regular file: remove {self.folder}")
        try:
            with zipfile.ZipFile(path) as file:
                if any(entry.compress_type != zipfile.ZIP_STORED for entry in file.infolist()):
                    raise ValueError("it is compressed")  # a few bytes may become any number
                is_mine = json.loads(file.read(ABOUT)) == mine
                names = [name for name in file.namelist() if name != ABOUT] if is_mine else []
                found = {name.removesuffix(".npy"): _read(file, name) for name in names}
        except Exception as error:  # what chance and malice leave there fails in many ways
            raise ValueError(f"{path} is damaged, or of another version of difsim ({error}): {REMEDY}") from error
        if not is_mine:
            raise ValueError(f"{path} is of another run: {REMEDY}")
        return found

    def write_tree(self, key: str, tree: Any) -> None:
        """Store the arrays of a pytree. **Arguments:** `key`; `tree`. **Raises:** ValueError for what is no number."""
        self.write(key, {str(i): leaf for i, leaf in enumerate(jax.tree.leaves(tree))})

    def read_tree(self, key: str, like: Any, grown: bool = False) -> Any:
        """The arrays that `write_tree` stored.

        **Arguments:** `key`; `like`, a pytree of NumPy or JAX arrays, or `jax.ShapeDtypeStruct`, whose structure, kinds
        and weak types are those of the result; `grown`, true if arrays may have another length along one axis, as
        neighbour lists have that were enlarged. **Returns:** the pytree.
        **Raises:** ValueError as `read`, and for another number, dtype or shape of arrays.
        """
        found, (leaves, structure) = self.read(key), jax.tree.flatten(like)
        arrays = [found[name] for name in sorted(found, key=int)]
        pairs = zip(arrays, leaves, strict=False)
        if len(arrays) != len(leaves) or not all(_fits(array, leaf, grown) for array, leaf in pairs):
            raise ValueError(f"{self.path(key)} holds other arrays than are asked for: {REMEDY}")
        return structure.unflatten([_as(leaf, array) for leaf, array in zip(leaves, arrays, strict=True)])


def _read(file: zipfile.ZipFile, name: str) -> np.ndarray:
    with file.open(name) as entry:
        array = np.lib.format.read_array(entry, allow_pickle=False)
        if entry.read():  # at the end the checksum is compared
            raise ValueError(f"{name} is longer than its array")
    return array


def _fits(array: np.ndarray, leaf: Any, grown: bool) -> bool:
    other = sum(a != b for a, b in zip(array.shape, leaf.shape, strict=False))
    return array.dtype == leaf.dtype and array.ndim == len(leaf.shape) and other <= int(grown)


def _as(leaf: Any, array: np.ndarray) -> Any:
    """The array in the kind of a leaf, weakly typed as that: otherwise a resumed run would have other types."""
    if isinstance(leaf, np.ndarray | np.generic):
        return array
    if getattr(leaf, "weak_type", False):
        return jnp.full(array.shape, array.dtype.type().item()).at[...].set(array)
    return jnp.asarray(array)
