"""Batches: many simulations in one compiled call, on all devices."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Jaxpr
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Int

from difsim.checks import explain_errors, integer, require_function
from difsim.typing import describe
from difsim.wide import Device, devices_of, has_many_rows, put_on

from .executors import Sent, results_as_completed
from .progress import Bar
from .threads import RowProgram

CHUNK = 64  # rows that an executor is given at once
SHARE = 0.5  # of a device's memory: the compiler needs some too
MEMORY = 8 * 2**30  # bytes of a device that does not say how many it has


def map_batched(
    fn: Callable[[Any], Any], xs: Any, batch_size: int | None = None, executor: Executor | None = None
) -> Any:
    """The function of each row of xs; the rows are shared by the devices of this process.

    A CPU computes one row after the other: a vmapped adaptive solve takes as many steps as its slowest member, and its
    members share one step control. An accelerator vmaps as many rows as its memory holds (`inversion.batches`), and is
    taken from a thousand rows a core on (`difsim.wide`). To use the cores of a CPU as devices, call `difsim.configure`
    first. Nothing is raised for a run that failed: return its status too, and print
    `Status.summary(found["status"])`.

    **Arguments:** `fn`: pytree -> pytree, traceable; `xs`: pytree of arrays [rows, ...]; `batch_size`: rows to
    vmap together on any device; `executor`: computes the rows in place of this process, 64 at a time
    (`inversion.executors`); the rows are numbers then, and `fn` can be pickled.
    **Returns:** pytree of arrays [rows, ...].
    **Raises:** ValueError when the arrays have different numbers of rows, or none.
    """
    require_function("map_batched: fn", fn)
    xs = jax.tree.map(lambda leaf: numeric_rows("map_batched: xs", leaf), xs)
    if batch_size is not None:
        batch_size = integer("map_batched: batch_size", batch_size)
    rows = {leaf.shape[0] for leaf in jax.tree.leaves(xs)}
    if len(rows) != 1 or 0 in rows:
        raise ValueError(f"map_batched: arrays of {sorted(rows)} rows: all need the same number, at least one")
    if executor is not None:
        return _map_by(executor, fn, xs, batch_size, *rows)
    devices = devices_of(xs, has_many_rows(*rows))
    return _map_on(devices, explain_errors("map_batched: fn", fn), put_on(xs, devices), batch_size)


def _map_by(executor: Executor, fn: Callable, xs: Any, batch_size: int | None, count: int) -> Any:
    compute, xs = MapRows(fn, batch_size), jax.tree.map(np.asarray, xs)
    parts = [jax.tree.map(lambda leaf, rows=rows: leaf[rows], xs) for rows in chunks(count, CHUNK)]
    executor.submit(compute.compile, parts[0]).result()
    sent = Sent(compute)
    found = dict(results_as_completed(executor, {i: partial(sent, part) for i, part in enumerate(parts)}))
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[:count], *(found[i] for i in range(len(parts))))


def chunks(count: int, size: int) -> list[Int[np.ndarray, " size"]]:
    """Split rows into chunks of one size. The last one is filled up with the last row: one shape, one compilation.

    **Arguments:** `count` of rows; `size` of a chunk. **Returns:** the numbers of the rows of each chunk.
    """
    return [np.minimum(np.arange(i, i + min(size, count)), count - 1) for i in range(0, count, size)]


def _map_on(devices: Any, fn: Callable, xs: Any, batch_size: int | None) -> Any:
    count = jax.tree.leaves(xs)[0].shape[0]
    devices = np.array(devices)[:count]
    share = -(-count // devices.size)
    if batch_size is None:
        row = jax.eval_shape(lambda xs: jax.tree.map(lambda leaf: leaf[0], xs), xs)
        batch_size = rows_at_once(fn, row, share, devices[0].platform, memory_of(devices[0]))
    # Whole batches only: repeat the last row, a valid input, and drop its results. A last batch of another size would
    # be compiled as well.
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


def numeric_rows(name: str, leaf: Any) -> Array | np.ndarray:
    """Require an array of numbers with a leading axis. Keys of `jax.random` pass.

    **Arguments:** `name` of what is checked; `leaf`. **Returns:** the array.
    """
    if not isinstance(leaf, jax.Array | np.ndarray):
        raise ValueError(f"{name}: got {describe(leaf)}: give arrays [rows, ...], such as jnp.array of a list")
    if leaf.ndim == 0 or (isinstance(leaf, np.ndarray) and leaf.dtype.kind not in "biuf"):
        raise ValueError(f"{name}: got {describe(leaf)}: give arrays of numbers [rows, ...]")
    return leaf


_map_compiled = eqx.filter_jit(_map_on)
_in_threads = RowProgram(lambda fn, row: fn(row))


@dataclass(frozen=True)
class MapRows:
    """Compute a function of each row of arrays that have values, as numpy. Equal functions share a program.

    A CPU computes rows in threads, whose number changes no bit of the results. An accelerator, and a CPU with a
    `batch_size`, does what `map_batched` does.

    **Arguments:** `fn`, `batch_size`: as of `map_batched`.
    """

    fn: Callable[[Any], Any]
    batch_size: int | None = None

    def __call__(self, xs: Any, bar: Bar | None = None) -> Any:
        devices = self._devices(xs)
        if self._is_one_by_one(devices):
            return _in_threads.map(self.fn, rows=xs, bar=bar)
        return jax.tree.map(np.asarray, _map_compiled(devices, self.fn, put_on(xs, devices), self.batch_size))

    def compile(self, xs: Any) -> None:
        """Compile the program, which other processes of this machine then read from the cache."""
        devices = self._devices(xs)
        if self._is_one_by_one(devices):
            _in_threads.compile(self.fn, row=jax.tree.map(lambda leaf: leaf[0], xs))
        else:
            _map_compiled.lower(devices, self.fn, put_on(xs, devices), self.batch_size).compile()

    def _devices(self, xs: Any) -> tuple[Device, ...]:
        return devices_of(xs, has_many_rows(len(jax.tree.leaves(xs)[0])))

    def _is_one_by_one(self, devices: tuple[Device, ...]) -> bool:
        return self.batch_size is None and devices[0].platform == "cpu"


def rows_at_once(fn: Callable[[Any], Any], row: Any, rows: int, platform: str, memory: int) -> int | None:
    """The number of rows to vmap together; None: one row after the other.

    A core of a CPU computes one row as fast as its share of many, and a vmapped solve takes the steps of its slowest
    member. An accelerator starts a kernel in the time of thousands of rows: it takes as many as its memory holds, in
    batches of equal size.

    **Arguments:** `fn`, the function of one row; `row`, as arrays or their shapes; `rows` on one device; `platform`
    and `memory`, bytes, of the device. **Returns:** the number.
    """
    if platform == "cpu":
        return None
    most = max(1, int(SHARE * memory / value_bytes(jax.make_jaxpr(fn)(row).jaxpr)))
    batches = -(-rows // most)
    return -(-rows // batches)


def memory_of(device: Device) -> int:
    """The memory of a device, bytes."""
    return (device.memory_stats() or {}).get("bytes_limit", MEMORY)


def value_bytes(program: Jaxpr) -> int:
    """The bytes of all values that a program makes, each once: it never holds more, since it reuses their memory."""
    total = sum(map(_bytes, program.invars))
    for equation in program.eqns:
        total += sum(map(_bytes, equation.outvars))
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_program):
            if _is_program(inner):
                total += value_bytes(getattr(inner, "jaxpr", inner))
    return total


def _bytes(variable: Any) -> int:
    return variable.aval.size * variable.aval.dtype.itemsize


def _is_program(x: Any) -> bool:
    return hasattr(x, "eqns")
