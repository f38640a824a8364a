"""How a trajectory is stepped and differentiated: six methods behind one interface.

| method | derivatives | for |
|---|---|---|
| `Sensitivities` | forward, under the solver's own error control | up to some ten parameters: fits |
| `Checkpointed` | reverse, through the adaptive steps | many parameters, smooth contact |
| `FixedSteps` | both, through equal steps | checks against finite differences; sweeps of equal cost |
| `Events` (events.py) | both, through located impacts | hard contact |
| `Coast` (flight.py) | both, through adaptive steps of high order | smooth flight, for hours |
| `ToContact` (flight.py) | both, of the landing's time too | flight that ends at the first contact |
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim.dynamics import AbstractModel
from difsim.stepping.guard import ContactGuard, FiniteNorm, adaptive
from difsim.stepping.sensitivity import forward_sensitivities
from difsim.stepping.status import Status
from difsim.typing import Scalar, number, require


class Run(eqx.Module):
    """States [T, n] at the wanted times ([T, 1 + p, n] with sensitivities as rows), status, accepted steps,
    mean steps per contact, contacts begun, and the states' own `times` where the motion ended before the wanted
    ones."""

    states: Float[Array, "T *rows n"]
    status: Int[Array, ""]
    steps: Int[Array, ""]
    steps_per_contact: Float[Array, ""]
    contacts: Int[Array, ""] | int = 0
    times: Float[Array, "T"] | None = None


class AbstractMethod(eqx.Module):
    """A way to step a model and to differentiate the result.

    **Raises** `ValueError` for tolerances or a number of steps that are not positive, where a method has them.
    """

    def __check_init__(self):
        for name in ("rtol", "atol", "max_steps"):
            value = getattr(self, name, 1)
            require(value > 0, f"{type(self).__name__}: {name} = {value} must be positive")

    @abstractmethod
    def solve(self, model: AbstractModel, state: Array, unravel: Callable, times: Array) -> Run:
        """States of `model` at `times` from the flat `state` at `times[0]`."""

    @property
    def tangent_tolerance(self) -> Scalar | None:
        """Relative tolerance of a method for forward derivatives alone, which sees how its tangents grow.

        None for one that offers reverse mode: there no tangent exists while the solution is made.
        """
        return None


def flat_field(unravel: Callable) -> Callable:
    """The model's field over the flat state, as diffrax wants it."""

    @eqx.filter_jit  # diffrax traces it a dozen times, for its steps, rules and shapes: once is enough
    def field(t, y, model):
        return jax.flatten_util.ravel_pytree(model.field(t, unravel(y)))[0]

    return field


def status_of(result: diffrax.RESULTS, steps_per_contact: Array, resolve: Scalar | float) -> Array:
    """Our code for a diffrax result and the number of steps that a contact got."""
    code = jnp.where(steps_per_contact < resolve, int(Status.UNDER_RESOLVED), int(Status.OK))
    for name, ours in (
        ("max_steps_reached", Status.STEP_LIMIT),
        ("nonlinear_max_steps_reached", Status.NOT_FINITE),
    ):
        code = jnp.where(result == getattr(diffrax.RESULTS, name), int(ours), code)
    return code


def integrate(
    field: Callable,
    approach: Callable,
    args: Any,
    y0: Array,
    times: Array,
    *,
    rtol: Scalar,
    atol: Scalar,
    max_steps: int,
    resolve: Scalar,
    adjoint: diffrax.AbstractAdjoint,
    norm: FiniteNorm,
) -> Run:
    """Adaptive Tsit5 behind the contact guard; `y0` may carry sensitivities as further rows."""
    controller = adaptive(rtol, atol, times, norm)
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        t0=times[0],
        t1=times[-1],
        dt0=None,
        y0=y0,
        args=args,
        saveat=diffrax.SaveAt(
            subs=[diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True)], controller_state=True
        ),
        stepsize_controller=ContactGuard(controller, eqx.filter_jit(approach)),
        adjoint=adjoint,
        max_steps=max_steps,
        throw=False,
    )
    per_contact = solution.controller_state.steps_per_contact
    states, (last,) = solution.ys
    # A force that is NaN makes the steps shrink until they are taken all the same, up to the last one allowed.
    broken = jnp.any(jnp.isnan(jnp.atleast_2d(last)[0]))
    return Run(
        states=states,
        status=jnp.where(broken, int(Status.NOT_FINITE), status_of(solution.result, per_contact, resolve)),
        steps=solution.stats["num_accepted_steps"],
        steps_per_contact=per_contact,
        contacts=solution.controller_state.contacts,
    )


