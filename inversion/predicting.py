"""Predictions of a function for draws of the parameters, in threads."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from difsim.session import compile_sooner
from difsim.wide import accelerators, has_many_rows

from .batches import MapRows
from .programs import map_in_threads
from .progress import Bar, Progress


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
    program = compile_sooner(function)
    cases = [{k: jnp.asarray(v[i], dtype) for k, v in rows.items()} for i in range(count)]
    first = jax.tree.map(np.asarray, program(cases[0]))  # compiled once, before threads ask for it
    with Bar("predictions", count - 1, progress) as bar:

        def one(case):
            found = jax.tree.map(np.asarray, program(case))
            bar.advance()
            return found

        found = [first, *map_in_threads(one, cases[1:])] if count > 1 else [first]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *found)
