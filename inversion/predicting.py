"""Predictions of a function for draws of the parameters, in threads."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Array

from .batches import MapRows
from .progress import Bar, Progress


def predictions(
    dtype: Any, function: Callable[[dict[str, Array]], Any], rows: dict[str, np.ndarray], progress: Progress
) -> Any:
    """Predictions in as many threads as there are cores, and many of them side by side on a GPU.

    **Arguments:** `dtype` of the parameters; `function`: dict of parameters -> pytree of arrays, traceable (it is
    compiled once); `rows`: parameter -> values [count, ...]; `progress`: as of `fit`. **Returns:** the pytree with a
    leading axis [count], as numpy.
    """
    with Bar("predictions", len(next(iter(rows.values()))), progress) as bar:
        return MapRows(function)({k: np.asarray(v, dtype) for k, v in rows.items()}, bar)
