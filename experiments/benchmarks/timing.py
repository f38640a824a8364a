"""CPU time of a call."""

import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
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
