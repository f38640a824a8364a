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
from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim.dynamics import AbstractModel, Approach
from difsim.stepping.guard import ContactGuard, FiniteNorm, Landing, adaptive
from difsim.stepping.precision import Tolerance, finest_tolerance, tolerance
from difsim.stepping.status import Status
from difsim.stepping.variational import Scales, Variational, forward, plain
from difsim.typing import Scalar, number, require


class Run(eqx.Module):
    """What a method makes of a problem: `states` [T, n] at `times` [T] (the wanted ones, or that of a contact
    which ended the motion before them), status, accepted steps, mean steps per contact, contacts begun."""

    states: Float[Array, "T n"]
    times: Float[Array, "T"]
    status: Int[Array, ""]
    steps: Int[Array, ""]
    steps_per_contact: Float[Array, ""]
    contacts: Int[Array, ""]


class Problem(eqx.Module):
    """A `model` from its `state` [n] in its `scales` on, to be looked at at `times` [T]."""

    model: AbstractModel
    scales: Scales
    state: Float[Array, "n"]
    times: Float[Array, "T"]


class AbstractMethod(eqx.Module):
    """A way to step a model and to differentiate the result.

    **Raises** `ValueError` for tolerances or a number of steps that are not positive, where a method has them.
    """

    def __check_init__(self):
        for name in ("rtol", "atol", "max_steps"):
            value = getattr(self, name, 1)
            require(value > 0, f"{type(self).__name__}: {name} = {value} must be positive")

    def within(self, dtype: jnp.dtype) -> "AbstractMethod":
        """The same method with tolerances that the precision can hold."""
        if not hasattr(self, "rtol"):
            return self
        held = [jnp.maximum(x, finest_tolerance(dtype)).astype(dtype) for x in (self.rtol, self.atol)]
        return eqx.tree_at(lambda m: (m.rtol, m.atol), self, tuple(held))

    @abstractmethod
    def solve(self, problem: Problem) -> Run:
        """The states at the problem's times."""

    @property
    def tangent_tolerance(self) -> Scalar | None:
        """Relative tolerance of a method for forward derivatives alone, which sees how its tangents grow.

        None for one that offers reverse mode: there no tangent exists while the solution is made.
        """
        return self.rtol if isinstance(getattr(self, "adjoint", None), diffrax.ForwardMode) else None


def status_of(result: diffrax.RESULTS, steps_per_contact: Array, resolve: Scalar | float) -> Array:
    """Our code for a diffrax result and the number of steps that a contact got."""
    code = jnp.where(steps_per_contact < resolve, int(Status.UNDER_RESOLVED), int(Status.OK))
    for name, ours in (
        ("max_steps_reached", Status.STEP_LIMIT),
        ("nonlinear_max_steps_reached", Status.NOT_FINITE),
    ):
        code = jnp.where(result == getattr(diffrax.RESULTS, name), int(ours), code)
    return code


def solved(run: Callable, method: AbstractMethod, problem: Problem) -> Run:
    """The run of a method, with forward derivatives as rows of it, unless its `adjoint` is another than diffrax's
    `ForwardMode`: then it is differentiated through the steps.

    **Arguments:** `run` as in `variational.forward`, whose rest is (status, steps, steps per contact, contacts).
    """
    if isinstance(method.adjoint, diffrax.ForwardMode):
        given = (problem.model, problem.scales, method)
        states, times, rest = forward(run, given, problem.state, problem.times)
    else:
        system = plain(problem.model, problem.scales)
        nothing = jnp.zeros((0, *problem.times.shape))
        states, times, _, rest = run(system, method, problem.state[None], problem.times, nothing)
        states = states[:, 0]
    return Run(states, times, *rest)


def along(system: Variational, times: Array, states: Array, shifts: Array) -> Array:
    """`states` [T, 1 + p, n], whose tangents are those at fixed times, with tangents at times that move."""
    return jax.vmap(system.carried, in_axes=(0, 0, 1))(times, states, shifts) if len(shifts) else states


def approach(t: Scalar, z: Array, system: Variational) -> Approach:
    """How near the next contact is, for the guard."""
    return system.model.approach(t, system.state(z))


def stepped(
    system: Variational,
    method: Any,
    z: Array,
    t0: Scalar,
    times: Array,
    controller: Any,
    landing: Callable | None = None,
) -> diffrax.Solution:
    """Adaptive steps of the method's `order` from `t0` to the last of the `times`, which are looked at on the way,
    or to where `landing(t, z, system)` falls through zero: `landed` of the controller's state tells."""
    if method.order == 8:
        # Steps end at the wanted times: between its steps Dopri8 is known a thousand times less well.
        controller = diffrax.ClipStepSizeController(controller, step_ts=times)
    if landing is not None:
        controller = Landing(controller, landing)
    return diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, z, system: system.field(t, z)),
        diffrax.Dopri8() if method.order == 8 else diffrax.Tsit5(),
        t0=t0,
        t1=times[-1],
        dt0=None,
        y0=z,
        args=system,
        # Two records: in one, an end before the last time would follow the last that is reached, not stand last.
        saveat=diffrax.SaveAt(
            subs=[diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True)], controller_state=True
        ),
        stepsize_controller=controller,
        adjoint=method.adjoint,
        max_steps=method.max_steps,
        throw=False,
    )


