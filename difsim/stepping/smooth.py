"""The engine of ordinary differential equations, with impacts or without, and their derivatives."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from difsim.dynamics import AbstractModel
from difsim.status import Status
from difsim.stepping.adaptive import Problem, Run, run_engine, run_flight
from difsim.stepping.derivatives import Forward, Reverse
from difsim.stepping.events import arcs
from difsim.stepping.fixed import equal_steps
from difsim.stepping.integrals import Integrating
from difsim.stepping.modes import REVERSE, allow_one_reverse
from difsim.stepping.outcome import Outcome
from difsim.stepping.solvers import FixedSteps
from difsim.stepping.table import Choice
from difsim.stepping.validity import tangent_growth
from difsim.stepping.variational import scales_of

WITHOUT_GROWTH = (
    "{} takes derivatives of a solution that is there before the tangents are: give derivative=Forward() for the "
    "figure, or compare with differences"
)


def integrate(model: AbstractModel, state: Any, times: Float[Array, " T"], choice: Choice) -> Outcome:
    """The motion of an ordinary differential equation, and its integrals.

    **Arguments:** those of `simulate`; `choice`. **Returns:** the outcome.
    """
    if isinstance(choice.derivative, Reverse):
        model, state, times = allow_one_reverse((model, state, times), REVERSE)
    system = Integrating(model, choice.integrals)
    joined = system.start(times[0], state)
    scales = scales_of(system, times[0], joined)
    dtype, size = scales.unit.dtype, ravel_pytree(state)[0].size
    choice = choice.with_precision(dtype)
    run = _run(choice, Problem(system, scales, scales.numbers(joined), times))
    states, beside = jax.vmap(scales.state)(run.states)
    growth, without = jnp.full((), jnp.nan, dtype), ""
    if isinstance(choice.derivative, Forward):
        growth = tangent_growth((model, state), run.states[:, :size])
    else:
        without = WITHOUT_GROWTH.format(type(choice.derivative).__name__)
    is_inside = model.starts_inside(state)
    # Times that a solve did not reach are filled with inf: that is not the reason why it ended.
    is_finite = ~jnp.any(jnp.isnan(run.states))
    is_finite &= (run.status > Status.UNDER_RESOLVED) | jnp.all(jnp.isfinite(run.states))
    return Outcome(
        times=run.times,
        states=states,
        last=jax.tree.map(lambda x: x[-1], states),
        status=jnp.where(is_inside, jnp.maximum(run.status, int(Status.INSIDE)), run.status),
        is_finite=is_finite,
        stats=run.stats,
        energy=jax.vmap(system.energy)(run.times, (states, beside)),
        energy_unit=system.energy_unit(times[0], *map(scales.unravel, (scales.origin, scales.unit))),
        growth=growth,
        without_growth=without,
        integrals=beside.requested,
    )


def _run(choice: Choice, problem: Problem) -> Run:
    if isinstance(choice.solver, FixedSteps):
        return equal_steps(choice, problem)
    return run_engine(run_flight if choice.rules.impacts is None else arcs, choice, problem)
