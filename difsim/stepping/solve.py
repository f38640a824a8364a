"""`simulate`: one call for every model, one argument for how it is stepped and differentiated."""

import warnings
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from difsim.body import RigidState
from difsim.body.attitude import attitude_is_unit, require_attitude
from difsim.dynamics import AbstractImpactModel, AbstractModel
from difsim.stepping.energy import allowed_error, energy_error
from difsim.stepping.events import Events
from difsim.stepping.flight import ToContact
from difsim.stepping.methods import AbstractMethod, Problem, Sensitivities
from difsim.stepping.precision import warn_of_single
from difsim.stepping.status import REMEDY, Status, raise_unless_ok
from difsim.stepping.validity import Validity, check_policy, tangent_growth, watch_abrupt
from difsim.stepping.variational import scales_of
from difsim.typing import Scalar, instants, is_known, is_valid


class Solution(eqx.Module):
    """A trajectory and what is to be known about it.

    `times` [T] s of the states (with `ToContact` none is later than the contact); `states`, the model's state
    with a leading axis of T; `status` (a `Status` code); `ledger`, the model's accounts at each time; `steps`
    taken; `steps_per_contact`, the mean number of accepted steps between touch and lift-off (inf without
    contact); `validity`, how far derivatives of this solution can be trusted; `energy_error`, the largest drift of
    the energy, as a share of what is there.
    """

    times: Float[Array, "T"]
    states: Any
    status: Int[Array, ""]
    ledger: dict[str, Any]
    steps: Int[Array, ""]
    steps_per_contact: Float[Array, ""]
    validity: Validity
    energy_error: Scalar

    @property
    def last(self) -> Any:
        """The state at the last time."""
        return jax.tree.map(lambda x: x[-1], self.states)

    @property
    def ok(self) -> Array:
        """Whether the status is OK."""
        return self.status == Status.OK

    @property
    def values_are_valid(self) -> Array:
        """Whether the values stand: OK, or PAST_VALIDITY, which speaks of derivatives alone."""
        return self.ok | (self.status == Status.PAST_VALIDITY)


def simulate(
    model: AbstractModel,
    state: Any,
    times: Float[Array, "T"],
    *,
    method: AbstractMethod | None = None,
    throw: bool = True,
    gradient: str = "refuse",
) -> Solution:
    """Follow `model` from `state` at `times[0]` through the later `times`.

    Anything computed from the result can be differentiated as the `method` says. Forward (`jax.jacfwd`, `jax.jvp`)
    derivatives are under the solver's own error control: by `Sensitivities()` (the default), `Events(n)` (hard
    contact: located impacts; for an `AbstractImpactModel`), `Coast()` and `ToContact()` (flights of hours by steps
    of high order; the latter ends at the first contact). Reverse (`jax.grad`, `jax.vjp`) ones are those of steps
    that were chosen for the value: by `Checkpointed()`, `FixedSteps(n)` (both modes), and the last three with
    diffrax's `RecursiveCheckpointAdjoint()`.

    **Arguments:** `model`; `state` at `times[0]`, a pytree of floating arrays; `times` [T] s, increasing;
    `throw`: raise `RuntimeError` when the status is not OK. Inside `jit`, `vmap` or a derivative nothing can be
    raised: there the caller reads `status` (`jax.jacfwd(..., has_aux=True)` hands it out).

    `gradient`: what to do about a derivative that is not to be trusted. "refuse": one through a law that is
    `is_discontinuous` (jumps at touch, or rises there with an infinite slope) raises `ValueError`, too few steps per
    contact are the status UNDER_RESOLVED (for values too), and tangents that grew beyond `validity.limit` are
    PAST_VALIDITY. "warn": warnings instead, the last two where their numbers are known (outside `jit`). "ignore":
    neither; for runs of which only values are wanted.

    **Raises** `ValueError` for times that do not increase, another word for `gradient`, a `RigidState` in place of
    a model's own state, an attitude that is no unit quaternion, and a method that would let an
    `AbstractImpactModel` fall through its ground; `RuntimeError` as above.
    """
    check_policy(gradient)
    times = instants(times, "simulate")
    method = method or Sensitivities()
    if isinstance(model, AbstractImpactModel) and not isinstance(method, Events | ToContact):
        raise ValueError(
            f"simulate: {type(model).__name__} has impacts, which {type(method).__name__} does not see: give "
            "method=Events(n) for at most n of them"
        )
    if isinstance(state, RigidState) and hasattr(model, "start"):
        raise ValueError(
            f"simulate: the state of a {type(model).__name__} is more than its body's: give model.start(state)"
        )
    require_attitude("simulate", state)
    warn_of_single(getattr(method, "rtol", None), state)
    solution, doubt = _simulate(model, state, times, method, gradient)
    if gradient == "warn" and is_known(doubt) and doubt != Status.OK:
        warnings.warn(f"simulate: {REMEDY[Status(int(doubt))]}", stacklevel=2)
    if throw and is_known(solution.status):
        raise_unless_ok(solution.status)
    return solution


@eqx.filter_jit
def _simulate(
    model: AbstractModel, state: Any, times: Array, method: AbstractMethod, gradient: str
) -> tuple[Solution, Array]:
    """The solution, and the status that its derivatives alone would have."""
    model, state = watch_abrupt(model, state, gradient)
    scales = scales_of(model, times[0], state)
    method = method.within(scales.unit.dtype)
    run = method.solve(Problem(model, scales, scales.numbers(state), times))
    times = run.times
    states = jax.vmap(scales.state)(run.states)
    validity = _validity(model, state, run, method)
    past = jnp.where(validity.is_past, int(Status.PAST_VALIDITY), int(Status.OK))
    ended = run.status > Status.UNDER_RESOLVED
    doubt = jnp.where(ended, int(Status.OK), jnp.maximum(run.status, past))
    status = jnp.where(ended, run.status, doubt if gradient == "refuse" else int(Status.OK))
    status = jnp.where(model.starts_inside(state), jnp.maximum(status, int(Status.INSIDE)), status)
    ledger = jax.vmap(model.ledger)(times, states)
    error = energy_error(ledger.get("energy", {}), run.states.dtype)
    unaccounted = error > allowed_error(getattr(method, "rtol", 0.0), error.dtype)
    status = jnp.where(unaccounted & ~ended, int(Status.ENERGY), status)
    status = jnp.where(attitude_is_unit(state), status, int(Status.INVALID_STATE))
    status = jnp.where(is_valid(model), status, int(Status.INVALID_MODEL))
    finite = jnp.all(jnp.isfinite(run.states)) & jnp.all(jnp.isfinite(ravel_pytree(ledger)[0]))
    # Times that a solve did not reach are filled with inf: that is not the reason why it ended.
    nonfinite = jnp.any(jnp.isnan(run.states)) | (~ended & ~finite)
    solution = Solution(
        times=times,
        states=states,
        status=jnp.where(nonfinite, int(Status.NOT_FINITE), status),
        ledger=ledger,
        steps=run.steps,
        steps_per_contact=run.steps_per_contact,
        validity=validity,
        energy_error=error,
    )
    return solution, doubt


def _validity(model, state, run, method: AbstractMethod) -> Validity:
    tolerance, dtype = method.tangent_tolerance, run.states.dtype
    growth = jnp.nan if tolerance is None else tangent_growth((model, state), run.states)
    return Validity(
        growth=jnp.asarray(growth, dtype),
        contacts=jnp.asarray(run.contacts),
        tolerance=jnp.asarray(jnp.nan if tolerance is None else tolerance, dtype),
    )
