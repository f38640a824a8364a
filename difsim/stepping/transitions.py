"""How the end of a motion depends on its start: the state-transition matrix, and that of a landing."""

from typing import Any

import equinox as eqx
import jax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from difsim.dynamics import AbstractModel
from difsim.stepping.methods import AbstractMethod
from difsim.stepping.solve import Solution, simulate
from difsim.stepping.status import raise_unless_ok
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
    method: AbstractMethod,
    throw: bool = True,
) -> Transition:
    """Follow `model` as `simulate` does, with the derivatives of the end (forward mode).

    With `Coast()` the derivative of the state is the state-transition matrix Φ; with `ToContact()` it is
    Φ + f ∂t/∂x₀, the landing's, f the rate of the state there.

    **Arguments and errors:** those of `simulate`.
    """
    flat, unravel = ravel_pytree(state)

    def end(start):
        solution = simulate(model, unravel(start), times, method=method, throw=False)
        return (ravel_pytree(solution.last)[0], solution.times[-1]), solution

    (by_state, by_time), solution = jax.jacfwd(end, has_aux=True)(flat)
    if throw and is_known(solution.status):
        raise_unless_ok(solution.status)
    return Transition(solution=solution, state=by_state, time=by_time)
