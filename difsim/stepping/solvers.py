"""Rules for the length of steps. The kinds of models and derivatives that each serves are in docs/architecture.md."""

import equinox as eqx
import jax.numpy as jnp

from difsim.fields import number, part, whole
from difsim.stepping.marching import NeighbourList
from difsim.stepping.precision import Tolerance, finest_tolerance, tolerance
from difsim.typing import Scalar, require


class AbstractSolver(eqx.Module):
    """A rule for the length of steps.

    `neighbours`, of particles: a neighbour list by `allocate`, whose capacity the run has.
    """

    neighbours: eqx.AbstractVar[NeighbourList | None]

    def within(self, dtype: jnp.dtype) -> "AbstractSolver":
        """The same solver with tolerances that the precision can hold; one without tolerances is what it was."""
        return self


class Adaptive(AbstractSolver):
    """Steps as long as their error allows.

    Of an ordinary differential equation these are steps of a Runge-Kutta pair (Tsit5 of order 5, Dopri8 of order
    8), which shorten near contacts. Of particles they are the model's own steps, judged by its `attempt`.

    **Arguments:** `rtol`, the relative tolerance; `atol`, the absolute one in units of the motion's own scales
    (`AbstractModel.scales`: 1 is a change as large as the motion; particles have none); `order`, 5 or 8: 8 pays for
    flights of hours and below some 1e-9; `max_steps`, between two impacts; `resolve`, the fewest steps in a contact
    before the status is UNDER_RESOLVED; `neighbours` of particles, by `allocate`.
    **Raises:** ValueError for tolerances or a number of steps that are not positive, for an `rtol` of 1 or more, a
    negative `resolve`, and for another order.
    """

    tag = "error-controlled-step"
    rtol: Tolerance = tolerance(1e-8)
    atol: Tolerance = tolerance(1e-9)
    order: int = whole(default=5)
    max_steps: int = whole(default=20_000)
    resolve: Tolerance = tolerance(10.0)
    neighbours: NeighbourList | None = part(default=None)

    def __check_init__(self):
        for name in ("rtol", "atol"):
            value = getattr(self, name)
            require(value > 0, f"Adaptive: {name} = {value} must be positive")
        require(self.rtol < 1, f"Adaptive: rtol = {self.rtol} must be below 1: it is a share of the motion")
        require(self.resolve >= 0, f"Adaptive: resolve = {self.resolve} must not be negative: give 0 for no check")
        if self.order not in (5, 8):
            raise ValueError(f"Adaptive: order = {self.order} must be 5 or 8")

    def within(self, dtype):
        held = [jnp.maximum(x, finest_tolerance(dtype)).astype(dtype) for x in (self.rtol, self.atol)]
        return eqx.tree_at(lambda m: (m.rtol, m.atol), self, tuple(held))


class FixedSteps(AbstractSolver):
    """`steps` equal steps in each interval of the wanted times; every derivative of them is exact.

    **Arguments:** `steps`, at least 1; `resolve` and `neighbours`, as those of `Adaptive`.
    **Raises:** ValueError for fewer steps, and a negative `resolve`.
    """

    tag = "fixed-steps"
    steps: int = whole()
    resolve: Tolerance = tolerance(10.0)
    neighbours: NeighbourList | None = part(default=None)

    def __check_init__(self):
        require(
            self.resolve >= 0, f"FixedSteps: resolve = {self.resolve} must not be negative: give 0 for no check"
        )


class Courant(AbstractSolver):
    """Steps of particles that are `fraction` of the longest stable one.

    **Arguments:** `fraction` of the model's `stable_time_step`; `max_steps` of a run; `neighbours`, by `allocate`.
    **Raises:** ValueError for a fraction outside (0, 1], or no steps.
    """

    tag = "courant-step"
    fraction: Scalar = number(default=0.5)
    max_steps: int = whole(default=10_000_000)
    neighbours: NeighbourList | None = part(default=None)

    def __check_init__(self):
        inside = (self.fraction > 0) & (self.fraction <= 1)
        require(inside, f"Courant: fraction = {self.fraction} must be in (0, 1]")
