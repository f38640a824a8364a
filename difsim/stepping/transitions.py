"""The state-transition matrix of a motion, and that of a landing."""

from typing import Any

import equinox as eqx
import jax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from difsim.checks import require_state
from difsim.dynamics import AbstractModel
from difsim.status import raise_unless_ok
from difsim.stepping.solution import Solution
from difsim.stepping.solve import simulate
from difsim.stepping.solvers import AbstractSolver
from difsim.stepping.stops import AbstractStop
from difsim.typing import is_known


class Transition(eqx.Module):
    """A `solution` and the derivatives of its end by its start, in the order of the state's numbers.

    `state` [n, n], ∂(last state)/∂(first state); `time` [n], ∂(last time)/∂(first state) in s per unit, zero
    unless the motion ends at a contact (then the last state is that at the contact, wherever and whenever).
    """

    solution: Solution
    state: Float[Array, "n n"]
    time: Float[Array, "n"]


def transition(
    model: AbstractModel,
    state: Any,
    times: Float[Array, "T"],
    *,
    solver: AbstractSolver | None = None,
    until: AbstractStop | tuple[AbstractStop, ...] | None = None,
    throw: bool = True,
) -> Transition:
    """Simulate `model` with the derivatives of the end (forward mode).

    The derivative of the state is the state-transition matrix Φ. With `until=AtContact()` it is that of the landing,
    Φ + f ∂t/∂x₀, where f is the rate of the state there.

    **Arguments:** those of `simulate`.
    **Returns:** a `Transition`.
    **Raises:** as `simulate`.
    """
    require_state("transition", model, state)
    flat, unravel = ravel_pytree(state)

    def end(start):
        solution = simulate(model, unravel(start), times, solver=solver, until=until, throw=False)
        return (ravel_pytree(solution.last)[0], solution.times[-1]), solution

    (by_state, by_time), solution = jax.jacfwd(end, has_aux=True)(flat)
    if throw and is_known(solution.status):
        raise_unless_ok(solution.status)
    return Transition(solution=solution, state=by_state, time=by_time)
