"""Batches: many simulations in one compiled call, on all devices; stores that survive a killed process."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array

from difsim.checks import CallError, instance, integer, require_function, traceable
from difsim.saving.arrays import read_table, write_table
from difsim.saving.marks import digest
from difsim.status import Status
from difsim.typing import came
from difsim.wide import accelerators, devices_of, has_many_rows, put_on

from .batches import memory_of, rows_at_once
from .progress import Bar
from .shares import Share, share_out

Piece = dict[str, np.ndarray]  # arrays by name
CHUNK, WIDE_CHUNK = 64, 8192  # cases per call, on a CPU and on a GPU


def map_batched(fn: Callable[[Any], Any], xs: Any, batch_size: int | None = None) -> Any:
    """The function of each row of xs; the rows are shared by the devices of this process.

    A CPU computes one row after the other: a vmapped adaptive solve takes as many steps as its slowest member, and its
    members share one step control. An accelerator vmaps as many rows as its memory holds (`inversion.batches`), and is
    taken from a hundred rows a core on (`difsim.wide`). To use the cores of a CPU as devices, call `difsim.configure`
    first. Nothing is raised for a run that failed: return its status too, and print
    `Status.summary(found["status"])`.

    **Arguments:** `fn`: pytree -> pytree, traceable; `xs`: pytree of arrays [rows, ...]; `batch_size`: rows to
    vmap together on any device. **Returns:** pytree of arrays [rows, ...].
    **Raises:** ValueError when the arrays have different numbers of rows, or none.
    """
    fn = traceable("map_batched: fn", fn)
    xs = jax.tree.map(lambda leaf: _rows("map_batched: xs", leaf), xs)
    if batch_size is not None:
        batch_size = integer("map_batched: batch_size", batch_size)
    rows = {leaf.shape[0] for leaf in jax.tree.leaves(xs)}
    if len(rows) != 1 or 0 in rows:
        raise ValueError(f"map_batched: arrays of {sorted(rows)} rows: all need the same number, at least one")
    devices = devices_of(xs, has_many_rows(*rows))
    return _map_on(devices, fn, put_on(xs, devices), batch_size)


def _map_on(devices: tuple[jax.Device, ...], fn: Callable, xs: Any, batch_size: int | None) -> Any:
    count = jax.tree.leaves(xs)[0].shape[0]
    devices = np.array(devices)[:count]
    share = -(-count // devices.size)
    if batch_size is None:
        row = jax.eval_shape(lambda xs: jax.tree.map(lambda leaf: leaf[0], xs), xs)
        batch_size = rows_at_once(fn, row, share, devices[0].platform, memory_of(devices[0]))
    # Whole batches only: repeat the last row, a valid input, and drop its results. A last batch of another size would
    # be compiled beside the others.
    size = min(batch_size or 1, share)
    padding = -count % (size * devices.size)

    def pad(leaf):
        return jnp.concatenate([leaf, jnp.repeat(leaf[-1:], padding, axis=0)]) if padding else leaf

    xs = jax.tree.map(pad, xs)
    if devices.size == 1:
        mapped = jax.lax.map(fn, xs, batch_size=batch_size and size)
    else:
        # Trace here, not in shard_map, where arrays carry the mesh and constants do not: lineax compares the two and
        # raises in the search for the time of an impact.
        traced, closed = jax.closure_convert(fn, jax.tree.map(lambda leaf: leaf[0], xs))
        rowwise = PartitionSpec("rows")
        mapped = jax.shard_map(
            lambda part: jax.lax.map(lambda row: traced(row, *closed), part, batch_size=batch_size and size),
            mesh=Mesh(devices, ("rows",)),
            in_specs=rowwise,
            out_specs=rowwise,
            check_vma=False,  # loops inside fn start from constants, which are not marked as varying by row
        )(xs)
    return jax.tree.map(lambda leaf: leaf[:count], mapped)


def _rows(name: str, leaf: Any) -> Array | np.ndarray:
    """An array with a leading axis. Keys of `jax.random` pass."""
    if not isinstance(leaf, jax.Array | np.ndarray):
        raise ValueError(f"{name}: got {came(leaf)}: give arrays [rows, ...], such as jnp.array of a list")
    if leaf.ndim == 0 or (isinstance(leaf, np.ndarray) and leaf.dtype.kind not in "biuf"):
        raise ValueError(f"{name}: got {came(leaf)}: give arrays of numbers [rows, ...]")
    return leaf


_map_compiled = eqx.filter_jit(_map_on)


def map_compiled(fn: Callable[[Any], Any], xs: Any, batch_size: int | None = None) -> Any:
    """`map_batched` of arrays that have values, as one program, which equal functions share.

    **Arguments:** as of `map_batched`. **Returns:** pytree of arrays [rows, ...].
    """
    devices = devices_of(xs, has_many_rows(len(jax.tree.leaves(xs)[0])))
    return _map_compiled(devices, fn, put_on(xs, devices), batch_size)


def _column(name: str, given: Any) -> np.ndarray:
    """The values of one input of all cases."""
    try:
        return np.asarray(_rows(name, np.asarray(given)))
    except ValueError:
        raise ValueError(f"{name}: got {came(given)}: give an array of numbers [cases, ...]") from None


class _Case(eqx.Module):
    """The function of a sweep, whose result is checked to be a dict; equal for equal functions, as jit wants it."""

    function: Callable = eqx.field(converter=partial(require_function, "sweep: function"))

    def __call__(self, case: dict[str, Any]) -> dict[str, Any]:
        out = traceable("sweep: function", self.function)(case)
        if not isinstance(out, Mapping):
            raise CallError(f"sweep: function returned {came(out)}: return a dict of name -> array")
        for name, value in out.items():
            if not isinstance(value, jax.Array | np.ndarray | np.generic | float | int):
                raise CallError(
                    f"sweep: function returned {came(value)} as {name!r}: return one array for each name"
                )
        return out


class Checkpoint:
    """Finished pieces of long work in a folder, so that a killed process loses only unfinished ones.

    Each piece is one file of arrays (`difsim.saving`), which is complete or absent.

    **Arguments:** `folder`; `fingerprint`: all inputs of the results (model, data, settings), as text, numbers,
    arrays, dicts, tuples, or Modules of such: each has its own subfolder, so a changed one starts afresh and
    deletes nothing. Do not use the `repr` of a Module, which does not show its numbers.
    **Raises:** ValueError for an input that has no reproducible hash, such as a function, and for a file as folder.
    """

    def __init__(self, folder: str | Path, fingerprint: Any):
        instance("Checkpoint: folder", folder, str | Path, "a path")
        self.mark = digest(fingerprint)
        self.folder = Path(folder) / self.mark[:16]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise ValueError(f"Checkpoint: folder: {folder} is a file, or in one: give a folder") from None

    def get_or(self, key: str, compute: Callable[[], Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """The arrays stored under a key, computed and stored if they are not there yet.

        **Arguments:** `key`, part of a file's name; `compute`, returns the arrays by name. **Returns:** the arrays
        by name.
        **Raises:** ValueError for a key that names no file, for a file that is damaged or of another piece, and unless
        `compute` returns a dict.
        """
        path = self._path(key)
        require_function("Checkpoint.get_or: compute", compute)
        if not path.exists():
            found = instance("Checkpoint.get_or: compute returned", compute(), Mapping, "a dict of name -> array")
            arrays = {name: np.asarray(value) for name, value in found.items()}
            write_table(path, "piece", f"{self.mark} {key}", arrays)
        return read_table(path, "piece", f"{self.mark} {key}")[1]

    def __contains__(self, key: str) -> bool:
        return self._path(key).exists()

    def _path(self, key: str) -> Path:
        instance("Checkpoint: key", key, str, "a text, which names a file")
        if not re.fullmatch(r"[\w.=,+-]+", key):
            raise ValueError(f"checkpoint key {key!r}: use letters, digits and . = , + - _ (it names a file)")
        return self.folder / f"{key}.arrays"


def stored(checkpoint: Checkpoint | None, key: str, compute: Callable[[], Piece]) -> Piece:
    """The arrays of a part of the work, from the checkpoint if there is one that has them.

    **Arguments:** `checkpoint`; `key`; `compute`, returns the arrays. **Returns:** arrays by name.
    """
    return compute() if checkpoint is None else checkpoint.get_or(key, compute)


def sweep(
    function: Callable[[dict[str, Any]], dict[str, Any]],
    cases: Mapping[str, Any],
    chunk: int | None = None,
    checkpoint: Checkpoint | None = None,
    batch_size: int | None = None,
    progress: bool = False,
    share: Share | None = None,
) -> Any:  # xarray.Dataset | None
    """The results of a function for all cases in chunks, each one compiled call on all devices of this process.

    **Arguments:** `function`: dict of one case's arrays -> dict of arrays, traceable; `cases`: name -> array
    [cases, ...]; `chunk`: cases per call, the largest loss when killed, by default 64 on a CPU and 8192 on a GPU;
    `checkpoint`: keeps finished chunks together with their cases; `batch_size`: see `map_batched`; `progress`: show
    a bar; `share`: the rank of this process and the number of processes that share the cases out among themselves
    through the checkpoint's folder, see `inversion.shares`.
    **Returns:** Dataset with dimension `case`, holding the inputs and outputs (further dimensions of an output `y`
    are `y_0`, `y_1`, ...). Where one output is the `status` of a solution, the attribute `runs` says how many runs
    failed and why. Of several processes, only the one that finishes last returns it, the others None.
    **Raises:** ValueError for cases of unequal length, chunk < 1, an output with the name of an input or of a
    dimension, a checkpoint with other outputs than `function` has, or a share without a checkpoint.
    """
    import xarray as xr

    case = _Case(function)
    instance("sweep: cases", cases, Mapping, "a dict of name -> array [cases, ...]")
    if chunk is not None:
        chunk = integer("sweep: chunk", chunk)
    if checkpoint is not None:
        instance("sweep: checkpoint", checkpoint, Checkpoint, "Checkpoint(folder, fingerprint)")
    inputs = {name: _column(f"sweep: cases[{name!r}]", x) for name, x in cases.items()}
    lengths = {name: len(value) if value.ndim else 0 for name, value in inputs.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise ValueError(f"sweep: cases have lengths {lengths}: all need the same, at least one")
    if share is not None and checkpoint is None:
        raise ValueError("sweep: processes share cases out through a folder: give a checkpoint")
    count = next(iter(lengths.values()))
    chunk = chunk or (WIDE_CHUNK if accelerators() and has_many_rows(count) else CHUNK)
    # The last chunk is filled up with its last case: one shape, one compilation.
    rows = [np.minimum(np.arange(i, i + min(chunk, count)), count - 1) for i in range(0, count, chunk)]
    parts = [{name: value[row] for name, value in inputs.items()} for row in rows]
    names = [_chunk_key(part) for part in parts]
    shown, known = Bar("sweep", len(parts), progress), set()

    def task(name, part):
        def compute():
            return map_compiled(case, part, batch_size)

        if checkpoint is None:
            result = {k: np.asarray(value) for k, value in compute().items()}
        else:
            is_stored = name in checkpoint
            result = checkpoint.get_or(name, compute)
            if is_stored:
                _check_outputs(function, part, result, checkpoint)
        shown.advance(name not in known)
        known.add(name)
        return result

    tasks = {name: partial(task, name, part) for name, part in zip(names, parts, strict=True)}
    with shown:
        if share is None:
            found = {name: task() for name, task in tasks.items()}
        else:
            found = share_out(tasks, checkpoint.__contains__, checkpoint.folder, share)
    if found is None:
        return None
    outputs = {name: np.concatenate([found[key][name] for key in names])[:count] for name in found[names[0]]}
    if clash := sorted(outputs.keys() & inputs.keys()):
        raise ValueError(f"sweep: {clash} are both inputs and outputs: rename the outputs")
    table = inputs | outputs
    dimensions = {k: [f"{k}_{i}" for i in range(v.ndim - 1)] for k, v in table.items()}
    if clash := sorted({each for names in dimensions.values() for each in names} & table.keys()):
        raise ValueError(f"sweep: {clash} are dimensions of other arrays (y_0 is the first of y): use other names")
    result = xr.Dataset({k: (("case", *dimensions[k]), v) for k, v in table.items()})
    statuses = outputs.get("status")
    if statuses is not None and statuses.ndim == 1 and statuses.dtype.kind == "i":
        result.attrs["runs"] = Status.summary(statuses)
    return result


def _check_outputs(function: Callable, part: Mapping, stored: Mapping, checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint that holds the outputs of another function."""
    row = jax.eval_shape(function, {name: value[0] for name, value in part.items()})
    rows = len(next(iter(part.values())))
    due = {name: ((rows, *np.shape(value)), np.dtype(jnp.result_type(value))) for name, value in row.items()}
    found = {name: (value.shape, value.dtype) for name, value in stored.items()}
    if found != due:
        raise ValueError(
            f"sweep: {checkpoint.folder} holds outputs {sorted(found)} of another function than this, which has "
            f"{sorted(due)}, or of other shapes: change the checkpoint's fingerprint, or remove the folder"
        )


def _chunk_key(part: Mapping[str, np.ndarray]) -> str:
    """A name from the cases themselves, so that other cases under the same fingerprint have other names."""
    return f"chunk-{digest(part)[:24]}"
