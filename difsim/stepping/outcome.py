"""The result of every engine, and the one way in which a `Solution` and its status are made from it."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from difsim.declarations import is_valid
from difsim.status import Status, raise_unless_ok
from difsim.stepping.energy import SHARE, allowed_error, energy_error
from difsim.stepping.solution import Solution, Stats, failure
from difsim.stepping.table import Choice
from difsim.stepping.trust import AbstractTrust
from difsim.stepping.validity import Validity
from difsim.typing import Scalar, is_known


class Outcome(eqx.Module):
    """The result of an engine.

    `times` [T] s and the `states` there; `last`, the state at the end. `status`, a `difsim.Status`: how the motion
    ended, or UNDER_RESOLVED; `is_finite`, whether all that was computed is. `stats`, numbers of steps and contacts.
    `energy` [T] J by name, whose sum is constant, and `energy_unit` J, the least energy that its drift is compared
    with: NaN where parts are missing, for the reason `without_balance`; `energy_share`, the share of it that steps
    without a tolerance may lose track of. `integrals` [T] by name. `growth` of the
    tangents: NaN where it is not known, for the reason `without_growth`. `impacts` of two stones, `loads` [T] and
    `progress` of particles.
    """

    times: Float[Any, "T"]
    states: Any
    last: Any
    status: Int[Array, ""]
    is_finite: Bool[Array, ""]
    stats: Stats
    energy: dict[str, Any]
    energy_unit: Scalar
    growth: Scalar
    without_growth: str = eqx.field(static=True, default="")
    without_balance: str = eqx.field(static=True, default="")
    energy_share: float = eqx.field(static=True, default=SHARE)
    integrals: dict[str, Any] = eqx.field(default_factory=dict)
    impacts: Any = None
    loads: Any = ()
    progress: Any = None


def conclude(
    model: Any, state: Any, times: Any, choice: Choice, trust: AbstractTrust, outcome: Outcome
) -> tuple[Solution, Int[Array, ""]]:
    """Judge an outcome. Under jit.

    Of two statuses the later one below counts: that of the motion's end goes before that of its energy, and one of a
    wrong model or state before all.

    **Arguments:** those of `simulate`; `choice`; `outcome` of its engine.
    **Returns:** the solution, and the status that its derivatives alone would have.
    """
    dtype = ravel_pytree(state)[0].dtype
    tolerance = jnp.nan if choice.solver is None else getattr(choice.solver.with_precision(dtype), "rtol", jnp.nan)
    contacts = outcome.stats.contacts
    validity = Validity(
        growth=jnp.asarray(outcome.growth, dtype),
        contacts=jnp.asarray(jnp.nan if contacts is None else contacts),
        tolerance=jnp.asarray(tolerance, dtype),
    )
    past = jnp.where(validity.is_past, int(Status.PAST_VALIDITY), int(Status.OK))
    has_ended = outcome.status > Status.UNDER_RESOLVED
    doubt = jnp.where(has_ended, int(Status.OK), jnp.maximum(outcome.status, past))
    status = jnp.where(has_ended, outcome.status, trust.judge(doubt))
    error = energy_error(outcome.energy, outcome.energy_unit, dtype)
    allowed = jnp.maximum(outcome.energy_share, allowed_error(jnp.nan_to_num(validity.tolerance), error.dtype))
    status = jnp.where((error > allowed) & ~has_ended, int(Status.ENERGY), status)
    is_finite = outcome.is_finite & (has_ended | jnp.all(jnp.isfinite(ravel_pytree(outcome.energy)[0])))
    status = jnp.where(is_finite, status, int(Status.NOT_FINITE))
    is_possible = is_valid(state) & jnp.all(jnp.diff(times) > 0)
    status = jnp.where(is_possible, status, int(Status.INVALID_STATE))
    status = jnp.where(is_valid((model, choice)), status, int(Status.INVALID_MODEL))
    solution = Solution(
        times=outcome.times,
        states=outcome.states,
        last=outcome.last,
        status=status.astype(jnp.int32),
        stats=outcome.stats,
        energy=outcome.energy,
        integrals=outcome.integrals,
        energy_error=error,
        validity=validity,
        impacts=outcome.impacts,
        loads=outcome.loads,
        progress=outcome.progress,
        unknown=_unknown(type(model).__name__, outcome),
    )
    return solution, doubt


def _unknown(model: str, outcome: Outcome) -> tuple[str, ...]:
    """The figures that there are not, each with the reason."""
    missing = [f"validity: growth of the tangents: {outcome.without_growth}"] if outcome.without_growth else []
    if outcome.stats.contacts is None:
        missing.append(f"validity, stats: contacts: a {model} does not count them, nor their steps")
    if outcome.without_balance or not outcome.energy:
        missing.append(f"energy_error: {outcome.without_balance or f'a {model} keeps no account of its energy'}")
    return tuple(missing)


def raise_failed(model: Any, solution: Solution) -> None:
    """Raise `RuntimeError` with the reason for a known status that is not OK. **Raises:** it."""
    if not is_known(solution.status):
        return
    if jnp.any(solution.status == Status.INVALID_MODEL) and is_known(model):
        is_valid(model)  # names the field
    if solution.progress is not None and not solution.ok:
        raise RuntimeError(f"{failure(solution)} (throw=False returns the status instead)")
    raise_unless_ok(solution.status)
