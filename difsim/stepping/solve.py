"""`simulate`: one call for every model; solver, derivative and stopping rule are independent choices."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from difsim.checks import require_function, require_state
from difsim.declarations import is_valid
from difsim.dynamics import AbstractModel, Pair
from difsim.particles.model import AbstractParticles
from difsim.stepping.collision import collide
from difsim.stepping.derivatives import AbstractDerivative
from difsim.stepping.integrals import Integrands
from difsim.stepping.outcome import Outcome, conclude, raise_failed
from difsim.stepping.particles import march, with_neighbours
from difsim.stepping.precision import warn_of_single
from difsim.stepping.smooth import integrate
from difsim.stepping.solution import Solution
from difsim.stepping.solvers import AbstractSolver
from difsim.stepping.stops import AbstractStop
from difsim.stepping.table import Choice, choose
from difsim.stepping.trust import AbstractTrust, Refuse
from difsim.stepping.validity import watch_discontinuous
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
    trust: AbstractTrust = Refuse(),  # noqa: B008
    throw: bool = True,
) -> Solution:
    """Simulate `model` from `state` at `times[0]` through the later `times`.

    It is a pure function, and means the same inside `jit`, `vmap` and derivatives as outside. Anything computed from
    the result can be differentiated as `derivative` says. What can be combined with what is a table
    (docs/architecture.md); any other combination is refused with what can be run. Long runs of particles, whose
    neighbour lists grow and which a folder keeps, are made by `run`.

    **Arguments:**

    - `model`: an `AbstractModel`, one with impacts, particles or a `Pair` of stones.
    - `state`: the model's own, at `times[0]`: a pytree of floating arrays.
    - `times`: [T] s, increasing.
    - `solver`: `Adaptive(rtol, atol, order)` (the default), `FixedSteps(n)`, of particles `Courant(fraction)` (theirs).
      Particles have a neighbour list of fixed capacity. Inside `jit` it is found before, outside of it:
      `Courant(neighbours=allocate(model, state))`.
    - `derivative`: `Forward()` (the default of adaptive steps): tangents under the solver's error control, for
      `jax.jacfwd`; `Reverse()`: through the steps taken, for `jax.grad`; `Unrolled()` (of equal steps): both. Particles
      have values only by default. A mode that the choice does not have raises `ValueError` as it is traced.
    - `until`: what ends the motion earlier, one rule or several: `AtContact()`, `AtRest()`, `Outside(region)`,
      `MaxImpacts(n)` (of hard contact; 64 impacts by default).
    - `integrals`: a function of (model, t, state) to rates by name, which are integrated with the state into
      `solution.integrals`. Define it once, at the top of a file: each new function is compiled again.
    - `trust`: what to do about a derivative that is not to be trusted, `Refuse()`, `Warn()` or `Ignore()`.
    - `throw`: raise `RuntimeError` when the status is not OK. Inside `jit`, `vmap` or a derivative nothing can be
      raised: there the caller reads `status` (`jax.jacfwd(..., has_aux=True)` hands it out).

    **Returns:** a `Solution`.

    **Raises:** `ValueError` for a combination that is not in the table, times that do not increase, a state of another
    model, an attitude that is no unit quaternion, and particles inside `jit` without a neighbour list; `RuntimeError`
    as above.

    **Example:**

    ```python
    from difsim import dynamics, gravity, shape, simulate

    model = dynamics.Bouncer(gravity.Uniform((0, 0, -1e-4)), shape.Plane((0, 0, 0), (0, 0, 1)), 0.7)
    run = simulate(model, dynamics.PointState((0, 0, 1)), [0.0, 100.0, 200.0])
    print(run.status, run.states.position[:, 2])
    ```
    """
    choice = choose(model, solver, derivative, until, integrals)
    require_state("simulate", model, state)
    times = instants(times, "simulate")
    is_valid(state)
    if isinstance(model, AbstractParticles):
        state, choice = with_neighbours(model, state, choice)
    elif isinstance(model, AbstractModel):
        _check_options(state, choice)
    run = _solve_traced if _is_tracing() else _solve_compiled
    solution, doubt = run(model, state, times, choice, trust)
    trust.report(doubt)
    if throw:
        raise_failed(model, solution)
    return solution


def _check_options(state: Any, choice: Choice) -> None:
    """Refuse options of ordinary differential equations that the state or its precision does not have."""
    rules = choice.rules
    if (rules.rest is not None or rules.outside is not None) and not hasattr(state, "body"):
        raise ValueError(
            f"simulate: {type(state).__name__} has no rigid body `.body` that AtRest and Outside could look at"
        )
    warn_of_single(getattr(choice.solver, "rtol", None), state)
    if choice.integrals is not None:
        require_function("simulate: integrals", choice.integrals)


def _engine(model: Any) -> Callable[[Any, Any, Float[Array, " T"], Choice], Outcome]:
    match model:
        case AbstractParticles():
            return march
        case Pair():
            return collide
        case _:
            return integrate


def _solve(
    model: Any, state: Any, times: Float[Array, " T"], choice: Choice, trust: AbstractTrust
) -> tuple[Solution, Int[Array, ""]]:
    """The solution, and the status that its derivatives alone would have."""
    if isinstance(model, AbstractModel):
        model, state = watch_discontinuous(model, state, trust)
    outcome = _engine(model)(model, state, times, choice)
    return conclude(model, state, times, choice, trust, outcome)


_solve_compiled = eqx.filter_jit(_solve)


def _is_tracing() -> bool:
    """Whether what is computed now becomes a part of a program that is being traced."""
    return not is_known(jnp.zeros(()))


def _solve_traced(*given: Any) -> tuple[Solution, Int[Array, ""]]:
    """`_solve` as a part of the program that is being traced.

    `_solve_compiled` would be traced once for itself, and again for each derivative that is taken through it. As there,
    all arrays are traced: a known one becomes a copy, which costs nothing.
    """
    arrays, rest = eqx.partition(given, eqx.is_array)
    traced = jax.tree.map(lambda x: jnp.array(x, copy=True) if is_known(x) else x, arrays)
    return _solve(*eqx.combine(traced, rest))
