"""Steps of particles that are as long as an error allows."""

import equinox as eqx
import jax.numpy as jnp

from difsim.particles import AbstractEstimating
from difsim.status import Status
from difsim.stepping.marching import AbstractStep, moved, within
from difsim.typing import Scalar, number, require

SHORTEST = 1e-6  # of the longest stable step: who needs shorter ones will not see the end
SAFETY, LEAST, MOST = 0.9, 0.1, 5.0  # usual of embedded methods: how far a next step is from what the error allows


class ErrorControlledStep(AbstractStep):
    """Steps that err by at most `rtol`, as the model's `attempt` tells; one that errs more is made again, shorter.

    The error of a step goes as dt³: after dt comes 0.9 dt (rtol/error)^(1/3), a tenth of dt at least and five times
    at most, and never more than the model's longest stable step. Where a millionth of that still errs by more, the
    run stops with STEP_TOO_SHORT, or NOT_FINITE if the error is not.

    **Raises:** ValueError for rtol ≤ 0, TypeError for a model that is no `AbstractEstimating`.
    **Source:** paper 002 sec. 3.1, with 1e-6; Hairer, Nørsett and Wanner (1993), sec. II.4.
    """

    tag = "error-controlled-step"
    rtol: Scalar = number(default=1e-6)

    def __check_init__(self):
        require(self.rtol > 0, f"ErrorControlledStep: rtol = {self.rtol} must be positive")

    def once(self, model, progress, left):
        if not isinstance(model, AbstractEstimating):
            raise TypeError(f"ErrorControlledStep: a {type(model).__name__} does not tell the error of its steps")
        longest = model.stable_time_step(progress.motion)
        dt = within(jnp.minimum(progress.trial, longest), left)
        motion, error = model.attempt(progress.motion, progress.neighbours, dt)
        worst = jnp.max(error)
        kept = worst <= self.rtol  # which a NaN is not
        hopeless = ~kept & ~(dt > SHORTEST * longest)  # so that a NaN is
        nonfinite = jnp.where(kept, model.nonfinite(motion), hopeless & ~jnp.isfinite(error))
        beyond = kept & model.beyond(motion)
        faults = [jnp.any(nonfinite), jnp.any(beyond), hopeless]
        status = jnp.select(
            [progress.neighbours.overflow, *faults],
            [int(s) for s in (Status.OVERFLOW, Status.NOT_FINITE, Status.BEYOND_LAW, Status.STEP_TOO_SHORT)],
        )
        particle = jnp.select(faults, [jnp.argmax(nonfinite), jnp.argmax(beyond), jnp.argmax(error)], -1)
        factor = jnp.clip(SAFETY * jnp.cbrt(self.rtol / worst), LEAST, MOST)
        trial = dt * jnp.where(jnp.isfinite(worst), factor, LEAST)
        # A step that was cut short, at `left` or at the longest, says nothing against the one that was meant.
        trial = jnp.where(kept & (dt < progress.trial), jnp.maximum(trial, progress.trial), trial)
        return eqx.tree_at(lambda p: p.trial, moved(progress, motion, status, particle, kept), trial)
