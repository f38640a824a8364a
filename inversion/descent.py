"""First-order and stochastic minimisation: many unknowns by reverse derivatives, and objectives with noise.

One simulation with its reverse derivative costs a few simulations, whatever the number of unknowns. Where single
paths have useless derivatives, the gradient of a smoothed objective comes from values alone.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from difsim.checks import CallError, explain_errors, integer, random_key, require_function
from difsim.saving.checkpoint import Checkpoint
from difsim.saving.marks import digest
from difsim.status import Status
from difsim.typing import Scalar

from .batches import map_batched
from .coordinates import AbstractCoordinates, Coordinates, strip_weak_types, to_plain
from .problem import Problem
from .progress import Bar, Progress
from .unknowns import AbstractParameter

Objective = Callable[[dict[str, Array], Array], Scalar]


@dataclass(frozen=True)
class Descent:
    """The end of a descent.

    `values`: all parameters: at the lowest misfit of a Problem, at the mean of the iterates of a function; `value`:
    the misfit there, or the mean of the function over the last window of steps, with its standard `error`; `gradient`
    and `gradient_error` [n], by the unbounded coordinates: the mean over the last window, and its standard error;
    `steps`: those taken; `failed`: evaluations that were not finite; `history`: the mean value of each window;
    `last` [n]: the last iterate. Check `status`: `Status.is_converged` tells a minimum from the end of patience.
    """

    values: dict[str, Any]
    value: float
    error: float
    gradient: np.ndarray
    gradient_error: np.ndarray
    status: Status
    steps: int
    failed: int
    history: np.ndarray
    last: np.ndarray

    def __str__(self) -> str:
        return f"descent: {self.value:.6g} +- {self.error:.2g} after {self.steps} steps ({self.status})"


class _State(eqx.Module):
    """The state between two windows."""

    x: Float[Array, " n"]
    valid: Float[Array, " n"]  # the last x with a finite value
    best: Float[Array, " n"]
    least: Scalar  # the value at `best`
    mean: Float[Array, " n"]
    count: Int[Array, ""]  # steps with a finite value
    step: Int[Array, ""]
    optimiser: Any


class _Window(eqx.Module):
    """The steps of a window: values and gradients (NaN where all evaluations failed), and numbers of failures."""

    value: Float[Array, "*w"]
    gradient: Float[Array, "*w n"]
    failed: Int[Array, "*w"]


def descend(
    objective: Problem | Objective,
    parameters: Mapping[str, AbstractParameter] | None = None,
    *,
    key: Array,
    guess: Mapping[str, Any] | None = None,
    optimiser: optax.GradientTransformation | None = None,
    steps: int = 2000,
    window: int = 50,
    seeds: int = 1,
    spread: float | None = None,
    tolerance: float = 1e-3,
    batch_size: int | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress = False,
    throw: bool = True,
) -> Descent:
    """The minimum of a misfit, or of the expectation of a noisy function, by steps of an optimiser of optax.

    Steps are taken in the unbounded coordinates of the parameters, so that bounds hold. A step of a function is made
    with the mean gradient of `seeds` random keys, new ones in each step; its iterates are averaged with weights that
    grow with their number. A step whose evaluations all fail is halved.

    A descent of a Problem has converged when its lowest misfit fell by less than `tolerance` in a window, and the
    mean of the window is as near to it: the steps do not merely swing about a valley (MISFIT). That of a function has
    converged when the mean gradient of two windows in a row is zero within its noise, by a chi-squared test at 5 %
    (NOISE): what is left is not resolved with that many steps and seeds.

    For standard deviations, start `fit` at the values found, where the number of unknowns allows it.

    **Arguments:** `objective`: a Problem, whose misfit with its priors is minimised, or a traceable function (values
    by name, key) -> number, the same function each time (priors are then up to the function); `parameters`: name ->
    parameter, for a function; `key`; `guess`: the start, by default the middle of the prior; `optimiser`: of optax,
    by default Adam with a rate that falls from 0.1 to 0.001; `steps`: at most, a multiple of `window`, after which
    convergence is tested and a checkpoint is written; `seeds` per step (with `spread` pairs of evaluations);
    `spread`: None takes the reverse derivative; a number smooths the objective by a Gaussian of that standard
    deviation in the unbounded coordinates (an interval is pi wide there), and takes its gradient from values alone;
    `tolerance`; `batch_size` of `map_batched`, over seeds; `checkpoint`: keeps finished windows, so that a killed
    descent goes on and ends with the same bits; `progress`: as of `fit`; `throw`: raise if no evaluation is finite.
    **Returns:** Descent, with status MISFIT, NOISE, LIMIT, BLOCKED or FAILED.
    **Raises:** ValueError for undecided Discrete parameters, nothing free, or settings out of range; RuntimeError
    when the start has no finite value with a finite gradient (unless throw=False).
    **Source:** averaging: Shamir & Zhang (2013), ICML 28, 71; smoothing: Nesterov & Spokoiny (2017), Found. Comput.
    Math. 17, 527.
    """
    if not isinstance(objective, Problem):
        require_function("descend: objective", objective)
    space = _space(objective, parameters)
    random_key("descend: key", key)
    for name, given in (("steps", steps), ("window", window), ("seeds", seeds)):
        integer(f"descend: {name}", given, 0)
    if steps < window or steps % window or window < 4:
        raise ValueError(f"descend: steps = {steps} must be a multiple of window = {window}, which is 4 or more")
    if seeds < 1 or (spread is not None and not spread > 0):
        raise ValueError(f"descend: seeds = {seeds} must be 1 or more, and spread = {spread} positive")
    if isinstance(objective, Problem) and seeds > 1 and spread is None:
        raise ValueError(f"descend: a Problem has no noise: {seeds} seeds would be {seeds} times the same")
    optimiser = optimiser or optax.adam(optax.cosine_decay_schedule(0.1, steps, alpha=0.01))
    middle = jnp.full(space.size, 0.5, space.held.dtype)
    x = space.start("descend", guess) if guess else space.unfold(space.quantile(middle))
    state = _begin(x, optimiser)
    settings = (objective, space, optimiser, key, window, seeds, spread, batch_size)
    mark = digest((np.asarray(x), np.asarray(jax.random.key_data(key)), steps, window, seeds, spread))[:16]
    windows: list[_Window] = []
    status = Status.RUNNING
    with Bar("descent", steps, progress) as bar:
        while status == Status.RUNNING:
            before = float(state.least)
            state, made = _load_or_run(checkpoint, f"descent-{mark}-{len(windows):05d}", state, settings)
            windows.append(made)
            status = _final_status(
                isinstance(objective, Problem), space, windows, before, float(state.least), tolerance
            )
            if status == Status.RUNNING and len(windows) * window >= steps:
                status = Status.LIMIT
            value = float(jnp.nanmean(made.value)) if np.isfinite(state.least) else np.nan
            bar.reach(len(windows) * window, f"value {value:.4g}")
    if status == Status.FAILED and throw:
        raise RuntimeError(
            "descend: the objective, or its gradient, is not finite at the start: give another guess, look at the "
            "objective there, or pass throw=False"
        )
    return _report(isinstance(objective, Problem), space, state, windows, status)


def _space(
    objective: Problem | Objective, parameters: Mapping[str, AbstractParameter] | None
) -> AbstractCoordinates:
    if isinstance(objective, Problem) and parameters is None:
        space = objective
    elif parameters is not None and not isinstance(objective, Problem):
        space = Coordinates(parameters)
    else:
        raise ValueError("descend: give either a Problem, or a function and its parameters")
    space.require_decided()
    if not space.free:
        raise ValueError("descend: every parameter is held: nothing to find")
    return space


def _begin(x: Float[Array, " n"], optimiser: optax.GradientTransformation) -> _State:
    none = jnp.zeros((), int)
    least = jnp.full((), jnp.inf, x.dtype)
    return strip_weak_types(_State(x, x, x, least, jnp.zeros_like(x), none, none, optimiser.init(x)))


def _load_or_run(
    checkpoint: Checkpoint | None, key: str, state: _State, settings: tuple
) -> tuple[_State, _Window]:
    """The state after a window and what was seen in it, from the checkpoint if it holds them."""
    if checkpoint is None:
        return _run(state, *settings)
    if key in checkpoint:
        return checkpoint.read_tree(key, jax.eval_shape(lambda state: _run(state, *settings), state))
    made = _run(state, *settings)
    checkpoint.write_tree(key, made)
    return made


@eqx.filter_jit
def _run(state, objective, space, optimiser, key, window, seeds, spread, batch_size):
    """A window of steps."""
    is_problem = isinstance(objective, Problem)
    mask = space.free_mask

    def value(x, key):
        if is_problem:
            return objective.evaluate(space.fold(x)).misfit
        value = explain_errors("descend: objective", objective)(space.values(x), key)
        if jnp.shape(value) != ():
            raise CallError(f"descend: objective returned shape {jnp.shape(value)}: return one number")
        return jnp.asarray(value, x.dtype)

    def slope(x, key):
        """The value and the gradient for one key."""
        if spread is None:
            return jax.value_and_grad(value)(x, key)
        draw, key = jax.random.split(key)
        xi = jnp.where(mask, jax.random.normal(draw, x.shape, x.dtype), 0.0)
        # Both of a pair have the same key: what the key changes in both alike cancels.
        ahead, back = jax.lax.map(lambda sign: value(x + sign * spread * xi, key), jnp.array([1.0, -1.0], x.dtype))
        return 0.5 * (ahead + back), (ahead - back) / (2.0 * spread) * xi

    def mean(x, keys):
        """The mean over the keys, without those that failed; NaN if all did."""
        if seeds == 1:
            values, slopes = (leaf[None] for leaf in slope(x, keys[0]))
        else:
            values, slopes = map_batched(lambda key: slope(x, key), keys, batch_size)
        ok = jnp.isfinite(values) & jnp.all(jnp.isfinite(slopes), axis=1)
        total, count = jnp.sum(jnp.where(ok, values, 0.0)), jnp.sum(ok)
        g = jnp.sum(jnp.where(ok[:, None], slopes, 0.0), axis=0) / count
        return total / count, jnp.where(mask, g, 0.0 * g), seeds - count

    def level(x, keys):
        """The mean value over the keys, for line searches."""
        return jnp.mean(jax.lax.map(lambda key: value(x, key) if spread is None else slope(x, key)[0], keys))

    def step(state: _State, _):
        keys = jax.random.split(jax.random.fold_in(key, state.step), seeds)
        v, g, failed = mean(state.x, keys)
        ok = jnp.isfinite(v) & jnp.all(jnp.isfinite(g))
        safe = jnp.where(ok, g, 0.0)
        update: Any = optax.with_extra_args_support(optimiser).update
        change, inner = update(
            safe,
            state.optimiser,
            state.x,
            value=v,
            grad=safe,
            value_fn=lambda x: level(x, keys),
        )
        count = state.count + ok
        weight = 9.0 / (count + 8.0)  # 8: the last eighth or so of the iterates has most of the weight
        better = ok & (v < state.least)
        new = _State(
            x=jnp.where(ok, state.x + change, 0.5 * (state.x + state.valid)),
            valid=jnp.where(ok, state.x, state.valid),
            best=jnp.where(better, state.x, state.best),
            least=jnp.where(better, v, state.least),
            mean=jnp.where(ok, (1.0 - weight) * state.mean + weight * state.x, state.mean),
            count=count,
            step=state.step + 1,
            optimiser=jax.tree.map(lambda new, old: jnp.where(ok, new, old), inner, state.optimiser),
        )
        return new, _Window(v, g, failed)

    return jax.lax.scan(step, state, length=window)


def _test(made: _Window, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean gradient of a window by the free coordinates, and its standard error."""
    g = np.asarray(made.gradient)[:, free]
    g = g[np.isfinite(g).all(axis=1)]
    if len(g) < 2:
        return np.full(g.shape[1], np.nan), np.full(g.shape[1], np.nan)
    return g.mean(axis=0), g.std(axis=0, ddof=1) / math.sqrt(len(g))


