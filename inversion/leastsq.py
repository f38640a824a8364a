"""Least squares: screened multi-start Levenberg-Marquardt with exact derivatives.

Two compiled programs, a simulation and a simulation with all sensitivities, serve every start, node of a tree and
point of a profile; where the second costs little, it serves alone. The steps between them are taken in Python, and the
searches run side by side in threads.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.checks import integer, random_key
from difsim.status import Status

from .coordinates import strip_weak_types, to_plain
from .differences import compare
from .effects import warn_of_zero_columns
from .marquardt import Search, Stops
from .outcome import Calls
from .problem import Problem
from .programs import Programs
from .progress import Bar, Progress
from .threads import map_in_threads

RARE = 1e-3  # smallest p-value of a misfit that counts as chance


@dataclass(frozen=True)
class Fit:
    """The best of the starts, with its covariance; arrays of numpy, in physical units.

    `values`: all parameters, numbers or arrays; `names`: the free ones; `labels`: their k free numbers, in the order
    of `covariance` [k, k] and `jacobian` [rows, k] = dr/dp; `misfit` for `data` numbers and then the Gaussian priors,
    the sum of `residual`^2 if errors are Gaussian and known; `chi_squared`: the sum of squares that tests the fit,
    which for other errors is that of the scores; `noise_is_fitted`: a scale of errors is free, so that the sum tests
    nothing; `sigma`: standard deviations by name, infinite where data and prior do not determine a number, NaN for
    held numbers of an array; `determined`: the effective number of parameters, the trace of the resolution matrix, to
    which a parameter that the data determine adds 1 and one whose uniform prior is unchanged 0; `calls`: all starts
    and the screening together; `history`: misfit after each iteration of the best start; `starts`: misfit and status
    of each start; `solutions`: the values at which the searches ended, the best first, for `sample(guesses=...)`;
    `doubt`: how the derivative at the start of the best search disagrees with differences of simulations over the
    prior, in words, empty where it does not; `statuses`: the number of simulations that ended with each status.

    A converged search has found a minimum, perhaps a wrong one: `explains_data` tests that, and `ok` is both
    together, without a doubt about the derivative. `print(fit)` shows all of it, and why simulations failed.
    """

    values: dict[str, Any]
    names: tuple[str, ...]
    labels: tuple[str, ...]
    sigma: dict[str, Any]
    misfit: float
    chi_squared: float
    noise_is_fitted: bool
    covariance: np.ndarray
    residual: np.ndarray
    jacobian: np.ndarray
    x: np.ndarray
    calls: Calls
    status: Status
    history: np.ndarray
    starts: tuple[tuple[float, Status], ...]
    solutions: tuple[dict[str, Any], ...]
    data: int
    priors: int
    determined: float
    doubt: str
    statuses: dict[Status, int]

    @property
    def degrees_of_freedom(self) -> float:
        """The numbers of data and of Gaussian priors less the parameters that they determine, at least 1."""
        return max(1.0, self.data + self.priors - self.determined)

    @property
    def p_value(self) -> float:
        """The probability of such a misfit or a larger one for the right model with the right standard deviations.

        It is that of chi-squared with these `degrees_of_freedom`, and 0 without a valid simulation.
        """
        from scipy.special import gammaincc

        return (
            float(gammaincc(self.degrees_of_freedom / 2, self.chi_squared / 2))
            if np.isfinite(self.misfit)
            else 0.0
        )

    @property
    def minima(self) -> tuple[float, ...]:
        """The misfits at which the searches ended, those that failed left out."""
        return tuple(misfit for misfit, _ in self.starts if np.isfinite(misfit))

    @property
    def explains_data(self) -> bool:
        """True if the misfit may be due to chance, with a `p_value` of 1e-3 or more.

        It is false in a local minimum, for a wrong model, or for standard deviations that are too small. A fitted
        scale of errors makes it true for any model.
        """
        return self.p_value >= RARE

    @property
    def ok(self) -> bool:
        """Whether the search converged, the model explains the data, and no derivative is in doubt."""
        return self.status.is_converged and self.explains_data and not self.doubt

    @property
    def verdict(self) -> str:
        """The end of the search and the agreement with the data in words."""
        if not np.isfinite(self.misfit):
            return "failed: no start gave a valid simulation"
        ended = "converged" if self.status.is_converged else "did not converge"
        numbers = (
            f"misfit {self.misfit:.4g} for {self.data} data, {self.degrees_of_freedom:.3g} degrees of freedom, "
            f"p = {self.p_value:.2g}"
        )
        wrong = "the model does NOT explain the data (a local minimum, a wrong model, or too small sigmas)"
        right = (
            "the errors are as large as they must be" if self.noise_is_fitted else "the model explains the data"
        )
        said = right if self.explains_data else wrong
        doubt = "; but the derivative is in doubt" if self.doubt else ""
        return f"{ended} ({self.status.name}); {said}: {numbers}{doubt}"

    def __str__(self) -> str:
        width = max((len(name) for name in self.names), default=0)
        rows = [f"  {name:{width}s}  {_format(self.values[name], self.sigma[name])}" for name in self.names]
        doubt = [f"  DOUBT: {self.doubt}"] if self.doubt else []
        failed = [Status.summary(self.statuses)] if set(self.statuses) - {Status.OK} else []
        return "\n".join([f"fit: {self.verdict}", *rows, *doubt, *failed])


def _format(value: Any, sigma: Any) -> str:
    if np.ndim(value) == 0:
        return f"{value:.6g} +- {sigma:.2g}"
    known = sigma[np.isfinite(sigma)]
    spread = f"{known.min():.2g} to {known.max():.2g}" if known.size else "inf"
    return f"{list(value.shape)} from {value.min():.6g} to {value.max():.6g} +- {spread}"


def covariance(jacobian: np.ndarray, threshold: float = 1e-6) -> tuple[np.ndarray, int]:
    """(J^T J)^-1 and the rank of J; infinite variance for parameters in an undetermined direction.

    **Arguments:** `jacobian` [rows, k] in comparable units (prior-scaled); `threshold`: singular values below this
    fraction of the largest are zero (a solver's sensitivities at 1e-8 are good to 1e-5 ... 1e-7).
    **Returns:** covariance [k, k], and the rank.
    """
    k = jacobian.shape[1]
    if k == 0:
        return np.zeros((0, 0)), 0
    _, singular, directions = np.linalg.svd(np.vstack([jacobian, np.zeros((k, k))]), full_matrices=False)
    kept = singular > threshold * max(singular[0], np.finfo(float).tiny)
    result = (directions[kept].T / singular[kept] ** 2) @ directions[kept]
    loose = (directions[~kept] ** 2).sum(axis=0) > 1e-8  # 1e-4 of a unit vector
    result[loose, :], result[:, loose] = np.nan, np.nan
    result[loose, loose] = np.inf
    return result, int(kept.sum())


def fit(
    problem: Problem,
    *,
    key: Array,
    starts: int = 32,
    keep: int = 8,
    guesses: Sequence[Mapping[str, Any]] = (),
    candidates: Sequence[Mapping[str, Any]] = (),
    stops: Stops | None = None,
    progress: Progress = False,
    throw: bool = True,
) -> Fit:
    """The parameters of the smallest misfit: `starts` points screened, `keep` of them polished.

    **Arguments:** `problem`; `key`: seed of the starting points, a Latin hypercube in the prior; `starts`: forward
    simulations to screen; `keep`: at most so many Levenberg-Marquardt searches, from the `guesses` (dicts of
    values) first and then from the best screened points that are apart; `candidates`: values that are screened
    with them, the first `starts` // 2 in place of as many points (solutions of similar problems); `stops`;
    `progress`: True shows a bar, and a function is called as `progress(label, done, total)`, with starts and searches
    as the work; `throw`: raise if everything failed.
    **Returns:** Fit; with throw=False its status is FAILED and its misfit infinite if everything failed. Check
    `fit.ok`: a minimum that does not explain the data raises no error.
    **Raises:** ValueError for undecided Discrete parameters, nothing free, or keep out of range; RuntimeError when
    no start gave a valid simulation.

    **Example:**

    ```python
    import jax

    from inversion import Bounded, Observation, Observations, Problem, fit

    data = Observations({"fall": Observation(4.9, 0.1, "m")})
    problem = Problem({"g": Bounded(1.0, 20.0, "m/s2")}, lambda p: ({"fall": 0.5 * p["g"]}, True), data)
    found = fit(problem, key=jax.random.key(0), starts=8, keep=2)
    print(found.values["g"], found.sigma["g"])
    ```
    """
    random_key("fit: key", key)
    starts, keep = integer("fit: starts", starts, 0), integer("fit: keep", keep, 0)
    ends: Stops = strip_weak_types(stops or Stops())
    problem.require_decided()
    if not problem.free:
        raise ValueError("fit: every parameter is held: nothing to find (use problem.evaluate)")
    # From guesses alone `keep` may be larger: a fit without screening shares the compiled search of the others.
    most = starts + len(guesses)
    if keep < max(1, len(guesses)) or most < 1 or (starts and keep > most):
        raise ValueError(
            f"fit: keep={keep} searches from {starts} starts and {len(guesses)} guesses: "
            "keep at least the guesses, and at most starts + guesses"
        )
    n, programs = problem.size, Programs(problem)
    x = [problem.start("fit", guess) for guess in guesses]
    calls = Calls()
    given = [problem.scale_given("fit: a candidate", values) for values in candidates[: starts // 2]]
    doubts, checks = {}, []

    def search_from(i: int) -> Search:
        def begins(search: Search) -> None:
            if i == 0:
                checks.append(warn_of_zero_columns(programs, search))
            doubts[i], made = compare(programs, search)
            checks.append(made)
            if doubts[i]:  # at once: the search may take an hour more
                warnings.warn(f"fit: {doubts[i]}", stacklevel=2)

        return programs.search(x[i], ends, begins)

    with Bar("fit", starts + keep, progress) as bar:
        points, _ = programs.compile(
            ends,
            lambda: _screen(problem, key, starts, given) if starts else None,
            lambda: _physical(problem, jnp.zeros_like(problem.held)),
        )
        if points is not None:
            s, rows = map(np.asarray, points)
            misfit = np.asarray(programs.simulate_rows(rows, bar).misfit)
            calls = calls + Calls(starts, 0, int(np.sum(~np.isfinite(misfit))))
            x += [rows[i] for i in _choose_apart(s[:, np.asarray(problem.free_mask)], misfit, keep - len(x))]
        x = x or [jnp.full(n, jnp.nan)]  # every start failed
        found = map_in_threads(search_from, range(len(x)), bar)
        bar.reach(starts + keep)
    calls = sum([*checks, *(Calls(*np.asarray(search.calls)) for search in found)], calls)
    best = min(range(len(found)), key=lambda i: found[i].misfit)
    return _report(programs, found[best], found, calls, doubts.get(best, ""), throw)


# One program each, where each operation between arrays would be one.
@eqx.filter_jit
def _screen(problem: Problem, key: Array, starts: int, given: list[Array]) -> tuple[Array, Array]:
    """The points to screen, of which the first are given: prior-scaled s [starts, n], and their x."""
    s = jax.vmap(problem.quantile)(latin_hypercube(key, starts, problem.size))
    for i, row in enumerate(given):
        s = s.at[i].set(row)
    return s, jax.vmap(problem.unfold)(s)


@eqx.filter_jit
def _physical(problem: Problem, x: Float[Array, " n"]) -> tuple[dict[str, Array], Float[Array, " n"]]:
    """The physical values of all parameters at x, and the derivative dp/ds of the unknowns."""
    return problem.values(x), problem.scale(problem.fold(x))


def _report(programs: Programs, best: Search, found: list[Search], calls: Calls, doubt: str, throw: bool) -> Fit:
    problem = programs.problem
    mask, failed = np.asarray(problem.free_mask), not np.isfinite(best.misfit)
    if failed and throw:
        single = problem.held.dtype == jnp.float32  # the most probable reason, and not visible otherwise
        raise RuntimeError(
            f"fit: no start gave a valid simulation with derivatives ({calls}): "
            + ("all is float32, call difsim.configure() first; " if single else "")
            + "narrow the priors, look at problem.evaluate at one point (does the solution reach the times of a "
            "Series, delay included?), or pass throw=False"
        )
    values, scale = _physical(problem, best.x)
    scale = np.asarray(scale)[mask]
    scaled, history = np.asarray(best.jacobian)[:, mask], np.asarray(best.history)
    k = int(mask.sum())
    spread = np.full((k, k), np.nan) if failed else covariance(scaled)[0] * np.outer(scale, scale)
    sigma = np.full(mask.size, np.nan)
    sigma[mask] = np.sqrt(np.diag(spread))
    residual = np.asarray(best.residual)
    prior = residual[problem.data.rows :]
    tested = residual[: problem.data.rows]
    if not (problem.data.is_sum_of_squares or failed):
        tested = np.asarray(problem.data.scores(programs.simulate(best.x).predictions, values))
        calls = calls + Calls(1, 0, 0)
    return Fit(
        values={k: to_plain(v) for k, v in values.items()},
        names=problem.free,
        labels=problem.free_labels,
        sigma={k: to_plain(v) for k, v in problem.split(sigma).items() if k in problem.free},
        misfit=float(best.misfit),
        chi_squared=np.inf if failed else float(np.sum(tested**2) + np.sum(prior**2)),
        noise_is_fitted=any(k in problem.free for k in problem.data.fitted_errors),
        covariance=spread,
        residual=residual,
        jacobian=scaled / scale,
        x=np.asarray(best.x),
        calls=calls,
        status=Status(int(best.status)),
        history=history[np.isfinite(history)],
        starts=tuple((float(search.misfit), Status(int(search.status))) for search in found),
        solutions=tuple(
            {k: to_plain(v) for k, v in _physical(problem, search.x)[0].items()}
            for search in sorted(found, key=lambda search: float(search.misfit))
            if np.isfinite(search.misfit)
        ),
        data=problem.data.size,
        priors=prior.size,
        determined=np.nan if failed else _count_determined(problem, scaled),
        doubt=doubt,
        statuses=Status.tally(programs.statuses),
    )


def _count_determined(problem: Problem, jacobian: Float[np.ndarray, "rows k"]) -> float:
    """The trace of (F + P)^-1 F in prior scales.

    F = J^T J of all rows, and P is the information of uniform priors, which have no rows.
    """

    def information(q):
        return 0.0 if q.prior_residual(jnp.zeros(q.shape)).size else q.prior_width**-2

    prior = np.diag(problem.repeat_by_coordinate(information)[np.asarray(problem.free_mask)])
    fisher = jacobian.T @ jacobian
    return float(np.trace(np.linalg.solve(fisher + prior, fisher)))


def latin_hypercube(key: Array, count: int, dimension: int) -> Float[Array, "count dimension"]:
    """A Latin hypercube in the unit cube: one point in each of `count` slices along every axis.

    **Arguments:** `key`; `count`; `dimension`. **Returns:** points [count, dimension].
    """
    shuffle, jitter = jax.random.split(key)
    slices = jax.vmap(lambda k: jax.random.permutation(k, count), out_axes=1)(jax.random.split(shuffle, dimension))
    return (slices + jax.random.uniform(jitter, (count, dimension))) / count


def _choose_apart(s: np.ndarray, misfit: np.ndarray, wanted: int) -> list[int]:
    """The `wanted` best valid points, first those at least a tenth of the prior away from any better one."""
    order = [int(i) for i in np.argsort(misfit) if np.isfinite(misfit[i])]
    first: list[int] = []
    for i in order:
        if all(np.abs(s[i] - s[j]).max() >= 0.1 for j in first):
            first.append(i)
    return (first + [i for i in order if i not in first])[:wanted]
