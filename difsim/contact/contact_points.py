"""The motion of a body at its contacts, and the normal forces at its points."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.rotation import inverse3, product3, solve3
from difsim.typing import Mat3, Scalar, Vec3


class BodyMotion(eqx.Module):
    """A rigid body as a surface sees it, all in the surface's frame.

    `centre` [3] m of mass, its `velocity` m/s, `spin` rad/s against the surface; `mass` kg, `inertia` kg m²;
    `acceleration` m/s² of the centre and `spin_rate` rad/s², by all but the forces that are asked for.
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
        """The acceleration at `arm` for a force there, 1/kg."""
        return response(self.mass, self.inertia, arm)

    def accelerate(self, force: Vec3, torque: Vec3) -> "BodyMotion":
        """The same body with the accelerations of one more force and torque.

        **Arguments:** `force` [3], N; `torque` [3] about the centre of mass, N m. **Returns:** the body.
        """
        return eqx.tree_at(
            lambda b: (b.acceleration, b.spin_rate),
            self,
            (self.acceleration + force / self.mass, self.spin_rate + solve3(self.inertia, torque)),
        )


def response(mass: Scalar, inertia: Mat3, arm: Vec3) -> Mat3:
    """The velocity of a point of a free rigid body per impulse at that point, 1/m - [r]×I⁻¹[r]×.

    **Arguments:** `mass`, kg; `inertia` I [3, 3], kg m²; `arm` r [3], m, from the centre of mass. **Returns:** the
    response [3, 3], 1/kg.
    """
    x, y, z = arm
    o = jnp.zeros_like(x)
    cross = jnp.stack([jnp.stack([o, -z, y]), jnp.stack([z, o, -x]), jnp.stack([-y, x, o])])
    return jnp.eye(3) / mass - product3(product3(cross, inverse3(inertia)), cross)


def effective_arm(depths: Float[Array, "N"], arms: Float[Array, "N 3"]) -> Vec3:
    """r_p = Σ δ_j r_j/Σ δ_j [3] m, where friction and rolling act (the hopper paper, Eq 4); 0 where all δ are."""
    return safe.divide(jnp.sum(depths[:, None] * arms, axis=0), jnp.broadcast_to(jnp.sum(depths), (3,)))


class ContactPoints(eqx.Module):
    """The normal side of a contact at each of N points, and at the effective one.

    `arms` m from the centre of mass; unit `normals` out of the ground; penetrations `depths` δ ≥ 0 m and their
    `rates` m/s; `normal_forces` N on the body; `forces` ≥ 0 N, their sizes, 0 where a law
    pulls: nothing rubs there. `arm`, the effective point r_p = Σ δ_j r_j/Σ δ_j (the hopper paper, Eq 4), and the
    `normal` there.
    """

    arms: Float[Array, "N 3"]
    normals: Float[Array, "N 3"]
    depths: Float[Array, "N"]
    rates: Float[Array, "N"]
    normal_forces: Float[Array, "N 3"]
    forces: Float[Array, "N"]
    arm: Vec3
    normal: Vec3

    @property
    def force(self) -> Vec3:
        """The sum of the normal forces, N."""
        return jnp.sum(self.normal_forces, axis=0)

    @property
    def torque(self) -> Vec3:
        """The torque of the normal forces about the centre of mass, N m."""
        return jnp.sum(jnp.cross(self.arms, self.normal_forces), axis=0)
