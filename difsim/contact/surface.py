"""A rigid body against a solid: forces at many points of the body, added up to one wrench."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.contact.grip import AbstractGrip
from difsim.contact.normal import AbstractNormal
from difsim.contact.outline import AbstractOutline
from difsim.contact.rolling import AbstractRolling
from difsim.contact.touch import Moving, Touch
from difsim.shape import AbstractSDF
from difsim.typing import Mat3, Scalar, Vec3


class Powers(eqx.Module):
    """Energy taken out of a motion per second, W (or, as its integral, J), by each part of a contact.

    The friction of a law with a memory includes what its springs have stored.
    """

    damping: Scalar
    friction: Scalar
    rolling: Scalar


class Wrench(eqx.Module):
    """The surface's `force` N and `torque` N m about the centre of mass [3], surface's frame; energy `stored`
    in J; `powers` W taken out; the rate of the friction's `memory` [M, 3]."""

    force: Vec3
    torque: Vec3
    stored: Scalar
    powers: Powers
    memory_rate: Float[Array, "M 3"]


class SurfaceContact(eqx.Module):
    """What a body feels where it touches: a normal law at each point, friction, resistance to rolling.

    **Arguments:** `outline`, the points that may touch; `normal`, a law of depth and rate; `grip`, friction over
    the points; `rolling`, any number of resistances, which act at the effective point r_p = Σ δ_j r_j/Σ δ_j.
    **Source:** paper 003, sec. 4; Eq 4 for r_p.
    """

    outline: AbstractOutline
    normal: AbstractNormal
    grip: AbstractGrip
    rolling: tuple[AbstractRolling, ...] = ()

    def wrench(self, surface: AbstractSDF, body: Moving, rotation: Mat3, memory: Float[Array, "M 3"]) -> Wrench:
        """The surface's pull on `body`, turned by `rotation` [3, 3] from its own frame to the surface's."""
        arms = self.outline.arms(surface, body.centre, rotation)

        def push(arm):
            # By virtual work along ∇d, not along the unit normal: where |∇d| is not quite 1 (tables, rough
            # ground) the elastic force still has a potential.
            gap, slope = jax.value_and_grad(surface.distance)(body.centre + arm)
            rate = -slope @ body.velocity_at(arm)
            force, elastic = self.normal.force(-gap, rate), self.normal.force(-gap, jnp.zeros_like(rate))
            touch = Touch(arm, safe.unit(slope), self.normal.onset.penetration(-gap), force * slope, force)
            return touch, self.normal.elastic_energy(-gap), (force - elastic) * rate

        touch, stored, damping = jax.vmap(push)(arms)
        held = self.grip(surface, touch, body, memory)
        force, torque = jnp.sum(touch.pushes, axis=0) + held.force, touch.torque + held.torque
        arm = touch.arm
        normal, total = surface.normal(body.centre + arm), jnp.sum(touch.forces)
        slowing = jnp.zeros_like(total)
        for law in self.rolling:
            f, t = law.wrench(total, body.spin, normal, arm, body.mass, body.inertia)
            force, torque = force + f, torque + t
            slowing = slowing - f @ body.velocity - t @ body.spin
        return Wrench(
            force=force,
            torque=torque,
            stored=jnp.sum(stored),
            powers=Powers(damping=jnp.sum(damping), friction=held.power, rolling=slowing),
            memory_rate=held.memory_rate,
        )

    def gap(self, surface: AbstractSDF, centre: Vec3, rotation: Mat3) -> Scalar:
        """The least distance m of a point of the body to the surface, negative inside."""
        arms = self.outline.arms(surface, centre, rotation)
        return safe.least(jax.vmap(surface.distance)(centre[None] + arms))
