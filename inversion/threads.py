"""Threads keep the cores of a CPU busy: a compiled program leaves Python's lock while it runs."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim.session import compile_sooner, count_cores

from .progress import Bar

AT_ONCE = 16  # the most rows of a call: to begin one takes 2 ms of Python, as long as many a simulation
SHARES = 4  # the fewest calls of each core, so that all end at about the same time


def map_in_threads(function: Callable[[Any], Any], rows: Iterable[Any], bar: Bar | None = None) -> list[Any]:
    """The results of a function for all rows, in their order, from as many threads as there are cores.

    **Arguments:** `function` of one row, which calls compiled programs; `rows`; `bar`, which counts them.
    **Returns:** list of results.
    """
    rows = list(rows)
    # A precision that was chosen by a context holds in the thread of that context alone.
    chosen = jax.config.values["jax_enable_x64"]

    def one(row):
        with jax.enable_x64(chosen):
            found = function(row)
        if bar is not None:
            bar.advance()
        return found

    if len(rows) == 1:
        return [one(rows[0])]
    with ThreadPoolExecutor(count_cores()) as pool:
        return list(pool.map(one, rows))


class RowProgram:
    """A function of one row, compiled as a loop over a few of them, which threads call.

    No row waits for a slower one, as those of a vmap do.

    **Arguments:** `function` of what is shared by all rows and of a row, pytrees of arrays, to a pytree of arrays;
    traceable.
    """

    def __init__(self, function: Callable):
        self._program = compile_sooner(partial(_compute_rows, function))

    def compile(self, *shared: Any, row: Any) -> None:
        """Compile it. **Arguments:** what is `shared`; a `row`, whose values do not matter."""
        self._program.lower(*shared, *_take(_lengthen(row), 0, 1)).compile()

    def __call__(self, *shared: Any, row: Any) -> Any:
        """The result of one row. **Arguments:** what is `shared`; the `row`. **Returns:** the pytree."""
        # By numpy: to index an array of JAX is a program of its own for each shape.
        found = self._program(*shared, *_take(_lengthen(row), 0, 1))
        return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[0]), found)

    def map(self, *shared: Any, rows: Any, bar: Bar | None = None) -> Any:
        """The results of many rows, from as many threads as there are cores.

        **Arguments:** what is `shared`; `rows`, a pytree of arrays [rows, ...]; `bar`, which counts them.
        **Returns:** the pytree with a leading axis [rows], as numpy.
        """
        rows = jax.tree.map(np.asarray, rows)
        count = len(jax.tree.leaves(rows)[0])
        size = max(1, min(AT_ONCE, count // (SHARES * count_cores())))

        def compute(start):
            here = min(size, count - start) if start else 1
            found = self._program(*shared, *_take(rows, start, here))
            if bar is not None:
                bar.advance(here)
            return jax.tree.map(lambda leaf: np.asarray(leaf)[:here], found)

        # One row alone first: threads that ask for a program before it is compiled would compile it each.
        found = [compute(0), *map_in_threads(compute, range(1, count, size))]
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *found)


def _compute_rows(function: Callable, *given: Any) -> Any:
    """The results of the first rows [AT_ONCE, ...], and zeros for the others."""
    *shared, rows, count = given

    def compute(i):
        return jax.tree.map(jnp.asarray, function(*shared, jax.tree.map(lambda leaf: leaf[i], rows)))

    # Traced once, for the shapes of its results and for the loop.
    compute = eqx.filter_closure_convert(compute, count)
    empty = jax.tree.map(lambda leaf: jnp.zeros((AT_ONCE, *leaf.shape), leaf.dtype), compute.out_struct)
    put = lambda i, found: jax.tree.map(lambda all, one: all.at[i].set(one), found, compute(i))  # noqa: E731
    return jax.lax.fori_loop(jnp.zeros_like(count), count, put, empty)


def _take(rows: Any, start: int, count: int) -> tuple[Any, np.ndarray]:
    """AT_ONCE rows from `start` on, where there are fewer with the last one repeated, and the number that count."""
    chosen = np.arange(start, start + AT_ONCE)
    return jax.tree.map(lambda leaf: leaf[np.minimum(chosen, len(leaf) - 1)], rows), np.asarray(count)


def _lengthen(row: Any) -> Any:
    """A row as the only one of its kind."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[None], row)