def _final_status(
    is_problem: bool,
    space: AbstractCoordinates,
    windows: list[_Window],
    before: float,
    after: float,
    tolerance: float,
) -> Status:
    """The status after the last of the windows."""
    from scipy.special import chdtrc

    if not np.isfinite(after):
        return Status.FAILED
    if not np.isfinite(np.asarray(windows[-1].value)).any():
        return Status.BLOCKED
    if is_problem:
        fell, above = before - after, np.nanmean(np.asarray(windows[-1].value)) - after
        return Status.MISFIT if max(fell, above) < tolerance else Status.RUNNING
    free = np.asarray(space.free_mask)
    if len(windows) < 2:
        return Status.RUNNING
    for made in windows[-2:]:
        g, error = _test(made, free)
        squares = np.sum(np.divide(g, error, out=np.zeros_like(g), where=error > 0) ** 2)
        if not chdtrc(free.sum(), squares) > 0.05:
            return Status.RUNNING
    return Status.NOISE


def _report(
    is_problem: bool, space: AbstractCoordinates, state: _State, windows: list[_Window], status: Status
) -> Descent:
    values = np.concatenate([np.asarray(made.value) for made in windows])
    last = np.asarray(windows[-1].value)
    last = last[np.isfinite(last)]
    g, error = (np.zeros(space.size) for _ in range(2))
    free = np.asarray(space.free_mask)
    g[free], error[free] = _test(windows[-1], free)
    known = np.isfinite(float(state.least))
    scatter = last.std(ddof=1) / math.sqrt(last.size) if last.size > 1 else np.nan
    x = state.best if is_problem else state.mean
    rows = values.reshape(len(windows), -1)
    return Descent(
        values={k: to_plain(v) for k, v in space.values(x if known else state.x).items()},
        value=float(state.least) if is_problem else float(last.mean()) if last.size else np.inf,
        error=0.0 if is_problem and known else float(scatter),
        gradient=g,
        gradient_error=error,
        status=status,
        steps=values.size,
        failed=int(sum(np.sum(np.asarray(made.failed)) for made in windows)),
        history=np.array([row[np.isfinite(row)].mean() if np.isfinite(row).any() else np.inf for row in rows]),
        last=np.asarray(state.x),
    )
