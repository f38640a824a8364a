"""Friction of a body that touches with several points: at each of them, or at one effective point."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.contact.friction import AbstractFriction, StickSlip
from difsim.contact.touch import Moving, Touch
from difsim.rotation import solve3
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, Vec3


class Held(eqx.Module):
    """What friction does: `force` N and `torque` N m about the centre of mass [3]; energy `stored` in springs, J;
    `power` W that it takes out of motion and springs; the rate of what the points remember, [M, 3]."""

    force: Vec3
    torque: Vec3
    stored: Scalar
    power: Scalar
    memory_rate: Float[Array, "M 3"]


class AbstractGrip(eqx.Module):
    """Friction over all points of a body."""

    def memory(self, points: int) -> Float[Array, "M 3"]:
        """What the points remember before they touch: nothing, unless a law has a memory."""
        return jnp.zeros((0, 3))

    @abstractmethod
    def __call__(self, surface: AbstractSDF, touch: Touch, body: Moving, memory: Float[Array, "M 3"]) -> Held:
        """Friction on the `body`, which touches the `surface` with `touch`."""


class AtEachPoint(AbstractGrip):
    """Each point has its own friction, by a law without memory.

    **Arguments:** `law`, e.g. `RegularisedCoulomb`.
    """

    law: AbstractFriction

    def __call__(self, surface, touch, body, memory):
        velocities = jax.vmap(body.velocity_at)(touch.arms)
        slips = velocities - jnp.sum(velocities * touch.normals, axis=1)[:, None] * touch.normals
        forces = jax.vmap(self.law.force)(touch.forces, slips)
        return Held(
            force=jnp.sum(forces, axis=0),
            torque=jnp.sum(jnp.cross(touch.arms, forces), axis=0),
            stored=jnp.zeros(()),
            power=-jnp.sum(forces * velocities),
            memory_rate=jnp.zeros_like(memory),
        )


class AtEffectivePoint(AbstractGrip):
    """One friction force at r_p = Σ δ_j r_j/Σ δ_j, with the sticking force that keeps its slip as it is.

    The sticking force F solves P (K F + a) = 0 in the tangent plane, where K = 1/m - [r]×I⁻¹[r]× is what a
    force at r_p accelerates there, and a the acceleration there without friction.

    **Arguments:** `law`, a `StickSlip`. **Source:** paper 003, sec. 4.2.
    """

    law: StickSlip

    def __call__(self, surface, touch, body, memory):
        arm, normal = touch.arm, touch.normal
        velocity = body.velocity_at(arm)
        slip = velocity - velocity @ normal * normal
        pushed = body.accelerated(touch.force, touch.torque)
        tangent = jnp.eye(3) - jnp.outer(normal, normal)
        # The normal's own part makes the matrix invertible; it does not touch the tangent plane.
        response = tangent @ body.response(arm) @ tangent + jnp.outer(normal, normal) / body.mass
        stick = -tangent @ solve3(response, tangent @ pushed.acceleration_at(arm))
        force = self.law.force(jnp.sum(touch.forces), slip, stick)
        return Held(
            force=force,
            torque=jnp.cross(arm, force),
            stored=jnp.zeros(()),
            power=-force @ velocity,
            memory_rate=jnp.zeros_like(memory),
        )
