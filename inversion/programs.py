"""The two programs of a least-squares problem, compiled side by side, and searches that share them in threads.

A compiled program leaves Python's lock while it runs: threads keep all cores of a CPU busy, each with the search
that is next, and no search waits for a slower one.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.session import COMPILE_SOONER
from difsim.status import Status

from .marquardt import Search, Slopes, Step, Stops, judged, linearised, proposed, simulated, started
from .problem import AbstractProblem, Evaluation

Point = Float[Array | np.ndarray, " n"]

_simulate = eqx.filter_jit(simulated, compiler_options=COMPILE_SOONER)
_linearise = eqx.filter_jit(linearised, compiler_options=COMPILE_SOONER)
_start = eqx.filter_jit(started)
_propose = eqx.filter_jit(proposed)
_judge = eqx.filter_jit(judged)


class Programs:
    """A problem's simulation and its sensitivities as compiled programs, called with one point x [n] at a time.

    Programs are shared: those of another problem of the same structure (other data, bounds, or values held) are
    the same. **Arguments:** `problem`.
    """

    def __init__(self, problem: AbstractProblem):
        self.problem = problem

    def compile(self, stops: Stops, *beside: Callable[[], Any]) -> list[Any]:
        """Compile both and the steps of a search, side by side. Without it each is compiled where it is first called.

        **Arguments:** `stops` of the search; `beside`, functions without arguments, whose smaller programs are
        compiled meanwhile. **Returns:** the results of these.
        """
        x = jnp.zeros_like(self.problem.held)
        jobs = (
            lambda: _linearise.lower(self.problem, x).compile(),
            lambda: _simulate.lower(self.problem, x).compile(),
            lambda: self._rehearse(x, stops),
            *beside,
        )
        return in_threads(lambda job: job(), jobs)[3:]

    def _rehearse(self, x: Point, stops: Stops) -> None:
        """A step of a search without its simulation."""
        search = _start(self.problem.rows, x, stops)
        failed = Evaluation(search.residual, search.misfit, search.misfit, jnp.array(False), {})
        _judge(search, _propose(search, self.problem.free_mask), failed, search.slopes, stops)

    def simulate(self, x: Point) -> Evaluation:
        return _simulate(self.problem, x)

    def linearise(self, x: Point) -> Slopes:
        return _linearise(self.problem, x)

    def search(self, x: Point, stops: Stops) -> Search:
        """The minimum of |r(x)|^2 by the steps of `marquardt`, from a start.

        **Arguments:** `x` [n], the start; a NaN one costs nothing and ends as FAILED; `stops`. **Returns:** Search.
        """
        # Numbers are compared on the host: each operation between arrays would be a program of its own to compile.
        search = _start(self.problem.rows, jnp.asarray(x), stops)
        while int(search.status) == Status.RUNNING:
            step: Step = _propose(search, self.problem.free_mask)
            trial = self.simulate(step.x)
            better = float(trial.misfit) < float(search.misfit)
            slopes = self.linearise(step.x) if better else search.slopes
            search = _judge(search, step, replace(trial, predictions={}), slopes, stops)
        return search


def in_threads(function: Callable[[Any], Any], rows: Iterable[Any]) -> list[Any]:
    """The results of a function for all rows, in their order, from as many threads as there are cores.

    **Arguments:** `function` of one row, which calls compiled programs; `rows`. **Returns:** list of results.
    """
    rows = list(rows)
    if len(rows) == 1:
        return [function(rows[0])]
    # A precision that was chosen by a context holds in the thread of that context alone.
    chosen = jax.config.jax_enable_x64

    def one(row):
        with jax.enable_x64(chosen):
            return function(row)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(one, rows))
