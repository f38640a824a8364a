"""Steps of particles that are as long as an error allows, and the rule of each solver."""

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim.declarations import quantity
from difsim.particles.model import AbstractEstimating, one_of
from difsim.status import Status
from difsim.stepping.marching import (
    AbstractRule,
    EqualSteps,
    StableSteps,
    accept,
    first_fault,
    limit_step,
    select,
)
from difsim.stepping.solvers import AbstractSolver, Adaptive, Courant, FixedSteps
from difsim.typing import Scalar

SHORTEST = 1e-6  # of the longest stable step: who needs shorter ones will not see the end
SAFETY, LEAST, MOST = 0.9, 0.1, 5.0  # usual of embedded methods: how far a next step is from what the error allows


class EstimatedSteps(AbstractRule):
    """Steps that err by at most `rtol`, as the model's `attempt` estimates; one that errs more is made again, shorter.

    The error of a step goes as dt³: after dt comes 0.9 dt (rtol/error)^(1/3), a tenth of dt at least and five times
    at most, and never more than the model's longest stable step. Where a millionth of that still errs by more, the
    run stops with STEP_TOO_SHORT, or NOT_FINITE if the error is not finite.

    **Source:** Schäfer et al. (2017), sec. 3.1, with 1e-6; Hairer, Nørsett and Wanner (1993), sec. II.4.
    """

    rtol: Scalar = quantity("", "relative tolerance")

    def step(self, model, progress, left):
        if not isinstance(model, AbstractEstimating):
            raise TypeError(f"Adaptive: a {type(model).__name__} does not estimate the error of its steps")
        # Derivatives are those of the motion by the steps that were taken, not of their lengths.
        longest = jax.lax.stop_gradient(model.stable_time_step(progress.motion))
        dt = limit_step(jnp.minimum(progress.trial, longest), left)
        motion, error = model.attempt(progress.motion, progress.neighbours, dt)
        error = jax.lax.stop_gradient(error)
        worst = jnp.max(error)
        kept = worst <= self.rtol  # which a NaN is not
        hopeless = ~kept & ~(dt > SHORTEST * longest)  # so that a NaN is
        hopeless_one = jnp.where(hopeless, one_of(~jnp.isfinite(error)), -1)
        nonfinite = jnp.where(kept, model.nonfinite(motion), hopeless_one)
        outside = jnp.where(kept, model.find_outside_validity(motion), -1)
        status, particle = first_fault(
            (progress.neighbours.overflow, Status.OVERFLOW, -1),
            (nonfinite >= 0, Status.NOT_FINITE, nonfinite),
            (outside >= 0, Status.BEYOND_LAW, outside),
            (hopeless, Status.STEP_TOO_SHORT, jnp.argmax(error)),
        )
        factor = jnp.clip(SAFETY * jnp.cbrt(self.rtol / worst), LEAST, MOST)
        trial = dt * jnp.where(jnp.isfinite(worst), factor, LEAST)
        # A step that was cut short, at `left` or at the longest, says nothing against the one that was meant.
        trial = jnp.where(kept & (dt < progress.trial), jnp.maximum(trial, progress.trial), trial)
        after = accept(progress, select(kept, motion, progress.motion), status, particle, kept)
        return eqx.tree_at(lambda p: p.trial, after, jax.lax.stop_gradient(trial))


def rule_of(solver: AbstractSolver, span: Scalar | float, dtype: jnp.dtype) -> AbstractRule:
    """The rule by which particles are stepped.

    **Arguments:** `solver`; `span` s, the interval that the steps of `FixedSteps` divide; `dtype` of the motion.
    **Returns:** the rule.
    **Raises:** TypeError for a solver that is not of particles.
    """
    match solver:
        case Courant():
            return StableSteps(solver.fraction)
        case FixedSteps():
            return EqualSteps(jnp.asarray(span / solver.steps))
        case Adaptive():
            return EstimatedSteps(jnp.asarray(solver.rtol, dtype))
    raise TypeError(f"simulate: particles are not stepped by {type(solver).__name__}: give Courant or FixedSteps")
