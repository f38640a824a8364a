"""Profiles of the likelihood: the misfit along one parameter, with all others fitted again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from difsim.checks import host_numbers, integer
from difsim.status import Status

from .coordinates import strip_weak_types
from .leastsq import Fit
from .marquardt import Stops
from .outcome import Calls
from .problem import Problem
from .programs import Programs, map_in_threads
from .progress import Bar

THRESHOLD = 3.84  # chi-squared of one parameter at 95 %


@dataclass(frozen=True)
class Profile:
    """The misfit along one parameter, with all others fitted again at each value.

    `grid` in the parameter's unit; `misfit` (infinite without a valid simulation); `best`: the lowest misfit
    known, below the fit's own if that was a local minimum; `interval`: the smallest with all values of misfit -
    best < 3.84; an end is None if the grid or the simulator stops before it is reached; `converged`: per value.
    Without convergence the misfit is an upper bound, and the interval may be too narrow.
    """

    name: str
    grid: np.ndarray
    misfit: np.ndarray
    best: float
    interval: tuple[float | None, float | None]
    calls: Calls
    converged: np.ndarray


def profile(
    problem: Problem,
    fit: Fit,
    name: str,
    grid: Sequence[float] | np.ndarray | None = None,
    points: int = 21,
    stops: Stops | None = None,
    candidates: Sequence[Mapping[str, Any]] = (),
) -> Profile:
    """The misfit at each value of one parameter with the others fitted again, without linearisation.

    Two chains go from the fit upwards and downwards. Each value starts from its neighbour's
    solution, and again from the candidate that is best there. A profile below the fit's own misfit shows that the
    fit was a local minimum.

    **Arguments:** `problem`; `fit`; `name`: a free parameter, or one number of it such as "field[3]"; `grid`: its
    values, ascending, or None for `points` within four standard deviations of the fit and within the prior's range
    (all of it for an infinite deviation); `stops`; `candidates`: values of all parameters, such as the solutions of a
    tree, since a chain alone follows one valley.
    **Returns:** Profile. **Raises:** ValueError for a parameter that is not free, or fewer than three values.
    """
    return profiles(problem, fit, {name: grid}, points, stops, candidates)[name]


def profiles(
    problem: Problem,
    fit: Fit,
    grids: Mapping[str, Sequence[float] | np.ndarray | None],
    points: int = 21,
    stops: Stops | None = None,
    candidates: Sequence[Mapping[str, Any]] = (),
    progress: bool = False,
) -> dict[str, Profile]:
    """The `profile` of several parameters with all their chains side by side in threads.

    **Arguments:** `grids`: name of a free parameter -> its values as for `profile`, or None; `progress`: show a bar;
    the others as there.
    **Returns:** name -> Profile. **Raises:** ValueError as `profile`.
    """
    integer("profiles: points", points, 3)
    values = {name: _grid(problem, fit, name, grid, points) for name, grid in grids.items()}
    rows, index = [], []
    for name, v in values.items():
        best = _best(problem, fit, name)
        rows += [v[v >= best], v[v < best][::-1]]
        index += 2 * [problem.index(name)]
    known = [
        problem.to_prior_scale(fit.values),
        *(problem.scale_given("profiles: a candidate", v) for v in candidates),
    ]
    x = [problem.unfold(s) for s in known]
    ends: Stops = strip_weak_types(stops or Stops())
    # The longest first: a short one at the end leaves no core waiting for long.
    order = sorted(range(len(rows)), key=lambda i: -rows[i].size)
    with Bar("profiles", sum(row.size for row in rows), progress) as bar:
        walked = map_in_threads(lambda i: _walk(problem, x, rows[i], index[i], ends, bar.advance), order)
    walked = [walked[order.index(i)] for i in range(len(rows))]
    return {
        name: _report(problem, fit, name, v, *walked[2 * i : 2 * i + 2])
        for i, (name, v) in enumerate(values.items())
    }


def _grid(problem: Problem, fit: Fit, name: str, grid, points: int) -> np.ndarray:
    if name not in problem.free_labels or fit.labels != problem.free_labels:
        raise ValueError(
            f"profile: {name!r} must be free in problem {problem.free} and fit {fit.names}, and one number "
            '(of an array "name[3]")'
        )
    given = _default_grid(problem, fit, name, points) if grid is None else grid
    values = host_numbers("profile: grid", given, "n")
    if values.ndim != 1 or values.size < 3 or not (np.diff(values) > 0).all():
        raise ValueError(f"profile: grid {values} must have three or more values, ascending")
    for value in values:
        # A relaxed Discrete is profiled over its hull: between its values, so not checked against them.
        getattr(problem.component(name), "hull", problem.component(name)).check(float(value))
    return values


def _best(problem: Problem, fit: Fit, label: str) -> float:
    """The value of one number in a fit."""
    return float(problem.physical(problem.fold(jnp.asarray(fit.x)))[problem.index(label)])


def _report(problem: Problem, fit: Fit, name: str, values: np.ndarray, up: "_Chain", down: "_Chain") -> Profile:
    """The profile from its two chains."""
    misfit = np.array([*down.misfit[::-1], *up.misfit])
    converged = np.array([*down.converged[::-1], *up.converged])
    best = min(fit.misfit, misfit.min())
    q = problem.component(name)
    s = np.asarray(jax.vmap(q.to_prior_scale)(jnp.asarray(values, float)))
    # The fit itself is a point of the profile, usually between those of the grid.
    own = float(q.to_prior_scale(jnp.asarray(_best(problem, fit, name), float)))
    there = np.searchsorted(s, own)
    interval = _interval(q, np.insert(s, there, own), np.insert(misfit, there, fit.misfit) - best)
    return Profile(name, values, misfit, float(best), interval, up.calls + down.calls, converged)


class _Chain(NamedTuple):
    """Misfit and convergence at each value of a chain, and what it cost."""

    misfit: list[float]
    converged: list[bool]
    calls: Calls


def _walk(
    problem: Problem, x: list[Array], values: np.ndarray, index: int, stops: Stops, report: Callable[[], None]
) -> _Chain:
    """The chain of `values` of the unknown `index`, which begins at `x[0]`; the rest are candidates."""
    here, candidates = x[0], x[1:]
    misfits, converged, calls = [], [], Calls()
    for value in values:
        mask, held = problem.free_mask.at[index].set(False), problem.held.at[index].set(value)
        programs = Programs(eqx.tree_at(lambda p: (p.free_mask, p.held), problem, (mask, held)))
        starts = [here]
        if candidates:
            screened = [float(programs.simulate(candidate).misfit) for candidate in candidates]
            starts.append(candidates[int(np.argmin(screened))])
            calls = calls + Calls(len(screened), 0, int(np.sum(~np.isfinite(screened))))
        searches = [programs.search(start, stops) for start in starts]
        found = min(searches, key=lambda search: search.misfit)
        calls = sum((Calls(*np.asarray(search.calls)) for search in searches), calls)
        misfits.append(float(found.misfit))
        converged.append(Status(int(found.status)).is_converged)
        # A failed neighbour is no place to start from: keep the last valid one.
        here = found.x if np.isfinite(found.misfit) else here
        report()
    return _Chain(misfits, converged, calls)


def _default_grid(problem: Problem, fit: Fit, name: str, points: int) -> np.ndarray:
    q, i = problem.component(name), problem.index(name)
    s = problem.to_prior_scale(fit.values)
    sigma = np.sqrt(fit.covariance[(fit.labels.index(name),) * 2])
    reach = 4.0 * sigma / max(float(problem.scale(s)[i]), np.finfo(float).tiny)
    lower, upper = np.maximum(q.limits[0], s[i] - reach), np.minimum(q.limits[1], s[i] + reach)
    if not (np.isfinite(lower) and np.isfinite(upper)):
        raise ValueError(f"profile: {name!r} has no finite standard deviation: give a grid")
    return np.asarray(jax.vmap(q.physical)(jnp.linspace(lower, upper, points)))


def _interval(unknown, s: np.ndarray, rise: np.ndarray) -> tuple[float | None, float | None]:
    """The physical values of `_crossings`."""
    lower, upper = (
        None if end is None else float(unknown.physical(jnp.asarray(end))) for end in _crossings(s, rise)
    )
    return lower, upper


def _crossings(s: np.ndarray, rise: np.ndarray) -> tuple[float | None, float | None]:
    """The outermost crossings of 3.84 on both sides of the minimum, linear in the root: exact for a parabola.

    A profile that falls below 3.84 again contains values there that the data do not exclude.
    """
    root, limit = np.sqrt(np.maximum(rise, 0.0)), np.sqrt(THRESHOLD)
    least = int(np.argmin(root))

    def last(indices):
        outward = len(indices) - int(np.argmax(root[indices[::-1]] < limit))  # the first index beyond all of them
        if outward == len(indices) or not np.isfinite(root[indices[outward]]):
            return None  # the end of the range, or the simulator's limit, not a limit from the data
        before, after = indices[outward - 1], indices[outward]
        return float(s[before] + (limit - root[before]) / (root[after] - root[before]) * (s[after] - s[before]))

    return last(np.arange(least, -1, -1)), last(np.arange(least, len(s)))
