"""`simulate`: one call for every model; solver, derivative and stopping rule are independent choices."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from difsim.body.attitude import attitude_is_unit, require_attitude
from difsim.checks import require_function, state_of
from difsim.dynamics import AbstractModel, Pair
from difsim.fields import is_valid
from difsim.particles.model import AbstractParticles
from difsim.status import Status, raise_unless_ok
from difsim.stepping.adaptive import Problem, Run, flown, solved
from difsim.stepping.collision import run_pair
from difsim.stepping.derivatives import AbstractDerivative, Forward, Reverse
from difsim.stepping.energy import allowed_error, energy_error
from difsim.stepping.events import arcs
from difsim.stepping.fixed import equal_steps
from difsim.stepping.integrals import Integrands, Integrating
from difsim.stepping.marching import Progress
from difsim.stepping.modes import REVERSE, allow_one_reverse
from difsim.stepping.precision import warn_of_single
from difsim.stepping.running import failure, run_particles
from difsim.stepping.solution import Solution
from difsim.stepping.solvers import AbstractSolver, FixedSteps
from difsim.stepping.stops import AbstractStop
from difsim.stepping.table import Choice, choose
from difsim.stepping.validity import Validity, check_policy, tangent_growth, watch_discontinuous
from difsim.stepping.variational import scales_of
from difsim.typing import instants, is_known


def simulate(
    model: Any,
    state: Any,
    times: Any,
    *,
    solver: AbstractSolver | None = None,
    derivative: AbstractDerivative | None = None,
    until: AbstractStop | tuple[AbstractStop, ...] | None = None,
    integrals: Integrands | None = None,
    save: Callable[[Any], Any] | None = None,
    checkpoint: Path | None = None,
    watch: Callable[[float], None] | None = None,
    throw: bool = True,
    gradient: str = "refuse",
) -> Solution:
    """Simulate `model` from `state` at `times[0]` through the later `times`.

    Anything computed from the result can be differentiated as `derivative` says. What can be combined with what is a
    table (docs/architecture.md); any other combination is refused with what can be run.

    **Arguments:**

    - `model`: an `AbstractModel`, one with impacts, particles or a `Pair` of stones.
    - `state`: the model's own, at `times[0]`: a pytree of floating arrays.
    - `times`: [T] s, increasing.
    - `solver`: `Adaptive(rtol, atol, order)` (the default), `FixedSteps(n)`, of particles `Courant(fraction)` (theirs).
    - `derivative`: `Forward()` (the default of adaptive steps): tangents under the solver's error control, for
      `jax.jacfwd`; `Reverse()`: through the steps taken, for `jax.grad`; `Unrolled()` (of equal steps): both. Particles
      have values only by default, and neighbour lists that get more room when they need it. A mode that the choice
      does not have raises `ValueError` as it is traced.
    - `until`: what ends the motion earlier, one rule or several: `AtContact()`, `AtRest()`, `Outside(region)`,
      `MaxImpacts(n)` (of hard contact; 64 impacts by default).
    - `integrals`: a function of (model, t, state) to rates by name, which are integrated beside the state into
      `solution.integrals`. Define it once, at the top of a file: each new function is compiled anew.
    - `save`, `checkpoint`, `watch`: of particles, what is saved of each state; a folder, from which an interrupted run
      goes on; what is called at each time. `run_particles` describes them, and the `Progress` that may be the state.
    - `throw`: raise `RuntimeError` when the status is not OK. Inside `jit`, `vmap` or a derivative nothing can be
      raised: there the caller reads `status` (`jax.jacfwd(..., has_aux=True)` hands it out).
    - `gradient`: what to do about a derivative that is not to be trusted. "refuse": one through a law that
      `is_discontinuous` (its force jumps at touch, or rises there with an infinite slope) raises `ValueError`, too
      few steps per contact are the status UNDER_RESOLVED (for values too), and tangents that grew beyond
      `validity.limit` are PAST_VALIDITY. "warn": warnings instead, the last two where their numbers are known
      (outside `jit`). "ignore": neither; for runs of which only values are wanted.

    **Returns:** a `Solution`.

    **Raises:** `ValueError` for a combination that is not in the table, times that do not increase, another word for
    `gradient`, a state of another model, and an attitude that is no unit quaternion; `RuntimeError` as above.
    """
    check_policy(gradient)
    choice = choose(model, solver, derivative, until)
    state_of("simulate", model, state.motion.state if isinstance(state, Progress) else state)
    if isinstance(model, AbstractParticles | Pair) and integrals is not None:
        raise ValueError("simulate: integrals are of models that are ordinary differential equations")
    if isinstance(model, AbstractParticles):
        rule = choice.rules.rest or choice.rules.sample
        solution = run_particles(
            model, state, times, choice.solver, choice.derivative, rule, save, checkpoint, watch
        )
        if throw and is_known(solution.status) and not solution.ok:
            raise RuntimeError(f"{failure(solution)} (throw=False returns the status instead)")
        return solution
    if (save, checkpoint, watch) != (None, None, None):
        raise ValueError("simulate: save, checkpoint and watch are of particles: give none of them")
    if isinstance(model, Pair):
        solution = run_pair(model, state, times, choice.rules.impacts)
        if throw and is_known(solution.status):
            _raise_unless_ok(model, solution)
        return solution
    times = instants(times, "simulate")
    rules = choice.rules
    if (rules.rest is not None or rules.outside is not None) and not hasattr(state, "body"):
        raise ValueError(
            f"simulate: {type(state).__name__} has no rigid body `.body` that AtRest and Outside could look at"
        )
    require_attitude("simulate", state)
    warn_of_single(getattr(choice.solver, "rtol", None), state)
    if integrals is not None:
        require_function("simulate: integrals", integrals)
    run = _as_a_part if _inside_a_program() else _compiled
    solution, doubt = run(model, state, times, choice, integrals, gradient)
    if gradient == "warn" and is_known(doubt) and doubt != Status.OK:
        warnings.warn(f"simulate: {Status(int(doubt))}", stacklevel=2)
    if throw and is_known(solution.status):
        _raise_unless_ok(model, solution)
    return solution


def _raise_unless_ok(model: Any, solution: Solution) -> None:
    if jnp.any(solution.status == Status.INVALID_MODEL) and is_known(model):
        is_valid(model)  # names the field
    raise_unless_ok(solution.status)


def _inside_a_program() -> bool:
    """Whether what is computed now becomes a part of a program that is being traced."""
    return not is_known(jnp.zeros(()))


def _simulate(
    model: AbstractModel, state: Any, times: Array, choice: Choice, integrals: Integrands | None, gradient: str
) -> tuple[Solution, Array]:
    """The solution, and the status that its derivatives alone would have."""
    model, state = watch_discontinuous(model, state, gradient)
    if isinstance(choice.derivative, Reverse):
        model, state, times = allow_one_reverse((model, state, times), REVERSE)
    system = Integrating(model, integrals)
    joined = system.start(times[0], state)
    scales = scales_of(system, times[0], joined)
    dtype, size = scales.unit.dtype, ravel_pytree(state)[0].size
    asked, choice = choice, choice.within(dtype)
    run = _run(choice, Problem(system, scales, scales.numbers(joined), times))
    states, beside = jax.vmap(scales.state)(run.states)
    validity = _validity(model, state, run, choice, size)
    past = jnp.where(validity.is_past, int(Status.PAST_VALIDITY), int(Status.OK))
    ended = run.status > Status.UNDER_RESOLVED
    doubt = jnp.where(ended, int(Status.OK), jnp.maximum(run.status, past))
    status = jnp.where(ended, run.status, doubt if gradient == "refuse" else int(Status.OK))
    status = jnp.where(model.starts_inside(state), jnp.maximum(status, int(Status.INSIDE)), status)
    energy = jax.vmap(system.energy)(run.times, (states, beside))
    error = energy_error(energy, system.energy_unit(times[0], state), dtype)
    unaccounted = error > allowed_error(getattr(choice.solver, "rtol", 0.0), error.dtype)
    status = jnp.where(unaccounted & ~ended, int(Status.ENERGY), status)
    finite = jnp.all(jnp.isfinite(run.states)) & jnp.all(jnp.isfinite(ravel_pytree(energy)[0]))
    # Times that a solve did not reach are filled with inf: that is not the reason why it ended.
    nonfinite = jnp.any(jnp.isnan(run.states)) | (~ended & ~finite)
    status = jnp.where(nonfinite, int(Status.NOT_FINITE), status)
    # What was given tells more than what came of it.
    is_possible = attitude_is_unit(state) & jnp.all(jnp.diff(times) > 0)
    status = jnp.where(is_possible, status, int(Status.INVALID_STATE))
    status = jnp.where(is_valid((model, asked)), status, int(Status.INVALID_MODEL))
    solution = Solution(
        times=run.times,
        states=states,
        last=jax.tree.map(lambda x: x[-1], states),
        status=status,
        stats=run.stats,
        energy=energy,
        integrals=beside.asked,
        energy_error=error,
        validity=validity,
    )
    return solution, doubt


_compiled = eqx.filter_jit(_simulate)


def _as_a_part(*given: Any) -> tuple[Solution, Array]:
    """`_simulate` as a part of the program that is being traced.

    `_compiled` would be traced once for itself, and again for each derivative that is taken through it. As there, all
    arrays are traced: a known one becomes a copy, which costs nothing.
    """
    arrays, rest = eqx.partition(given, eqx.is_array)
    traced = jax.tree.map(lambda x: jnp.array(x, copy=True) if is_known(x) else x, arrays)
    return _simulate(*eqx.combine(traced, rest))


def _run(choice: Choice, problem: Problem) -> Run:
    if isinstance(choice.solver, FixedSteps):
        return equal_steps(choice, problem)
    return solved(flown if choice.rules.impacts is None else arcs, choice, problem)


def _validity(model: AbstractModel, state: Any, run: Run, choice: Choice, size: int) -> Validity:
    dtype, growth, tolerance = run.states.dtype, jnp.nan, jnp.nan
    if isinstance(choice.derivative, Forward):  # in reverse mode no tangent exists while the solution is made
        growth, tolerance = tangent_growth((model, state), run.states[:, :size]), choice.solver.rtol
    return Validity(
        growth=jnp.asarray(growth, dtype),
        contacts=jnp.asarray(run.stats.contacts),
        tolerance=jnp.asarray(tolerance, dtype),
    )
