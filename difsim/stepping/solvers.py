"""Rules for the length of steps. The kinds of models and derivatives that each serves are in docs/architecture.md."""

import equinox as eqx
import jax.numpy as jnp

from difsim.declarations import count, part, quantity, rule
from difsim.stepping.marching import NeighbourList
from difsim.stepping.precision import Tolerance, finest_tolerance, tolerance
from difsim.typing import Scalar

NO_CHECK = "give 0 for no check"
LISTED = "neighbour list of particles by `allocate`, whose capacity the run has"
RESOLVE = "fewest steps in a contact before the status is UNDER_RESOLVED"


class AbstractSolver(eqx.Module):
    """A rule for the length of steps.

    `neighbours`, of particles: a neighbour list by `allocate`, whose capacity the run has.
    """

    def with_precision(self, dtype: jnp.dtype) -> "AbstractSolver":
        """The same solver with tolerances that the precision can hold; one without tolerances is what it was."""
        return self


class Adaptive(AbstractSolver):
    """Steps as long as their error allows.

    Of an ordinary differential equation these are steps of a Runge-Kutta pair (Tsit5 of order 5, Dopri8 of order
    8), which shorten near contacts. Of particles they are the model's own steps, judged by its `attempt`.
    """

    tag = "error-controlled-step"
    rtol: Tolerance = tolerance(
        "relative tolerance", 1e-8, gt=0, lt=1, usual=(1e-14, 1e-2), hint="it is a share of the motion"
    )
    atol: Tolerance = tolerance(
        "absolute tolerance in units of the motion's own scales (`AbstractModel.scales`: 1 is a change as large as the "
        "motion; particles have none)",
        1e-9,
        gt=0,
        usual=(1e-16, 1e-2),
    )
    order: int = count("order, 5 or 8: 8 pays for flights of hours and below some 1e-9", default=5)
    max_steps: int = count("largest number of steps between two impacts", default=20_000)
    resolve: Tolerance = tolerance(RESOLVE, 10.0, ge=0, usual=(0, 100), hint=NO_CHECK)
    neighbours: NeighbourList | None = part(LISTED, default=None)

    @rule("order = {order} must be 5 or 8")
    def _has_known_order(self):
        return self.order in (5, 8)

    def with_precision(self, dtype):
        held = [jnp.maximum(x, finest_tolerance(dtype)).astype(dtype) for x in (self.rtol, self.atol)]
        return eqx.tree_at(lambda m: (m.rtol, m.atol), self, tuple(held))


class FixedSteps(AbstractSolver):
    """`steps` equal steps in each interval of the wanted times; every derivative of them is exact."""

    tag = "fixed-steps"
    steps: int = count("number of steps in each interval")
    resolve: Tolerance = tolerance(RESOLVE, 10.0, ge=0, usual=(0, 100), hint=NO_CHECK)
    neighbours: NeighbourList | None = part(LISTED, default=None)


class Courant(AbstractSolver):
    """Steps of particles that are `fraction` of the longest stable one."""

    tag = "courant-step"
    fraction: Scalar = quantity(
        "", "share of the model's `stable_time_step`", gt=0, le=1, usual=(0.05, 1), slip="percent", default=0.5
    )
    max_steps: int = count("largest number of steps of a run", default=10_000_000)
    neighbours: NeighbourList | None = part(LISTED, default=None)
