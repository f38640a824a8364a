"""From release to rest: the solve ends where a body has lain still for a while, not at a time known beforehand.

A body that lies still costs a step now and then for ever, and regularised friction lets it creep on: the event
of rest ends both. The test is made at the ends of accepted steps. That is enough in flight, where gravity is
steady over a hop: |v|² is then convex in time, so a flight that is slow at both ends is slow in between.
"""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from difsim import safe
from difsim.body import RigidState
from difsim.body.attitude import attitude_is_unit, require_attitude
from difsim.dynamics import AbstractModel
from difsim.shape import AbstractSDF
from difsim.stepping.energy import allowed_error, energy_error
from difsim.stepping.guard import ContactGuard, FiniteNorm, GuardState, adaptive
from difsim.stepping.methods import approach, status_of
from difsim.stepping.precision import finest_tolerance, warn_of_single
from difsim.stepping.status import Status, raise_unless_ok
from difsim.stepping.variational import plain, scales_of
from difsim.typing import Scalar, instants, is_known, is_valid, number, require


class Still(eqx.Module):
    """What counts as rest: |v| < `speed` m/s and |ω| < `spin` rad/s for `hold` s (paper 003, sec. 5.1).

    At the top of a hop under gravity g a body is slower than `speed` for 2 speed/g: let `hold` be longer.
    **Raises** `ValueError` unless all are positive.
    """

    speed: Scalar = number(default=1e-4)
    spin: Scalar = number(default=1e-3)
    hold: Scalar = number(default=10.0)

    def __check_init__(self):
        for name in ("speed", "spin", "hold"):
            value = getattr(self, name)
            require(value > 0, f"Still: {name} = {value} must be positive")

    def __call__(self, body: RigidState) -> Bool[Array, ""]:
        """Whether the body is as slow as that now."""
        return (safe.norm(body.velocity) < self.speed) & (safe.norm(body.spin) < self.spin)


class Settled(eqx.Module):
    """How a release ended.

    `times` [T] s and `states` as wanted; those after the end are the end's. `status`: OK at rest, UNSETTLED at the
    last time, LEFT outside the region, ENERGY where the account of the model does not close. `time` s since when
    the body lies still, NaN if it does not; `last`, the state at the end; `touchdown`, the state at the first step
    in contact (NaN where there was none), and `touch_time` s; `contacts` begun, `steps` taken, and their mean
    number in a contact.
    """

    times: Float[Array, "T"]
    states: Any
    status: Int[Array, ""]
    time: Scalar
    last: Any
    touchdown: Any
    touch_time: Scalar
    contacts: Int[Array, ""]
    steps: Int[Array, ""]
    steps_per_contact: Scalar


class _RestState(eqx.Module):
    guard: GuardState
    since: Scalar  # when the body began to lie still; inf while it moves
    touchdown: Float[Array, "1 n"]
    touch_time: Scalar
    left: Bool[Array, ""]


class _RestGuard(diffrax.AbstractAdaptiveStepSizeController):
    """The contact guard, which also ends the solve at rest and outside the region."""

    guard: ContactGuard
    still: Still
    region: AbstractSDF | None
    body_of: Any = eqx.field(static=True)

    @property
    def rtol(self):
        return self.guard.rtol

    @property
    def atol(self):
        return self.guard.atol

    @property
    def norm(self):
        return self.guard.norm

    def wrap(self, direction):
        return _RestGuard(self.guard.wrap(direction), self.still, self.region, self.body_of)

    def init(self, terms, t0, t1, y0, dt0, args, func, error_order):
        next_t1, guard = self.guard.init(terms, t0, t1, y0, dt0, args, func, error_order)
        nothing, nowhere = jnp.full_like(t0, jnp.nan), jnp.full_like(y0, jnp.nan)
        since = jnp.where(self.still(self.body_of(y0)), t0, jnp.inf)
        left = jnp.zeros((), bool)
        return next_t1, _RestState(guard, since, nowhere, nothing, left)

    def adapt_step_size(self, t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state):
        old = controller_state
        keep, next_t0, next_t1, made_jump, guard, result = self.guard.adapt_step_size(
            t0, t1, y0, y1_candidate, args, y_error, error_order, old.guard
        )
        body = self.body_of(y1_candidate)
        since = jnp.where(self.still(body), jnp.minimum(old.since, t1), jnp.inf)
        first = keep & guard.touching & jnp.isnan(old.touch_time)
        left = jnp.zeros((), bool) if self.region is None else keep & (self.region.distance(body.position) > 0)
        new = _RestState(
            guard,
            since=jnp.where(keep, since, old.since),
            touchdown=jnp.where(first, y1_candidate, old.touchdown),
            touch_time=jnp.where(first, t1, old.touch_time),
            left=left,
        )
        ended = keep & (left | (t1 - since >= self.still.hold))
        return (
            keep,
            next_t0,
            next_t1,
            made_jump,
            new,
            diffrax.RESULTS.where(ended, diffrax.RESULTS.event_occurred, result),
        )


