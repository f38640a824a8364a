"""The number of rows of a batch that are computed side by side, by the device that computes them."""

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import Jaxpr

from difsim.wide import Device

SHARE = 0.5  # of a device's memory: the compiler needs some too
MEMORY = 8 * 2**30  # bytes of a device that does not say how many it has


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
