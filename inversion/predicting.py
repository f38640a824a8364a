"""Predictions of a function for draws of the parameters, in threads."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from difsim.wide import accelerators, has_many_rows

from .batches import MapRows
from .progress import Bar, Progress
from .threads import RowProgram


def predictions(
    dtype: Any, function: Callable[[dict[str, Array]], Any], rows: dict[str, np.ndarray], progress: Progress
) -> Any:
    """Predictions in as many threads as there are cores, and many of them side by side on a GPU.

    **Arguments:** `dtype` of the parameters; `function`: dict of parameters -> pytree of arrays, traceable (it is
    compiled once); `rows`: parameter -> values [count, ...]; `progress`: as of `fit`. **Returns:** the pytree with a
    leading axis [count], as numpy.
    """
    count = len(next(iter(rows.values())))
    if accelerators() and has_many_rows(count):
        return MapRows(function)({k: jnp.asarray(v, dtype) for k, v in rows.items()})
    with Bar("predictions", count, progress) as bar:
        return RowProgram(function).map(rows={k: np.asarray(v, dtype) for k, v in rows.items()}, bar=bar)
