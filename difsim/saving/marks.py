"""Hashes of the inputs of a result, which name its file and detect a file made from other inputs."""

import dataclasses
import enum
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

PLAIN = "biufc"  # kinds of dtypes: booleans, integers, floating and complex numbers


def digest(made_of: Any) -> str:
    """A hash of all inputs of a slow computation: numbers, arrays, text, and Modules of such.

    It covers all values, static ones too, by their place, with dtypes and shapes. Names of fields and classes do
    not count, so both may be renamed and files of earlier runs are still found. A class with an abstract base is
    identified by its attribute `tag`, which must never change, or by its name if it has none.

    **Raises:** ValueError for an input that has no reproducible hash, such as a function.
    """
    hasher = hashlib.sha256()
    for part in _parts(made_of):
        # Lengths keep neighbours apart: ("ab", "c") is not ("a", "bc").
        hasher.update(b"%d " % len(part))
        hasher.update(part)
    return hasher.hexdigest()


def _parts(x: Any) -> Iterator[bytes]:
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        values = [getattr(x, field.name) for field in dataclasses.fields(x)]
        yield f"object {_tag(type(x))} {len(values)}".encode()
        for value in values:
            yield from _parts(value)
    elif isinstance(x, Mapping):
        yield f"mapping {len(x)}".encode()
        for key in sorted(x):
            yield from _parts(key)
            yield from _parts(x[key])
    elif isinstance(x, tuple | list):
        yield f"sequence {len(x)}".encode()
        for value in x:
            yield from _parts(value)
    elif isinstance(x, enum.Enum):
        yield from _parts(x.value)
    elif x is None:
        yield b"none"
    elif isinstance(x, str):
        yield b"text"
        yield x.encode()
    elif isinstance(x, bool | int | float | complex | np.ndarray | np.generic | jax.Array):
        array = np.asarray(x)
        if array.dtype.kind not in PLAIN:
            raise ValueError(f"digest: an array of {array.dtype} has no lasting hash: give numbers")
        little = array.astype(array.dtype.newbyteorder("<"))
        yield f"array {little.dtype.str} {little.shape}".encode()
        yield little.tobytes()
    else:
        raise ValueError(
            f"digest: {x!r} is a {type(x).__name__}, which has no lasting hash: a run that is to be kept in files "
            "is made of numbers, arrays, text, and Modules of such"
        )


def _tag(kind: type) -> str:
    own = vars(kind).get("tag")
    if isinstance(own, str):
        return own
    modules = [base for base in kind.__mro__ if issubclass(base, eqx.Module)]
    return kind.__name__ if len(modules) > 2 else ""  # 2: itself and eqx.Module, without an abstract base