def integrate(system: Variational, method: Any, z: Array, times: Array, shifts: Array) -> Any:
    """Adaptive steps behind the contact guard: `run` of `solved`."""
    controller = adaptive(method.rtol, method.atol, times, FiniteNorm(method.weight))
    solution = stepped(system, method, z, times[0], times, ContactGuard(controller, eqx.filter_jit(approach)))
    guard = solution.controller_state
    states, (last,) = solution.ys
    # A force that is NaN makes the steps shrink until they are taken all the same, up to the last one allowed.
    nonfinite = jnp.any(jnp.isnan(last[0]))
    status = status_of(solution.result, guard.steps_per_contact, method.resolve)
    status = jnp.where(nonfinite, int(Status.NOT_FINITE), status)
    steps = solution.stats["num_accepted_steps"]
    rest = (status, steps, guard.steps_per_contact, guard.contacts)
    return along(system, times, states, shifts), times, shifts, rest


class Sensitivities(AbstractMethod):
    """Adaptive steps; forward derivatives are further states inside the error norm.

    `jax.jacfwd` over p parameters makes one solve of (1 + p) n states. A contact force that kinks leaves the
    plain derivative through adaptive steps wrong by a tenth while the value converges; here the steps shrink
    until the derivative is right too (docs/performance.md). Tangents are scaled by the size of what they
    move, so parameters of any unit get the same relative accuracy. Not for reverse mode.

    **Arguments:** `rtol`; `atol`, of the motion's own scales (`AbstractModel.scales`: the speed and the length
    that it has: 1 is a change as large as the motion); `weight` of the sensitivities' errors beside the state's;
    `max_steps`; `resolve`, the fewest steps per contact before the status says UNDER_RESOLVED.
    """

    rtol: Tolerance = tolerance(1e-8)
    atol: Tolerance = tolerance(1e-9)
    weight: Scalar = number(default=1.0)
    max_steps: int = eqx.field(static=True, default=20_000)
    resolve: Scalar = number(default=10.0)
    order: ClassVar = 5
    adjoint: ClassVar = diffrax.ForwardMode()

    def solve(self, problem):
        return solved(integrate, self, problem)


class Checkpointed(AbstractMethod):
    """Adaptive steps; reverse derivatives through the accepted steps with binomial checkpoints.

    Right for smooth contact (soft onset); through a kink or a jump the derivative is wrong while the value
    converges. Not for forward mode.
    """

    rtol: Tolerance = tolerance(1e-8)
    atol: Tolerance = tolerance(1e-9)
    max_steps: int = eqx.field(static=True, default=4096)
    resolve: Scalar = number(default=10.0)
    order: ClassVar = 5
    weight: ClassVar = 1.0
    adjoint: ClassVar = diffrax.RecursiveCheckpointAdjoint()

    def solve(self, problem):
        return solved(integrate, self, problem)


class FixedSteps(AbstractMethod):
    """`steps` equal Tsit5 steps in each interval of `times`; any derivative, exact for the discrete map."""

    steps: int = eqx.field(static=True)
    resolve: Scalar = number(default=10.0)

    def __check_init__(self):
        if self.steps < 1:
            raise ValueError(f"FixedSteps: steps = {self.steps} must be at least 1")

    def solve(self, problem):
        model, state, times, tableau = problem.model, problem.state, problem.times, diffrax.Tsit5.tableau
        system = plain(model, problem.scales)
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
                return slopes.at[i].set(system.field(t0 + c * (t1 - t0), (y + dt * (a @ slopes))[None])[0]), None

            slopes, _ = jax.lax.scan(stage, jnp.zeros((6, *y.shape), y.dtype), rows)
            y = y + dt * (last @ slopes)
            now = approach(t1, y[None], system).gap <= 0
            counts = counts + jnp.stack([now, now & ~touching])
            return (y, now, counts), None

        def interval(carry, ends):
            grid = jnp.linspace(ends[0], ends[1], self.steps + 1)
            carry, _ = jax.lax.scan(jax.checkpoint(step), carry, (grid[:-1], grid[1:]))
            return carry, carry[0]

        touching = approach(times[0], state[None], system).gap <= 0
        counts = jnp.stack([jnp.zeros((), int), touching.astype(int)])
        carry = (state, touching, counts)
        (_, _, counts), states = jax.lax.scan(interval, carry, (times[:-1], times[1:]))
        per_contact = jnp.where(counts[1] > 0, counts[0] / jnp.maximum(counts[1], 1), jnp.inf)
        return Run(
            states=jnp.concatenate([state[None], states]),
            times=times,
            status=jnp.where(per_contact < self.resolve, int(Status.UNDER_RESOLVED), int(Status.OK)),
            steps=jnp.asarray(self.steps * (times.shape[0] - 1)),
            steps_per_contact=per_contact,
            contacts=counts[1],
        )
