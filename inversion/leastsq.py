"""Least squares: screened multi-start Levenberg-Marquardt with exact derivatives.

A trial point costs one forward simulation; the Jacobian (one forward-mode simulation with all sensitivities) is
computed for accepted steps only. All starts run in one compiled call, which serves every node of a branch and
bound and every point of a profile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.stats import chi2

from difsim.status import Status
from difsim.typing import Scalar, number

from .outcome import Calls
from .problem import AbstractProblem, Problem, strip_weak_types
from .sweeps import map_batched


class Stops(eqx.Module):
    """The criteria for the end of a least-squares search; arrays, so that other numbers do not compile again.

    **Arguments:** `misfit`: relative decrease, predicted and found, below which a step does not count; `floor`:
    the same in misfit; `step`: step in x relative to x; `gradient`: largest d(misfit/2)/dx; `target`: a misfit
    that is low enough; `iterations`: trial steps (static).
    """

    misfit: Scalar = number(default=1e-8)
    floor: Scalar = number(default=1e-14)
    step: Scalar = number(default=1e-9)
    gradient: Scalar = number(default=1e-8)
    target: Scalar = number(default=-1.0)
    iterations: int = eqx.field(static=True, default=60)


class Search(eqx.Module):
    """The state of one Levenberg-Marquardt search, and its result."""

    x: Float[Array, " n"]
    residual: Float[Array, " rows"]
    jacobian: Float[Array, "rows n"]  # dr/ds, prior-scaled
    misfit: Scalar
    damping: Scalar
    growth: Scalar
    status: Int[Array, ""]
    iteration: Int[Array, ""]
    calls: Int[Array, " 3"]  # in the order of Calls
    history: Float[Array, " iterations_and_start"]


def levenberg_marquardt(problem: AbstractProblem, x: Float[Array, " n"], stops: Stops) -> Search:
    """The minimum of |r(x)|^2 from x: (J^T J + lambda 1) dx = -J^T r, lambda by the gain ratio.

    The damping is the identity, not diag(J^T J): x is already scaled by the prior, and a column that vanishes at a
    bound must shorten the step there, not lengthen it. A failed or worse trial is rejected.

    **Arguments:** `problem`; `x` [n]: start; a NaN one costs nothing and ends as FAILED; `stops`. **Returns:**
    Search.
    **Source:** Madsen, Nielsen and Tingleff, Methods for non-linear least squares problems (2004), alg. 3.16.
    """
    mask, dtype, n = problem.free_mask, x.dtype, x.size
    eps, tiny = jnp.finfo(dtype).eps, jnp.finfo(dtype).tiny

    def linearise(x):
        """dr/ds, by s rather than x, since the derivative by x would vanish at a bound."""
        return problem.linearise(problem.fold(x))

    def normal(search):
        """J^T J and J^T r in x, with zero columns for held parameters."""
        dsdx = jax.jvp(problem.fold, (search.x,), (jnp.ones_like(x),))[1]
        j = search.jacobian * jnp.where(mask, dsdx, 0.0)[None, :]
        return j.T @ j, j.T @ search.residual

    def step(search):
        a, g = normal(search)
        # Rounding of J^T J is eps of its largest element: smaller damping has no effect.
        damping = jnp.maximum(search.damping, 10 * eps * jnp.max(jnp.diag(a)))
        held = jnp.where(mask, 0.0, 1.0)  # a unit diagonal where the column is zero
        factor = jax.scipy.linalg.cho_factor(a + jnp.diag(damping + held))
        dx = -jax.scipy.linalg.cho_solve(factor, g)
        # At most two radians (or sigmas) per step: beyond that, a folded interval repeats itself.
        dx = dx * jnp.minimum(1.0, 2.0 / (jnp.max(jnp.abs(dx)) + eps))
        predicted = -(2.0 * g @ dx + dx @ a @ dx)

        new_x = search.x + dx
        trial = problem.evaluate(problem.fold(new_x))
        better = trial.misfit < search.misfit
        jacobian = jax.lax.cond(better, lambda: linearise(new_x), lambda: search.jacobian)
        differentiable = jnp.all(jnp.isfinite(jacobian))
        accepted = better & differentiable
        failed = ~trial.ok | ~differentiable

        first = search.iteration == 0  # no step yet: the start itself is the trial
        found = jnp.where(trial.ok & ~first, search.misfit - trial.misfit, -jnp.inf)
        gain = found / jnp.maximum(predicted, tiny)
        shrink = jnp.maximum(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0) ** 3)
        misfit = jnp.where(accepted, trial.misfit, search.misfit)
        new = Search(
            x=jnp.where(accepted, new_x, search.x),
            residual=jnp.where(accepted, trial.residual, search.residual),
            jacobian=jnp.where(accepted, jacobian, search.jacobian),
            misfit=misfit,
            damping=damping * jnp.where(accepted, shrink, search.growth),
            growth=jnp.where(accepted, 2.0, 2.0 * search.growth),
            status=search.status,
            iteration=search.iteration + 1,
            calls=search.calls + jnp.stack([jnp.array(True), better, failed]).astype(int),
            history=search.history.at[search.iteration].set(misfit),
        )
        a, g = normal(new)
        started = eqx.tree_at(lambda s: s.damping, new, 1e-3 * jnp.max(jnp.diag(a)) + tiny)
        new = jax.tree.map(lambda yes, no: jnp.where(first, yes, no), started, new)

        negligible = stops.misfit * search.misfit + stops.floor
        vanished = jnp.max(jnp.abs(dx)) <= stops.step * (jnp.max(jnp.abs(search.x)) + 1.0)
        ends = (  # the first true one
            (first & ~accepted, Status.FAILED),
            (misfit < stops.target, Status.TARGET),
            (accepted & (jnp.max(jnp.abs(g)) <= stops.gradient), Status.GRADIENT),
            (first, Status.RUNNING),
            (vanished & failed, Status.BLOCKED),
            ((predicted <= negligible) & (jnp.abs(found) <= negligible), Status.MISFIT),
            (vanished, Status.STEP),
            (search.iteration >= stops.iterations, Status.LIMIT),
        )
        status = jnp.select([e[0] for e in ends], [jnp.array(int(e[1])) for e in ends], int(Status.RUNNING))
        return eqx.tree_at(lambda s: s.status, new, status.astype(int))

    start = Search(
        x=x,
        residual=jnp.zeros(problem.rows, dtype),
        jacobian=jnp.zeros((problem.rows, n), dtype),
        misfit=jnp.array(jnp.inf, dtype),
        damping=jnp.array(1.0, dtype),
        growth=jnp.array(2.0, dtype),
        status=jnp.where(jnp.all(jnp.isfinite(x)), Status.RUNNING, Status.FAILED).astype(int),
        iteration=jnp.array(0),
        calls=jnp.zeros(3, int),
        history=jnp.full(stops.iterations + 1, jnp.nan, dtype),
    )
    # The start is the first trial of the loop, so that simulator and sensitivities are compiled once each.
    return jax.lax.while_loop(lambda search: search.status == Status.RUNNING, step, start)


@eqx.filter_jit
def _screen(problem: Problem, s: Float[Array, "starts n"]) -> Float[Array, " starts"]:
    # Values only: a batch of 50 shares the overhead of small operations and is several times faster than one
    # by one, although it takes the steps of its slowest member (docs/performance.md).
    return map_batched(lambda row: problem.evaluate(row).misfit, s, batch_size=50)


@eqx.filter_jit
def polish(problem: Problem, x: Float[Array, "starts n"], stops: Stops) -> Search:
    """Levenberg-Marquardt from several starts in one compiled call.

    **Arguments:** `problem`; `x` [starts, n]; `stops`. **Returns:** a Search with a leading axis.
    """
    return map_batched(lambda row: levenberg_marquardt(problem, row, stops), x)


RARE = 1e-3  # smallest p-value of a misfit that counts as chance


@dataclass(frozen=True)
class Fit:
    """The best of the starts, with its covariance; arrays of numpy, in physical units.

    `values`: all parameters; `names`: the free ones, in the order of `covariance` [k, k] and `jacobian` [rows, k]
    = dr/dp; `misfit` = sum of `residual`^2, for `data` numbers and then the Gaussian priors; `determined`: the
    effective number of parameters, the trace of the resolution matrix, to which a parameter that the data
    determine adds 1 and one whose uniform prior is unchanged 0; `calls`: all starts and the screening together;
    `history`: misfit after each iteration of the best start; `starts`: misfit and status of each start.

    A converged search has found a minimum, perhaps a wrong one: `explains_data` tests that, and `ok` is both
    together. `print(fit)` shows all of it.
    """

    values: dict[str, float]
    names: tuple[str, ...]
    misfit: float
    covariance: np.ndarray
    residual: np.ndarray
    jacobian: np.ndarray
    x: np.ndarray
    calls: Calls
    status: Status
    history: np.ndarray
    starts: tuple[tuple[float, Status], ...]
    data: int
    determined: float

    @property
    def degrees_of_freedom(self) -> float:
        """The rows of the residual less the parameters that they determine, at least 1."""
        return max(1.0, self.residual.size - self.determined)

    @property
    def p_value(self) -> float:
        """The probability of such a misfit or a larger one for the right model with the right standard deviations.

        It is that of chi-squared with these `degrees_of_freedom`, and 0 without a valid simulation.
        """
        return float(chi2.sf(self.misfit, self.degrees_of_freedom)) if np.isfinite(self.misfit) else 0.0

    @property
    def explains_data(self) -> bool:
        """True if the misfit may be due to chance, with a `p_value` of 1e-3 or more.

        It is false in a local minimum, for a wrong model, or for standard deviations that are too small.
        """
        return self.p_value >= RARE

    @property
    def ok(self) -> bool:
        """Whether the search converged, and the model explains the data."""
        return self.status.is_converged and self.explains_data

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
        said = "the model explains the data" if self.explains_data else wrong
        return f"{ended} ({self.status.name}); {said}: {numbers}"

    def __str__(self) -> str:
        width = max((len(name) for name in self.names), default=0)
        rows = [f"  {name:{width}s}  {self.values[name]:.6g} +- {self.sigma[name]:.2g}" for name in self.names]
        return "\n".join([f"fit: {self.verdict}", *rows])

    @property
    def sigma(self) -> dict[str, float]:
        """The standard deviations; infinite if data and prior do not determine the parameter."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))


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
    guesses: Sequence[Mapping[str, float]] = (),
    candidates: Sequence[Mapping[str, float]] = (),
    stops: Stops | None = None,
    throw: bool = True,
) -> Fit:
    """The parameters of the smallest misfit: `starts` points screened, `keep` of them polished.

    **Arguments:** `problem`; `key`: seed of the starting points, a Latin hypercube in the prior; `starts`: forward
    simulations to screen; `keep`: at most so many Levenberg-Marquardt searches, from the `guesses` (dicts of
    values) first and then from the best screened points that are apart; `candidates`: values that are screened
    with them, the last `starts` // 2 in place of as many points (solutions of similar problems); `stops`; `throw`:
    raise if everything failed.
    **Returns:** Fit; with throw=False its status is FAILED and its misfit infinite if everything failed. Check
    `fit.ok`: a minimum that does not explain the data raises no error.
    **Raises:** ValueError for undecided Discrete parameters, nothing free, or keep out of range; RuntimeError when
    no start gave a valid simulation.
    """
    problem.require_decided()
    if not problem.free:
        raise ValueError("fit: every parameter is held: nothing to find (use problem.evaluate)")
    # From guesses alone `keep` may be larger: a fit without screening shares the compiled search of the others.
    points = starts + len(guesses)
    if keep < max(1, len(guesses)) or points < 1 or (starts and keep > points):
        raise ValueError(
            f"fit: keep={keep} searches from {starts} starts and {len(guesses)} guesses: "
            "keep at least the guesses, and at most starts + guesses"
        )
    n = len(problem.names)
    x = [np.asarray(problem.unfold(problem.scaled(guess))) for guess in guesses]
    calls = Calls()
    if starts:
        s = jax.vmap(problem.quantile)(latin_hypercube(key, starts, n))
        for i, values in enumerate(candidates[-(starts // 2) :]):  # in place: one shape, one compilation
            s = s.at[i].set(problem.scaled(values))
        misfit = np.asarray(_screen(problem, s))
        calls = calls + Calls(starts, 0, int(np.sum(~np.isfinite(misfit))))
        chosen = _apart(np.asarray(s)[:, np.asarray(problem.free_mask)], misfit, keep - len(x))
        x += [np.asarray(problem.unfold(s[i])) for i in chosen]
    x += [np.full(n, np.nan)] * (keep - len(x))  # always `keep` rows: one compilation
    found = polish(problem, jnp.asarray(np.stack(x), problem.held.dtype), strip_weak_types(stops or Stops()))
    calls = calls + Calls(*np.asarray(found.calls).sum(axis=0))
    best = jax.tree.map(lambda leaf: np.asarray(leaf)[int(np.argmin(found.misfit))], found)
    return _report(problem, best, found, calls, throw)


def _report(problem: Problem, best: Search, found: Search, calls: Calls, throw: bool) -> Fit:
    misfits, statuses = np.asarray(found.misfit).tolist(), np.asarray(found.status).tolist()
    mask, failed = np.asarray(problem.free_mask), not np.isfinite(best.misfit)
    if failed and throw:
        single = problem.held.dtype == jnp.float32  # the most probable reason, and not visible otherwise
        raise RuntimeError(
            f"fit: no start gave a valid simulation with derivatives ({calls}): "
            + ("all is float32, call jax.config.update('jax_enable_x64', True) first; " if single else "")
            + "narrow the priors, look at problem.evaluate at one point, or pass throw=False"
        )
    scale = np.asarray(problem.scale(problem.fold(jnp.asarray(best.x))))[mask]
    scaled = best.jacobian[:, mask]
    k = int(mask.sum())
    spread = np.full((k, k), np.nan) if failed else covariance(scaled)[0] * np.outer(scale, scale)
    return Fit(
        values={k: float(v) for k, v in problem.values(jnp.asarray(best.x)).items()},
        names=problem.free,
        misfit=float(best.misfit),
        covariance=spread,
        residual=best.residual,
        jacobian=scaled / scale,
        x=best.x,
        calls=calls,
        status=Status(int(best.status)),
        history=best.history[np.isfinite(best.history)],
        starts=tuple((m, Status(s)) for m, s in zip(misfits, statuses, strict=True)),
        data=problem.data.size,
        determined=np.nan if failed else _determined(problem, scaled),
    )


def _determined(problem: Problem, jacobian: Float[np.ndarray, "rows k"]) -> float:
    """The trace of (F + P)^-1 F in prior scales.

    F = J^T J of all rows, and P is the information of uniform priors, which have no rows.
    """
    free = [problem.parameters[name] for name in problem.free]
    uniform = [q.prior_residual(jnp.zeros(())).size == 0 for q in free]
    prior = np.diag([q.prior_width**-2 if alone else 0.0 for q, alone in zip(free, uniform, strict=True)])
    fisher = jacobian.T @ jacobian
    return float(np.trace(np.linalg.solve(fisher + prior, fisher)))


def latin_hypercube(key: Array, count: int, dimension: int) -> Float[Array, "count dimension"]:
    """A Latin hypercube in the unit cube: one point in each of `count` slices along every axis.

    **Arguments:** `key`; `count`; `dimension`. **Returns:** points [count, dimension].
    """
    shuffle, jitter = jax.random.split(key)
    slices = jax.vmap(lambda k: jax.random.permutation(k, count), out_axes=1)(jax.random.split(shuffle, dimension))
    return (slices + jax.random.uniform(jitter, (count, dimension))) / count


def _apart(s: np.ndarray, misfit: np.ndarray, wanted: int) -> list[int]:
    """The `wanted` best valid points, first those at least a tenth of the prior away from any better one."""
    order = [int(i) for i in np.argsort(misfit) if np.isfinite(misfit[i])]
    first: list[int] = []
    for i in order:
        if all(np.abs(s[i] - s[j]).max() >= 0.1 for j in first):
            first.append(i)
    return (first + [i for i in order if i not in first])[:wanted]
