"""The programs of a least-squares problem, compiled side by side, and searches that share them in threads.

A compiled program leaves Python's lock while it runs: threads keep all cores of a CPU busy, each with the search
that is next, and no search waits for a slower one.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.session import compile_sooner
from difsim.status import Status

from .marquardt import (
    Search,
    Slopes,
    Step,
    Stops,
    accept_or_reject,
    evaluate,
    evaluate_and_linearise,
    propose,
    start_search,
)
from .problem import Evaluation, Problem
from .progress import Bar
from .threads import RowProgram, map_in_threads

Point = Float[Array | np.ndarray, " n"]

_simulate = RowProgram(evaluate)
_try = compile_sooner(evaluate_and_linearise)
_start = compile_sooner(start_search)
_propose = compile_sooner(propose)
_judge = compile_sooner(accept_or_reject)


# A simulation of few unknowns and little work is linearised at every point: a second program, for values alone, would
# take seconds to compile and save milliseconds. The work is that of one step (XLA counts each loop once): a body in
# closed fields needs some 1e4 operations, a body on a mesh or a bed of grains 1e6 and more.
FEW, LIGHT = 3, 1e5


class Programs:
    """A problem's simulation and its sensitivities as compiled programs, called with one point x [n] at a time.

    Programs are shared: those of another problem of the same structure (other data, bounds, or values held) are
    the same. **Arguments:** `problem`.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self.is_light = False
        self.statuses: list[int] = []  # of all simulations; threads append to it

    def compile(self, stops: Stops, *further: Callable[[], Any]) -> list[Any]:
        """Compile them and the steps of a search, side by side. Without it each is compiled where it is first called.

        A light problem gets one program, which computes the sensitivities with every simulation.

        **Arguments:** `stops` of the search; `further`, functions without arguments, whose smaller programs are
        compiled meanwhile. **Returns:** the results of these.
        """
        x = jnp.zeros_like(self.problem.held)
        both = _try.lower(self.problem, x)
        self.is_light = x.size <= FEW and _is_light(self.problem, both)
        jobs = [both.compile, lambda: self._rehearse(x, stops), *further]
        if not self.is_light:
            jobs.append(lambda: _simulate.compile(self.problem, row=x))
        return map_in_threads(lambda job: job(), jobs)[2 : 2 + len(further)]

    def _rehearse(self, x: Any, stops: Stops) -> None:
        """A step of a search without its simulation."""
        search = _start(self.problem.rows, x, stops)
        status = jnp.asarray(int(Status.FAILED), jnp.int32)  # of the type that simulations have
        failed = Evaluation(search.residual, search.misfit, search.misfit, status, {})
        _judge(search, _propose(search, self.problem.free_mask), failed, search.slopes, stops)

    def simulate(self, x: Point) -> Evaluation:
        return self._count(_try(self.problem, x)[0] if self.is_light else _simulate(self.problem, row=x))

    def simulate_rows(self, x: Float[Array | np.ndarray, "rows n"], bar: Bar | None = None) -> Evaluation:
        """Many simulations, in as many threads as there are cores.

        **Arguments:** `x`; `bar`, which counts them. **Returns:** their evaluations, arrays with a leading axis [rows].
        """
        if self.is_light:
            return jax.tree.map(lambda *leaves: np.stack(leaves), *map_in_threads(self.simulate, x, bar))
        return self._count(_simulate.map(self.problem, rows=x, bar=bar))

    def linearise(self, x: Point) -> Slopes:
        return _try(self.problem, x)[1]

    def evaluate_and_linearise(self, x: Point) -> tuple[Evaluation, Slopes]:
        found, slopes = _try(self.problem, x)
        return self._count(found), slopes

    def _count(self, found: Evaluation) -> Evaluation:
        self.statuses += np.ravel(found.status).tolist()
        return found

    def search(self, x: Point, stops: Stops, begins: Callable[[Search], None] | None = None) -> Search:
        """The minimum of |r(x)|^2 by the steps of `marquardt`, from a start.

        **Arguments:** `x` [n], the start; a NaN one costs nothing and ends as FAILED; `stops`; `begins`, which is
        called with the search that has simulated its start, if that is valid. **Returns:** Search.
        """
        # Numbers are compared on the host: each operation between arrays would be a program of its own to compile.
        search = _start(self.problem.rows, jnp.asarray(x), stops)
        while int(search.status) == Status.RUNNING:
            step: Step = _propose(search, self.problem.free_mask)
            trial, slopes = self.evaluate_and_linearise(step.x) if self.is_light else (self.simulate(step.x), None)
            if not float(trial.misfit) < float(search.misfit):
                slopes = search.slopes
            elif slopes is None:
                slopes = self.linearise(step.x)
            search = _judge(search, step, replace(trial, predictions={}), slopes, stops)
            if begins is not None and int(search.iteration) == 1 and np.isfinite(float(search.misfit)):
                begins(search)
        return search


_LIGHT: dict[Any, bool] = {}  # by the structure of a problem: to count takes longer than most later fits


def _is_light(problem: Problem, lowered: Any) -> bool:
    leaves, structure = jax.tree.flatten(problem)
    key = structure, tuple((x.shape, x.dtype) if hasattr(x, "dtype") else x for x in leaves)
    if key not in _LIGHT:
        _LIGHT[key] = _operations(lowered) <= LIGHT
    return _LIGHT[key]


def _operations(lowered: Any) -> float:
    """The floating-point operations of one pass through a program; infinite where XLA does not count them."""
    return (lowered.lowered.cost_analysis() or {}).get("flops", float("inf"))