def settle(
    model: AbstractModel,
    state: Any,
    times: Float[Array, "T"],
    still: Still | None = None,
    *,
    region: AbstractSDF | None = None,
    rtol: float = 1e-7,
    atol: float = 1e-7,
    max_steps: int = 100_000,
    throw: bool = True,
) -> Settled:
    """Follow a body from `state` at `times[0]` until it lies still, at most to `times[-1]`.

    Values only: after many bounces a derivative through them says nothing.

    **Arguments:** `model` with a rigid body in its state (`state.body`); `times` [T] s at which states are wanted;
    `still`, what counts as rest; `region`, a solid that the centre of mass must not leave (where the model ends,
    or beyond which it is lost); `rtol`, `atol` (of the motion's own scales) and `max_steps` of the steps; `throw`:
    raise `RuntimeError` when the status is not OK.
    **Raises** `ValueError` for times that do not increase and a state without a rigid body; `RuntimeError` as
    above.
    """
    if not isinstance(getattr(state, "body", None), RigidState):
        raise ValueError(f"settle: {type(state).__name__} has no rigid body `.body` that could come to rest")
    require_attitude("settle", state)
    warn_of_single(rtol, state)
    options = (rtol, atol, max_steps)
    settled = _settle(model, state, instants(times, "settle"), still or Still(), region, options)
    if throw and is_known(settled.status):
        raise_unless_ok(settled.status)
    return settled


@eqx.filter_jit
def _settle(model, state, times, still, region, options) -> Settled:
    rtol, atol, max_steps = options
    scales = scales_of(model, times[0], state)
    rtol, atol = (jnp.maximum(x, finest_tolerance(scales.unit.dtype)) for x in (rtol, atol))
    controller = adaptive(rtol, atol, times, FiniteNorm())
    system = plain(model, scales)
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, z, system: system.field(t, z)),
        diffrax.Tsit5(),
        t0=times[0],
        t1=times[-1],
        dt0=None,
        y0=scales.numbers(state)[None],
        args=system,
        # Two records, as in events.py: the end would follow the last time reached.
        saveat=diffrax.SaveAt(
            subs=[diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True)], controller_state=True
        ),
        stepsize_controller=_RestGuard(
            ContactGuard(controller, approach), still, region, lambda z: scales.state(z[0]).body
        ),
        adjoint=diffrax.ForwardMode(),
        max_steps=max_steps,
        throw=False,
    )
    reached, last = solution.ys[0][:, 0], solution.ys[1][0, 0]
    end = solution.ts[1][0]
    ending = solution.controller_state
    rest = (solution.result == diffrax.RESULTS.event_occurred) & ~ending.left
    status = status_of(solution.result, jnp.asarray(jnp.inf), 0.0)
    status = jnp.where((status == Status.OK) & ~rest, int(Status.UNSETTLED), status)
    status = jnp.where(ending.left, int(Status.LEFT), status)
    status = jnp.where(model.starts_inside(state), int(Status.INSIDE), status)
    later = times > end
    times = jnp.where(later, end, times)
    states = jax.vmap(scales.state)(jnp.where(later[:, None], last, reached))
    error = energy_error(jax.vmap(model.ledger)(times, states).get("energy", {}), last.dtype)
    lost = (status == Status.OK) & (error > allowed_error(rtol, last.dtype))
    status = jnp.where(lost, int(Status.ENERGY), status)
    status = jnp.where(attitude_is_unit(state), status, int(Status.INVALID_STATE))
    status = jnp.where(is_valid(model), status, int(Status.INVALID_MODEL))
    status = jnp.where(jnp.all(jnp.isfinite(last)), status, int(Status.NOT_FINITE))
    return Settled(
        times=times,
        states=states,
        status=status,
        time=jnp.where(rest, ending.since, jnp.nan),
        last=scales.state(last),
        touchdown=scales.state(ending.touchdown[0]),
        touch_time=ending.touch_time,
        contacts=ending.guard.contacts,
        steps=solution.stats["num_accepted_steps"],
        steps_per_contact=ending.guard.steps_per_contact,
    )
