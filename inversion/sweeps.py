"""Sweeps: the results of many independent runs, in parts that are kept when the process is killed."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim.checks import CallError, explain_errors, integer, require_function
from difsim.extras import require
from difsim.saving.checkpoint import Checkpoint
from difsim.saving.marks import digest
from difsim.status import Status
from difsim.typing import describe
from difsim.wide import accelerators, has_many_rows

from .batches import CHUNK, MapRows, chunks, numeric_rows
from .executors import Sent, results_as_completed
from .progress import Bar, Progress

Piece = dict[str, np.ndarray]  # arrays by name
WIDE_CHUNK = 8192  # cases per call on a GPU


def _column(name: str, given: Any) -> np.ndarray:
    """The values of one input of all cases."""
    try:
        return np.asarray(numeric_rows(name, np.asarray(given)))
    except ValueError:
        raise ValueError(f"{name}: got {describe(given)}: give an array of numbers [cases, ...]") from None


class _Case(eqx.Module):
    """The function of a sweep, whose result is checked to be a dict; equal for equal functions, as jit wants it."""

    function: Callable = eqx.field(converter=partial(require_function, "sweep: function"))

    def __call__(self, case: dict[str, Any]) -> Mapping[str, Any]:
        out = explain_errors("sweep: function", self.function)(case)
        if not isinstance(out, Mapping):
            raise CallError(f"sweep: function returned {describe(out)}: return a dict of name -> array")
        for name, value in out.items():
            if not isinstance(value, jax.Array | np.ndarray | np.generic | float | int):
                raise CallError(
                    f"sweep: function returned {describe(value)} as {name!r}: return one array for each name"
                )
        return out


def load_or_compute(checkpoint: Checkpoint | None, key: str, compute: Callable[[], Piece]) -> Piece:
    """The arrays of a part of the work, from the checkpoint if there is one that has them.

    **Arguments:** `checkpoint`; `key`; `compute`, returns the arrays. **Returns:** arrays by name.
    """
    return compute() if checkpoint is None else checkpoint.get_or(key, compute)


def compute_parts(
    tasks: Mapping[str, Callable[[], Any]],
    checkpoint: Checkpoint | None = None,
    executor: Executor | None = None,
    label: str = "",
    progress: Progress = True,
) -> dict[str, Any]:
    """Compute independent parts of a work: one after the other, or by an executor, which may have many processes.

    Only this process writes to the checkpoint, each part as soon as it is finished.

    **Arguments:** `tasks`: functions without arguments, by name, which the executor can pickle; with a checkpoint each
    returns a dict of arrays; `checkpoint`: keeps finished parts; `executor`; `label` of the bar, without one there
    is none; `progress`: show it, or a function to call in its place.
    **Returns:** the results by name, in the order of the tasks.
    """
    found = {} if checkpoint is None else {k: checkpoint.get_or(k, tasks[k]) for k in tasks if k in checkpoint}
    left = {name: task for name, task in tasks.items() if name not in found}
    with Bar(label, len(tasks), bool(label) and progress) as bar:
        for name, result in results_as_completed(executor, left):
            found[name] = result if checkpoint is None else checkpoint.get_or(name, lambda r=result: r)
            bar.reach(len(found))
    return {name: found[name] for name in tasks}


def sweep(
    function: Callable[[dict[str, Any]], dict[str, Any]],
    cases: Mapping[str, Any],
    chunk: int | None = None,
    checkpoint: Checkpoint | None = None,
    batch_size: int | None = None,
    progress: Progress = False,
    executor: Executor | None = None,
) -> Any:  # xarray.Dataset
    """The results of a function for all cases, in chunks: in threads on a CPU, side by side on an accelerator.

    **Arguments:** `function`: dict of one case's arrays -> dict of arrays, traceable; `cases`: name -> array
    [cases, ...]; `chunk`: cases per call, the largest loss when killed, by default 64 on a CPU and 8192 on a GPU;
    `checkpoint`: keeps finished chunks together with their cases; `batch_size`: see `map_batched`; `progress`: as of
    `fit`; `executor`: computes the chunks in place of this process (`inversion.executors`), with the same results to
    the last bit on machines of one kind; it has to be able to pickle `function`.
    **Returns:** Dataset with dimension `case`, holding the inputs and outputs (further dimensions of an output `y`
    are `y_0`, `y_1`, ...). Where one output is the `status` of a solution, the attribute `runs` says how many runs
    failed and why.
    **Raises:** ValueError for cases of unequal length, chunk < 1, an output with the name of an input or of a
    dimension, or a checkpoint with other outputs than `function` has.

    **Example:**

    ```python
    import numpy as np

    from inversion import sweep

    table = sweep(lambda case: {"range": case["speed"] ** 2 / 1e-4}, {"speed": np.linspace(0.01, 0.1, 10)})
    print(table["range"].values)
    ```
    """
    xr = require("inversion", "xarray")
    case = _Case(function)
    if chunk is not None:
        chunk = integer("sweep: chunk", chunk)
    inputs = {name: _column(f"sweep: cases[{name!r}]", x) for name, x in cases.items()}
    lengths = {name: len(value) if value.ndim else 0 for name, value in inputs.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise ValueError(f"sweep: cases have lengths {lengths}: all need the same, at least one")
    count = next(iter(lengths.values()))
    chunk = chunk or (WIDE_CHUNK if accelerators() and has_many_rows(count) else CHUNK)
    parts = [{name: value[rows] for name, value in inputs.items()} for rows in chunks(count, chunk)]
    names, compute = [_chunk_key(part) for part in parts], MapRows(case, batch_size)
    sent = Sent(compute)
    tasks = {name: partial(sent, part) for name, part in zip(names, parts, strict=True)}
    found = {}
    if checkpoint is not None:
        for name, part in zip(names, parts, strict=True):
            if name in checkpoint and name not in found:
                found[name] = checkpoint.get_or(name, tasks[name])
                _check_outputs(function, part, found[name], checkpoint)
    left = {name: task for name, task in tasks.items() if name not in found}
    if executor is not None and left:
        executor.submit(compute.compile, parts[0]).result()
    found |= compute_parts(left, checkpoint, executor, "sweep", progress)
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