class Sensitivities(AbstractMethod):
    """Adaptive steps; forward derivatives are further states inside the error norm.

    `jax.jacfwd` over p parameters makes one solve of (1 + p) n states. A contact force that kinks leaves the
    plain derivative through adaptive steps wrong by a tenth while the value converges; here the steps shrink
    until the derivative is right too (docs/performance.md). Tangents are scaled by the size of what they
    move, so parameters of any unit get the same relative accuracy. Not for reverse mode.

    **Arguments:** `rtol`, `atol`; `weight` of the sensitivities' errors beside the state's; `max_steps`;
    `resolve`, the fewest steps per contact before the status says UNDER_RESOLVED.
    """

    rtol: Scalar = number(default=1e-8)
    atol: Scalar = number(default=1e-8)
    weight: Scalar = number(default=1.0)
    max_steps: int = eqx.field(static=True, default=20_000)
    resolve: Scalar = number(default=10.0)

    @property
    def tangent_tolerance(self):
        return self.rtol

    def solve(self, model, state, unravel, times):
        field = flat_field(unravel)

        def run(rows_field, first_row, args, y0, times):
            method = first_row(args)[1]
            return integrate(
                rows_field,
                lambda t, y, args: first_row(args)[0].approach(t, unravel(y if y.ndim == 1 else y[0])),
                args,
                y0,
                times,
                rtol=method.rtol,
                atol=method.atol,
                max_steps=method.max_steps,
                resolve=method.resolve,
                adjoint=diffrax.ForwardMode(),
                norm=FiniteNorm(method.weight),
            )

        # The tolerances go in beside the model: a custom rule must not close over what jit traces.
        both = (model, jax.lax.stop_gradient(self))
        return forward_sensitivities(lambda t, y, both: field(t, y, both[0]), run, both, state, times)


class Checkpointed(AbstractMethod):
    """Adaptive steps; reverse derivatives through the accepted steps with binomial checkpoints.

    Right for smooth contact (soft onset); through a kink or a jump the derivative is wrong while the value
    converges. Not for forward mode.
    """

    rtol: Scalar = number(default=1e-8)
    atol: Scalar = number(default=1e-8)
    max_steps: int = eqx.field(static=True, default=4096)
    resolve: Scalar = number(default=10.0)

    def solve(self, model, state, unravel, times):
        return integrate(
            flat_field(unravel),
            lambda t, y, model: model.approach(t, unravel(y)),
            model,
            state,
            times,
            rtol=self.rtol,
            atol=self.atol,
            max_steps=self.max_steps,
            resolve=self.resolve,
            adjoint=diffrax.RecursiveCheckpointAdjoint(),
            norm=FiniteNorm(),
        )


class FixedSteps(AbstractMethod):
    """`steps` equal Tsit5 steps in each interval of `times`; any derivative, exact for the discrete map."""

    steps: int = eqx.field(static=True)
    resolve: Scalar = number(default=10.0)

    def __check_init__(self):
        if self.steps < 1:
            raise ValueError(f"FixedSteps: steps = {self.steps} must be at least 1")

    def solve(self, model, state, unravel, times):
        field, tableau = flat_field(unravel), diffrax.Tsit5.tableau
        # Six stages as a loop of ours: diffrax's own refuses one of the two modes, or compiles for long. The
        # seventh only serves the error estimate.
        weights = np.zeros((6, 6))
        for i, row in enumerate(tableau.a_lower[:5], start=1):
            weights[i, :i] = row
        nodes = np.concatenate([[0.0], tableau.c[:5]])
        last = jnp.asarray(tableau.b_sol[:6], state.dtype)
        rows = (jnp.arange(6), jnp.asarray(weights, state.dtype), jnp.asarray(nodes, times.dtype))

        def step(carry, span):
            y, touching, counts = carry
            t0, t1 = span
            dt = (t1 - t0).astype(y.dtype)

            def stage(slopes, row):
                i, a, c = row
                return slopes.at[i].set(field(t0 + c * (t1 - t0), y + dt * (a @ slopes), model)), None

            slopes, _ = jax.lax.scan(stage, jnp.zeros((6, *y.shape), y.dtype), rows)
            y = y + dt * (last @ slopes)
            now = model.approach(t1, unravel(y)).gap <= 0
            counts = counts + jnp.stack([now, now & ~touching])
            return (y, now, counts), None

        def interval(carry, ends):
            grid = jnp.linspace(ends[0], ends[1], self.steps + 1)
            carry, _ = jax.lax.scan(jax.checkpoint(step), carry, (grid[:-1], grid[1:]))
            return carry, carry[0]

        touching = model.approach(times[0], unravel(state)).gap <= 0
        counts = jnp.stack([jnp.zeros((), int), touching.astype(int)])
        carry = (state, touching, counts)
        (_, _, counts), states = jax.lax.scan(interval, carry, (times[:-1], times[1:]))
        per_contact = jnp.where(counts[1] > 0, counts[0] / jnp.maximum(counts[1], 1), jnp.inf)
        return Run(
            states=jnp.concatenate([state[None], states]),
            status=jnp.where(per_contact < self.resolve, int(Status.UNDER_RESOLVED), int(Status.OK)),
            steps=jnp.asarray(self.steps * (times.shape[0] - 1)),
            steps_per_contact=per_contact,
            contacts=counts[1],
        )
