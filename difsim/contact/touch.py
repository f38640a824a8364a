"""What a contact needs to know of a moving body, and what its points feel."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.typing import Mat3, Scalar, Vec3


class Moving(eqx.Module):
    """A rigid body as a surface sees it, all in the surface's frame.

    `centre` [3] m of mass, its `velocity` m/s, `spin` rad/s against the surface; `mass` kg, `inertia` kg m²;
    `acceleration` m/s² of the centre and `spin_rate` rad/s² by all but contact.
    """

    centre: Vec3
    velocity: Vec3
    spin: Vec3
    mass: Scalar
    inertia: Mat3
    acceleration: Vec3
    spin_rate: Vec3

    def velocity_at(self, arm: Vec3) -> Vec3:
        """Velocity m/s of the body's material at `arm` m from the centre of mass."""
        return self.velocity + jnp.cross(self.spin, arm)

    def acceleration_at(self, arm: Vec3) -> Vec3:
        """Acceleration m/s² of the body's material at `arm` m from the centre of mass."""
        swept = jnp.cross(self.spin, arm)
        return self.acceleration + jnp.cross(self.spin_rate, arm) + jnp.cross(self.spin, swept)

    def response(self, arm: Vec3) -> Mat3:
        """1/m - [r]×I⁻¹[r]×, 1/kg: the acceleration at `arm` for a force there."""
        x, y, z = arm
        o = jnp.zeros_like(x)
        cross = jnp.stack([jnp.stack([o, -z, y]), jnp.stack([z, o, -x]), jnp.stack([-y, x, o])])
        return jnp.eye(3) / self.mass - cross @ jnp.linalg.solve(self.inertia, cross)

    def accelerated(self, force: Vec3, torque: Vec3) -> "Moving":
        """The same body with `force` N and `torque` N m about its centre of mass added to its accelerations."""
        return eqx.tree_at(
            lambda b: (b.acceleration, b.spin_rate),
            self,
            (self.acceleration + force / self.mass, self.spin_rate + jnp.linalg.solve(self.inertia, torque)),
        )


class Touch(eqx.Module):
    """The normal side of a contact at each of N points: `arms` m from the centre of mass, `normals` out of the
    ground, penetrations `depths` ≥ 0 m, `pushes` N [N, 3] and their sizes `forces` N [N]."""

    arms: Float[Array, "*N 3"]
    normals: Float[Array, "*N 3"]
    depths: Float[Array, "*N"]
    pushes: Float[Array, "*N 3"]
    forces: Float[Array, "*N"]

    @property
    def torque(self) -> Vec3:
        """Of the pushes about the centre of mass, N m."""
        return jnp.sum(jnp.cross(self.arms, self.pushes), axis=0)

    @property
    def arm(self) -> Vec3:
        """The effective point r_p = Σ δ_j r_j/Σ δ_j, m from the centre of mass (paper 003 Eq 4)."""
        return safe.divide(self.depths @ self.arms, jnp.broadcast_to(jnp.sum(self.depths), (3,)))
