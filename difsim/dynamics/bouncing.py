"""A point mass that bounces off a surface: hard contact with restitution and friction at the impulse level."""

import equinox as eqx
import jax.numpy as jnp

from difsim import safe
from difsim.dynamics.model import AbstractImpactModel, Approach
from difsim.gravity import AbstractField
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, Vec3, number, require


class PointState(eqx.Module):
    """Position m, velocity m/s, energy lost in impacts per unit mass J/kg, velocity change by impacts m/s."""

    position: Vec3 = number()
    velocity: Vec3 = number(default=(0.0, 0.0, 0.0))
    lost: Scalar = number(default=0.0)
    kicks: Vec3 = number(default=(0.0, 0.0, 0.0))


class Bouncer(AbstractImpactModel):
    """A unit point mass in a gravity field that rebounds from a surface.

    v_n' = -e v_n and |Δv_t| = min(μ (1 + e) |v_n|, |v_t|) against the slip.

    **Arguments:** `gravity` an `AbstractField`, `surface` an `AbstractSDF`, `restitution` e, `friction` μ.

    **Raises** `ValueError` for e outside [0, 1] or μ < 0.
    """

    gravity: AbstractField
    surface: AbstractSDF
    restitution: Scalar = number()
    friction: Scalar = number(default=0.0)

    def __check_init__(self):
        require(
            (self.restitution >= 0) & (self.restitution <= 1),
            f"Bouncer: restitution = {self.restitution} must lie between 0 and 1",
        )
        require(self.friction >= 0, f"Bouncer: friction = {self.friction} must not be negative")

    def field(self, t, state):
        return PointState(
            position=state.velocity,
            velocity=self.gravity.acceleration(state.position),
            lost=jnp.zeros_like(state.lost),
            kicks=jnp.zeros_like(state.kicks),
        )

    def approach(self, t, state):
        gap = self.surface.distance(state.position)
        return Approach(
            gap=gap,
            speed=safe.norm(state.velocity),
            resolution=jnp.full_like(gap, 1e-3),
            acceleration=safe.norm(self.gravity.acceleration(state.position)),
        )

    def impact(self, t, state):
        n = self.surface.normal(state.position)
        v_n = state.velocity @ n
        slip = state.velocity - v_n * n
        grip = self.friction * (1 + self.restitution) * jnp.abs(v_n)
        slowed = slip - safe.unit(slip) * jnp.minimum(grip, safe.norm(slip))
        after = slowed - self.restitution * v_n * n
        return PointState(
            position=state.position,
            velocity=after,
            lost=state.lost + 0.5 * (state.velocity @ state.velocity - after @ after),
            kicks=state.kicks + after - state.velocity,
        )

    def ledger(self, t, state):
        return {
            "energy": {
                "kinetic": 0.5 * state.velocity @ state.velocity,
                "potential": -self.gravity.potential(state.position),
                "impacts": state.lost,
            }
        }
