"""Two balls that collide: hard contact between bodies that both move."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.contact.impact import AbstractImpact
from difsim.declarations import part, quantity, variable
from difsim.dynamics.model import AbstractImpactModel, Approach, motion_units
from difsim.typing import Vec3


class TwoBallState(eqx.Module):
    """The motion of both balls."""

    position: Float[Array, "2 3"] = variable("m", "positions x of the centres")
    velocity: Float[Array, "2 3"] = variable("m/s", "velocities v of the centres")
    spin: Float[Array, "2 3"] = variable("rad/s", "spins ω", default=((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))


class TwoBalls(AbstractImpactModel):
    """Two free homogeneous balls; impulse `law` where they meet, momentum and angular momentum kept."""

    state_kinds: ClassVar = (TwoBallState,)
    law: AbstractImpact = part("law of impact")
    mass: Float[Array, "2"] = quantity("kg", "masses m", gt=0, usual=(1e-6, 1e6), slip="g")
    radius: Float[Array, "2"] = quantity("m", "radii R", gt=0, usual=(1e-4, 100), slip="cm or mm")

    def vector_field(self, t, state):
        still = jnp.zeros_like(state.spin)
        return TwoBallState(state.velocity, still, still)

    def approach(self, t, state):
        gap = self.boundary(t, state)
        closing = safe.norm(state.velocity[1] - state.velocity[0])
        return Approach(gap=gap, speed=closing, resolution=jnp.full_like(gap, 1e-9))

    def boundary(self, t, state):
        return safe.norm(state.position[1] - state.position[0]) - jnp.sum(self.radius)

    def closing_speed(self, t, state):
        return -jnp.dot(safe.unit(state.position[1] - state.position[0]), state.velocity[1] - state.velocity[0])

    def is_in_contact(self, t, state):
        return (self.boundary(t, state) <= 0) & (self.closing_speed(t, state) >= 0)

    def impact(self, t, state):
        # From ball 0 to ball 1, which takes the part of the body; ball 0 is its ground.
        n = safe.unit(state.position[1] - state.position[0])
        arms = jnp.stack([self.radius[0] * n, -self.radius[1] * n])
        touching = state.velocity + jnp.cross(state.spin, arms)
        # 1/m along n̂, and 1/m + R²/I = 7/2 1/m across, of each.
        response = jnp.sum(1 / self.mass) * (3.5 * jnp.eye(3) - 2.5 * jnp.outer(n, n))
        u = touching[1] - touching[0]
        impulse = self.law.impulse(response, n, u).total
        both = jnp.stack([-impulse, impulse])
        inertia = 0.4 * self.mass * self.radius**2
        after = TwoBallState(
            position=state.position,
            velocity=state.velocity + both / self.mass[:, None],
            spin=state.spin + jnp.cross(arms, both) / inertia[:, None],
        )
        return after, {"impacts": -jnp.dot(impulse, u + 0.5 * response @ impulse)}

    def scales(self, t, state):
        units, ones = motion_units(self.approach(t, state)), jnp.ones((2, 3))
        origin = TwoBallState(state.position, jnp.zeros((2, 3)))
        spin = units.speed / jnp.min(self.radius)
        return origin, TwoBallState(units.length * ones, units.speed * ones, spin * ones)

    def energy(self, t, state):
        inertia = 0.4 * self.mass * self.radius**2
        return {
            "kinetic": 0.5 * self.mass @ jnp.sum(state.velocity**2, axis=1),
            "rotation": 0.5 * inertia @ jnp.sum(state.spin**2, axis=1),
        }

    def momentum(self, state: TwoBallState) -> Vec3:
        """The momentum of both, N s."""
        return self.mass @ state.velocity

    def angular_momentum(self, state: TwoBallState) -> Vec3:
        """The angular momentum of both about the origin, N m s."""
        orbital = jnp.cross(state.position, state.velocity) * self.mass[:, None]
        return jnp.sum(orbital, axis=0) + 0.4 * self.mass * self.radius**2 @ state.spin
