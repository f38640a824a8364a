"""CPU time of a call, and the rows that a benchmark gives."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np


def cpu_seconds(call: Callable[[], Any], runs: int) -> tuple[Any, float]:
    """What `call()` gives, and the median CPU seconds of `runs` calls after a first: all threads together."""

    def once():
        result = call()
        jax.block_until_ready(eqx.filter(result, eqx.is_array))
        return result

    result, times = once(), []
    for _ in range(runs):
        started = time.process_time()
        once()
        times.append(time.process_time() - started)
    return result, float(np.median(times))


def row(work: str, ours: float, unit: str, peer: float = np.nan) -> dict[str, Any]:
    """A row, with the ratio peer/ours where there is a peer: a time's is how many times faster ours is."""
    ratio = peer / ours if ours else np.nan
    return {"work": work, "ours": float(ours), "peer": float(peer), "ratio": float(ratio), "unit": unit}


def by_devices(
    work: str, call: Callable[[list[jax.Device]], Any], units: int, runs: int
) -> Iterator[dict[str, Any]]:
    """A row of the wall time of all devices of this process over that of one, taken in turn; none where it has one.

    **Arguments:** `work`, in words; `call(devices)` runs it; `units` of work in a call; `runs`, of which the medians
    are taken after a first. **Returns:** the row, whose peer is one device.
    """
    every = jax.local_devices()
    if len(every) == 1:
        return
    walls = {1: [], len(every): []}
    for _ in range(1 + runs):
        for count, taken in walls.items():
            started = time.perf_counter()
            jax.block_until_ready(eqx.filter(call(every[:count]), eqx.is_array))
            taken.append(time.perf_counter() - started)
    one, all_of_them = (1e6 * float(np.median(taken[1:])) / units for taken in walls.values())
    yield row(f"{work}, wall, {len(every)} devices against one", all_of_them, "us", one)


def in_float32(tree: Any) -> Any:
    """The same Module or state in single precision."""
    return jax.tree.map(lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, tree)


def in_float32_but(places: Callable[[Any], Any], tree: Any) -> Any:
    """The same in single precision, but for what `places(tree)` gives."""
    return eqx.tree_at(places, in_float32(tree), places(tree))
