"""CPU time of a call, and the rows that a benchmark gives."""

import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np


def cpu_seconds(call: Callable[[], Any], runs: int) -> tuple[Any, float]:
    """The result of `call()`, and the median CPU seconds of `runs` calls after a first: all threads together."""

    def time_once():
        result = call()
        jax.block_until_ready(eqx.filter(result, eqx.is_array))
        return result

    result, times = time_once(), []
    for _ in range(runs):
        started = time.process_time()
        time_once()
        times.append(time.process_time() - started)
    return result, float(np.median(times))


def row(work: str, ours: float, unit: str, peer: float = np.nan) -> dict[str, Any]:
    """A row, with the ratio peer/ours where there is a peer: a time's is how many times faster ours is."""
    ratio = peer / ours if ours else np.nan
    return {"work": work, "ours": float(ours), "peer": float(peer), "ratio": float(ratio), "unit": unit}


def to_float32(tree: Any) -> Any:
    """The same Module or state in single precision."""
    return jax.tree.map(lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, tree)


def to_float32_except(places: Callable[[Any], Any], tree: Any) -> Any:
    """The same in single precision, but for what `places(tree)` gives."""
    return eqx.tree_at(places, to_float32(tree), places(tree))
