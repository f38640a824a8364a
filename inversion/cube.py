"""The unit cube of a prior: uniform points are draws of the prior, and the simulations of points on all cores."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import cached_property, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim.session import compile_sooner
from difsim.status import Status
from difsim.wide import accelerators, has_many_rows, put

from .executors import Sent
from .outcome import Calls
from .parameters import Discrete
from .problem import Evaluation, Problem
from .programs import Programs
from .sweeps import WIDE_CHUNK, compute_parts
from .threads import AT_ONCE


class Cube:
    """A problem as samplers see it: k numbers between 0 and 1, and the log-likelihood of the data there.

    The coordinates are the free and the undecided discrete unknowns, in order. A discrete one selects the values in
    equal shares. Simulations are those of the problem's fits, by the same compiled program. Leaves that are not `kept`
    have the likelihood zero without a simulation.

    **Arguments:** `problem`; `batch_size`: None for simulations one by one in as many threads as there are cores, and
    side by side on a GPU where they are many; a number for so many at once in one compiled call, quicker for closed
    forms and slower for adaptive solutions; `executor`: simulates in place of this process.
    **Raises:** ValueError when all unknowns are held.
    """

    def __init__(self, problem: Problem, batch_size: int | None = None, executor: Executor | None = None):
        self.problem, self.batch_size, self.executor = problem, batch_size, executor
        self.relax = problem.relax()
        self.simulate_rows = Sent(partial(_simulate_rows, self.relax))
        self.programs = Programs(self.relax)
        self.active = np.flatnonzero(np.asarray(self.relax.free_mask))
        self.kept = np.ones(tuple(self.choices.values()), bool)
        if not self.active.size:
            raise ValueError("sample: every unknown is held: nothing to draw")

    @property
    def calls(self) -> Calls:
        """The simulations so far, and those that failed."""
        statuses = np.array(self.programs.statuses, int)
        return Calls(statuses.size, 0, int(np.sum(statuses != Status.OK)))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the coordinates."""
        labels = self.problem.labels
        return tuple(labels[i] for i in self.active)

    @cached_property
    def choices(self) -> dict[int, int]:
        """The numbers of values of the coordinates that are discrete."""
        undecided = ~np.asarray(self.problem.free_mask)[self.active]
        found = {k: self.problem.component(label) for k, label in enumerate(self.labels) if undecided[k]}
        return {k: q.values.size for k, q in found.items() if isinstance(q, Discrete)}

    def choice_indices(self, u: Float[np.ndarray, "rows k"]) -> dict[int, np.ndarray]:
        """The numbers [rows] of the selected values of each discrete coordinate."""
        return {k: np.clip((u[:, k] * count).astype(int), 0, count - 1) for k, count in self.choices.items()}

    def assignment(self, leaf: Sequence[int]) -> dict[str, float]:
        """The values of the discrete unknowns, by name.

        **Arguments:** `leaf`: the number of each one's value. **Returns:** name -> value.
        """
        names = (self.labels[k] for k in self.choices)
        values = zip(names, leaf, strict=True)
        return {name: float(self.problem.parameters[name].values[i]) for name, i in values}

    def move_to_leaves(self, u: Float[np.ndarray, "rows k"], leaves: Int[np.ndarray, " rows"]) -> np.ndarray:
        """Points in other leaves.

        **Arguments:** `u`, uniform points; `leaves`: the number of the leaf of each, counted in the order of `kept`.
        **Returns:** uniform points of these leaves [rows, k].
        """
        u = u.copy()
        values = np.unravel_index(leaves, self.kept.shape)
        for (k, count), value in zip(self.choices.items(), values, strict=True):
            u[:, k] = (value + u[:, k]) / count
        return u

    def confine(self, u: Float[np.ndarray, "rows k"], rng: np.random.Generator) -> np.ndarray:
        """Draws of the prior of the kept leaves: those that are in another one are moved.

        **Arguments:** `u`, draws of the prior; `rng`. **Returns:** draws [rows, k].
        """
        if self.kept.all():
            return u
        moved = self.move_to_leaves(u, rng.choice(np.flatnonzero(self.kept), size=len(u)))
        return np.where(self._is_kept(u)[:, None], u, moved)

    def _is_kept(self, u: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.kept[tuple(self.choice_indices(u).values())], len(u))

    def at(self, values: Mapping[str, Any]) -> Float[np.ndarray, " k"]:
        """The point of physical values; a discrete one is in the middle of the share of the nearest value.

        **Arguments:** `values` by name. **Returns:** u [k]. **Raises:** ValueError for values that no prior has.
        """
        self.relax.start("sample", values)  # which refuses what no prior has, and keeps a margin from bounds
        s = np.asarray(self.relax.scale_given("sample: a guess", values))[self.active]
        unknown = map(self.problem.component, self.labels)
        u = np.clip([float(q.probability(jnp.asarray(x))) for q, x in zip(unknown, s, strict=True)], 0.0, 1.0)
        for k, count in self.choices.items():
            of = self.problem.parameters[self.labels[k]]
            nearest = np.argmin(np.abs(np.asarray(jax.vmap(of.to_prior_scale)(of.values)) - s[k]))
            u[k] = (nearest + 0.5) / count
        return u

    def physical(self, u: Float[np.ndarray, "rows k"]) -> np.ndarray:
        """The physical values [rows, n] of all unknowns."""
        return self._map(_physical, u)

    def log_likelihood(self, u: Float[np.ndarray, "rows k"]) -> np.ndarray:
        """The log-likelihood [rows] of the data, -infinity where the simulation failed or the leaf is not kept."""
        x, found, here = self._map(_unfold, u), np.full(len(u), -np.inf), self._is_kept(u)
        if here.any():
            found[here] = self._evaluations(x[here]).log_likelihood
        return found

    def simulations(self, u: Float[np.ndarray, "rows k"]) -> Evaluation:
        """The simulations at points.

        **Arguments:** `u`, points of the unit cube. **Returns:** their evaluations, arrays with a leading axis [rows].
        """
        return self._evaluations(self._map(_unfold, u))

    def _evaluations(self, x: np.ndarray) -> Evaluation:
        """The simulations of rows: one by one in threads, or side by side where that is sooner or wanted."""
        if self.executor is not None:
            parts = {str(i): partial(self.simulate_rows, x[i : i + AT_ONCE]) for i in range(0, len(x), AT_ONCE)}
            found = _join(compute_parts(parts, executor=self.executor).values())
            self.programs.statuses += found.status.tolist()
            return found
        size, on_gpu = self.batch_size, accelerators() and has_many_rows(len(x))
        if size is None and not on_gpu:
            return self.programs.simulate_rows(x)
        size = size or min(_next_size(len(x)), WIDE_CHUNK)
        # Repeat the last row to fill up the last batch: one shape, one compilation.
        rows = (x[np.minimum(np.arange(i, i + size), len(x) - 1)] for i in range(0, len(x), size))
        each = [_batch(self.relax, put(jnp.asarray(part), is_wide=self.batch_size is None)) for part in rows]
        found = jax.tree.map(lambda leaf: leaf[: len(x)], _join(each))
        self.programs.statuses += found.status.tolist()
        return found

    def log_likelihoods(self, u: Float[np.ndarray, "rows k"], predictions: Mapping[str, np.ndarray]) -> np.ndarray:
        """The log-likelihood of the data at points that were simulated before.

        **Arguments:** `u`, points of the unit cube; `predictions`: observable -> values [rows, ...] there.
        **Returns:** values [rows], -infinity where a prediction is not finite or the leaf is not kept.
        """
        found = np.asarray(_compare(self.problem, self.relax, self._fill(u), predictions))
        return np.where(np.isfinite(found) & self._is_kept(u), found, -np.inf)

    def squared_scores(self, u: Float[np.ndarray, "rows k"]) -> np.ndarray:
        """The sums [rows] of squares of the data's scores, which are unit normal for the right model."""
        x = self._map(_unfold, u)
        return np.asarray(_square_scores(self.relax, x, self._evaluations(x).predictions))

    def _map(self, program: Callable[..., Array], u: np.ndarray) -> np.ndarray:
        """The rows [rows, n] of a program at points, of which it gets some again: it is compiled for few sizes."""
        more = np.resize(u, (_next_size(len(u)), u.shape[1]))
        return np.asarray(program(self.problem, self.relax, self._fill(more)))[: len(u)]

    def _fill(self, u: np.ndarray) -> Array:
        """The points with all coordinates of the problem."""
        rows = np.full((len(u), self.problem.size), 0.5)
        rows[:, self.active] = u
        return jnp.asarray(rows, self.problem.held.dtype)


