"""The algorithm of Levenberg and Marquardt, one step at a time, and as one traced loop.

A step proposes a point, which is simulated, and judges it. `Programs.search` takes the steps from Python, with compiled
programs that all searches share; `levenberg_marquardt` is the same search inside another program.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from difsim.declarations import count, quantity, rule
from difsim.status import Status
from difsim.typing import Scalar

from .problem import AbstractProblem, Evaluation, Problem


class Stops(eqx.Module):
    """The criteria for the end of a least-squares search; arrays, so that other numbers do not compile again."""

    misfit: Scalar = quantity(
        "",
        "relative decrease of the misfit, predicted or found, that still counts",
        ge=0,
        default=1e-8,
    )
    floor: Scalar = quantity("", "decrease of the misfit that still counts", ge=0, default=1e-14)
    step: Scalar = quantity("", "step in x relative to x", ge=0, default=1e-9)
    gradient: Scalar = quantity("", "largest d(misfit/2)/dx", ge=0, default=1e-8)
    target: Scalar = quantity(
        "", "misfit that is low enough, -infinity for none", is_finite=False, default=-np.inf
    )
    iterations: int = count("number of trial steps", least=0, default=60)

    @rule("target = {target}: give a misfit, or -infinity for none")
    def _has_target(self):
        return ~jnp.isnan(self.target)


class Slopes(eqx.Module):
    """The derivative dr/ds of the residual by the prior-scaled unknowns, and ds/dx of these by x, 0 for held ones.

    dr/ds rather than dr/dx, since the latter vanishes at a bound.
    """

    jacobian: Float[Array, "rows n"]
    scale: Float[Array, " n"]


class Search(eqx.Module):
    """The state of one search, and its result."""

    x: Float[Array, " n"]
    residual: Float[Array, " rows"]
    slopes: Slopes
    misfit: Scalar
    damping: Scalar
    growth: Scalar
    status: Int[Array, ""]
    iteration: Int[Array, ""]
    calls: Int[Array, " 3"]  # in the order of Calls
    history: Float[Array, " iterations_and_start"]

    @property
    def jacobian(self) -> Float[Array, "rows n"]:
        """The derivative dr/ds, prior-scaled."""
        return self.slopes.jacobian


class Step(eqx.Module):
    """A step dx to the point x, the damping that it was made with, and the decrease of the misfit that it predicts."""

    dx: Float[Array, " n"]
    x: Float[Array, " n"]
    damping: Scalar
    predicted: Scalar


def start_search(rows: int, x: Float[Array, " n"], stops: Stops) -> Search:
    """The search before its first step, which simulates the start itself.

    **Arguments:** `rows` of the residual; `x` [n], the start: a NaN one ends as FAILED before any simulation;
    `stops`. **Returns:** Search.
    """
    dtype = x.dtype
    return Search(
        x=x,
        residual=jnp.zeros(rows, dtype),
        slopes=Slopes(jnp.zeros((rows, x.size), dtype), jnp.zeros(x.size, dtype)),
        misfit=jnp.array(jnp.inf, dtype),
        damping=jnp.array(1.0, dtype),
        growth=jnp.array(2.0, dtype),
        status=jnp.where(jnp.all(jnp.isfinite(x)), int(Status.RUNNING), int(Status.FAILED)).astype(int),
        iteration=jnp.array(0),
        calls=jnp.zeros(3, int),
        history=jnp.full(stops.iterations + 1, jnp.nan, dtype),
    )


def _normal(search: Search) -> tuple[Array, Array]:
    """J^T J and J^T r in x, with zero columns for held parameters."""
    j = search.slopes.jacobian * search.slopes.scale[None, :]
    return j.T @ j, j.T @ search.residual


def propose(search: Search, mask: Bool[Array, " n"]) -> Step:
    """The step (J^T J + lambda 1) dx = -J^T r; none before the start has been simulated.

    The damping is the identity, not diag(J^T J): x is already scaled by the prior, and a column that vanishes at a
    bound must shorten the step there, not lengthen it.

    **Arguments:** `search`; `mask` [n] of the free unknowns. **Returns:** Step.
    """
    a, g = _normal(search)
    eps = jnp.finfo(search.x.dtype).eps
    # Rounding of J^T J is eps of its largest element: smaller damping has no effect.
    damping = jnp.maximum(search.damping, 10 * eps * jnp.max(jnp.diag(a)))
    held = jnp.where(mask, 0.0, 1.0)  # a unit diagonal where the column is zero
    factor = jax.scipy.linalg.cho_factor(a + jnp.diag(damping + held))
    dx = -jax.scipy.linalg.cho_solve(factor, g)
    # At most two radians (or sigmas) per step: beyond that, a folded interval repeats itself.
    dx = dx * jnp.minimum(1.0, 2.0 / (jnp.max(jnp.abs(dx)) + eps))
    return Step(dx, search.x + dx, damping, -(2.0 * g @ dx + dx @ a @ dx))


def accept_or_reject(search: Search, step: Step, trial: Evaluation, slopes: Slopes, stops: Stops) -> Search:
    """The search after the simulation of `step.x`: accepted or rejected, with lambda by the gain ratio.

    **Arguments:** `search` before; `step`; `trial`, the simulation; `slopes` there if it is better, else those of
    the search; `stops`. **Returns:** Search. A failed or worse trial is rejected.
    """
    tiny = jnp.finfo(search.x.dtype).tiny
    better = trial.misfit < search.misfit
    differentiable = jnp.all(jnp.isfinite(slopes.jacobian))
    accepted = better & differentiable
    failed = ~trial.ok | ~differentiable

    first = search.iteration == 0  # no step yet: the start itself is the trial
    found = jnp.where(trial.ok & ~first, search.misfit - trial.misfit, -jnp.inf)
    gain = found / jnp.maximum(step.predicted, tiny)
    shrink = jnp.maximum(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0) ** 3)
    misfit = jnp.where(accepted, trial.misfit, search.misfit)
    new = Search(
        x=jnp.where(accepted, step.x, search.x),
        residual=jnp.where(accepted, trial.residual, search.residual),
        slopes=jax.tree.map(lambda new, old: jnp.where(accepted, new, old), slopes, search.slopes),
        misfit=misfit,
        damping=step.damping * jnp.where(accepted, shrink, search.growth),
        growth=jnp.where(accepted, 2.0, 2.0 * search.growth),
        status=search.status,
        iteration=search.iteration + 1,
        calls=search.calls + jnp.stack([jnp.array(True), better, failed]).astype(int),
        history=search.history.at[search.iteration].set(misfit),
    )
    a, g = _normal(new)
    damping = jnp.where(first, 1e-3 * jnp.max(jnp.diag(a)) + tiny, new.damping)

    negligible = stops.misfit * jnp.abs(search.misfit) + stops.floor
    vanished = jnp.max(jnp.abs(step.dx)) <= stops.step * (jnp.max(jnp.abs(search.x)) + 1.0)
    ends = (  # the first true one
        (first & ~accepted, Status.FAILED),
        (misfit < stops.target, Status.TARGET),
        (accepted & (jnp.max(jnp.abs(g)) <= stops.gradient), Status.GRADIENT),
        (first, Status.RUNNING),
        (vanished & failed, Status.BLOCKED),
        ((step.predicted <= negligible) & (jnp.abs(found) <= negligible), Status.MISFIT),
        (vanished, Status.STEP),
        (search.iteration >= stops.iterations, Status.LIMIT),
    )
    status = jnp.select([e[0] for e in ends], [jnp.array(int(e[1])) for e in ends], int(Status.RUNNING))
    return eqx.tree_at(lambda s: (s.status, s.damping), new, (status.astype(int), damping))


def evaluate(problem: AbstractProblem, x: Float[Array, " n"]) -> Evaluation:
    """One simulation at the unbounded x.

    **Arguments:** `problem`; `x` [n]. **Returns:** Evaluation.
    """
    return problem.evaluate(problem.fold(x))


def linearise(problem: AbstractProblem, x: Float[Array, " n"]) -> Slopes:
    """One simulation with all sensitivities at the unbounded x.

    **Arguments:** `problem`; `x` [n]. **Returns:** Slopes.
    """
    s, scale = _scale(problem, x)
    return Slopes(problem.linearise(s), scale)


def evaluate_and_linearise(problem: Problem, x: Float[Array, " n"]) -> tuple[Evaluation, Slopes]:
    """`evaluate` and `linearise` from the same simulation.

    **Arguments:** `problem`; `x` [n]. **Returns:** Evaluation, Slopes.
    """
    s, scale = _scale(problem, x)
    found, jacobian = problem.evaluate_and_linearise(s)
    return found, Slopes(jacobian, scale)


def _scale(problem: AbstractProblem, x: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """The prior-scaled s at x, and ds/dx, 0 for held unknowns."""
    s, scale = jax.jvp(problem.fold, (x,), (jnp.ones_like(x),))
    return s, jnp.where(problem.free_mask, scale, 0.0)


def levenberg_marquardt(problem: AbstractProblem, x: Float[Array, " n"], stops: Stops) -> Search:
    """The minimum of |r(x)|^2 from x, as a loop that may be a part of another compiled program.

    A trial point costs one forward simulation; the Jacobian (one forward-mode simulation with all sensitivities) is
    computed for accepted steps only. The start is the first trial of the loop, so that simulator and sensitivities
    are compiled once each.

    **Arguments:** `problem`; `x` [n]: start; a NaN one costs nothing and ends as FAILED; `stops`. **Returns:**
    Search.
    **Source:** Madsen, Nielsen and Tingleff, Methods for non-linear least squares problems (2004), alg. 3.16.
    """

    def step(search):
        proposal = propose(search, problem.free_mask)
        trial = evaluate(problem, proposal.x)
        slopes = jax.lax.cond(
            trial.misfit < search.misfit,
            lambda: linearise(problem, proposal.x),
            lambda: search.slopes,
        )
        return accept_or_reject(search, proposal, trial, slopes, stops)

    running = lambda search: search.status == Status.RUNNING  # noqa: E731
    return jax.lax.while_loop(running, step, start_search(problem.rows, x, stops))