def _next_size(count: int) -> int:
    """The next power of two, from 16 on: programs are compiled for few sizes."""
    return max(16, 2 ** (count - 1).bit_length())


def _simulate_rows(problem: Problem, x: np.ndarray) -> Evaluation:
    """The simulations of a few rows, in the process of an executor."""
    return Programs(problem).simulate_rows(x)


def _join(each: Iterable[Evaluation]) -> Evaluation:
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *each)


@compile_sooner
def _physical(problem, relaxed, u):
    return jax.vmap(lambda row: relaxed.physical(problem.scale_probabilities(row)))(u)


@compile_sooner
def _unfold(problem, relaxed, u):
    # Without a margin: the simulation is that of the drawn point.
    return jax.vmap(lambda row: relaxed.unfold(problem.scale_probabilities(row), 0.0))(u)


@eqx.filter_jit
def _batch(problem, x):
    return jax.vmap(lambda row: problem.evaluate(problem.fold(row)))(x)


@eqx.filter_jit
def _square_scores(problem, x, predictions):
    return jax.vmap(lambda x, seen: jnp.sum(problem.data.scores(seen, problem.values(x)) ** 2))(x, predictions)


@eqx.filter_jit
def _compare(problem, relaxed, u, predictions):
    def one(u, predicted):
        p = relaxed.to_dict(relaxed.physical(problem.scale_probabilities(u)))
        return -0.5 * problem.data.compare(predicted, p).misfit

    return jax.vmap(one)(u, predictions)
