"""Friction of a body that touches with several points: at each of them, with or without a memory, or at one."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.contact.contact_points import BodyMotion, ContactPoints
from difsim.contact.friction import AbstractFriction, AbstractTangentialSpring, StickSlip
from difsim.declarations import part
from difsim.rotation import product3, solve3, times3
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, Vec3


class FrictionWrench(eqx.Module):
    """The friction on a body, with its energy and power.

    `force` [3], N, and `torque` [3] about the centre of mass, N m; energy `stored` in springs, J; dissipated
    `power`, W; `memory_rate` [M, 3], the rate of the memory of the points.
    """

    force: Vec3
    torque: Vec3
    stored: Scalar
    power: Scalar
    memory_rate: Float[Array, "M 3"]


class AbstractFrictionDistribution(eqx.Module):
    """Friction over all points of a body."""

    def memory(self, points: int) -> Float[Array, "M 3"]:
        """The memory of the points before they touch: empty, unless a law has a memory."""
        return jnp.zeros((0, 3))

    @abstractmethod
    def __call__(
        self, surface: AbstractSDF, touch: ContactPoints, body: BodyMotion, memory: Float[Array, "M 3"]
    ) -> FrictionWrench:
        """Friction on the `body` that touches the `surface` with `touch`, accelerated by all but friction."""


class AtEachPoint(AbstractFrictionDistribution):
    """Each point has its own friction, by a law without memory."""

    law: AbstractFriction = part("law of friction, such as `RegularisedCoulomb`")

    def __call__(self, surface, touch, body, memory):
        velocities = jax.vmap(body.velocity_at)(touch.arms)
        slips = velocities - jnp.sum(velocities * touch.normals, axis=1)[:, None] * touch.normals
        forces = jax.vmap(self.law.force)(touch.forces, slips)
        return FrictionWrench(
            force=jnp.sum(forces, axis=0),
            torque=jnp.sum(jnp.cross(touch.arms, forces), axis=0),
            stored=jnp.zeros(()),
            power=-jnp.sum(forces * velocities),
            memory_rate=jnp.zeros_like(memory),
        )


class AtEffectivePoint(AbstractFrictionDistribution):
    """One friction force at r_p = Σ δ_j r_j/Σ δ_j, with the sticking force that keeps its slip as it is.

    The sticking force F solves P (K F + a) = 0 in the tangent plane, where K = 1/m - [r]×I⁻¹[r]× is what a
    force at r_p accelerates there, and a the acceleration there without friction.

    **Source:** the hopper paper, sec. 4.2.
    """

    law: StickSlip = part("law of friction")

    def __call__(self, surface, touch, body, memory):
        arm, normal = touch.arm, touch.normal
        velocity = body.velocity_at(arm)
        slip = velocity - velocity @ normal * normal
        tangent = jnp.eye(3) - jnp.outer(normal, normal)
        # The normal's own part makes the matrix invertible; it does not touch the tangent plane.
        response = product3(product3(tangent, body.response(arm)), tangent)
        response = response + jnp.outer(normal, normal) / body.mass
        stick = -times3(tangent, solve3(response, times3(tangent, body.acceleration_at(arm))))
        force = self.law.force(jnp.sum(touch.forces), slip, stick)
        return FrictionWrench(
            force=force,
            torque=jnp.cross(arm, force),
            stored=jnp.zeros(()),
            power=-force @ velocity,
            memory_rate=jnp.zeros_like(memory),
        )


class SpringAtEachPoint(AbstractFrictionDistribution):
    """Each point hangs on a tangential spring that remembers: the rate form of `AbstractTangentialSpring`.

    The memory of a point is the stretch ξ [3] m of its spring in the tangent plane, surface's frame. It feels
    F = αkξ, α = min(1, 1/r), r = k|ξ|/(μN): Coulomb's bound is kept exactly, whatever the memory. With the slip
    v, of which s = max(0, -v·ξ̂) stretches the spring on,

        ξ' = -α (v + min(1, r)⁸ s ξ̂) - max(0, k'/k) ξ - (1 - α) max(0, -δ'/δ) ξ - (ξ·n̂') n̂.

    In turn: the spring follows the point, and at the bound its foot slides along (bending over within the last
    tenth, in place of a corner); a spring that stiffens gains no energy; where the bound falls with the depth, the
    foot slides back; the tangent plane turns. Motion and springs together never gain energy,

        -F·v - (kξ²/2)' = αk|ξ| min(1, r)⁸ s + |k'|ξ²/2 + (1 - α) max(0, -δ'/δ) kξ² ≥ 0,

    so that closed loops lose. After lift-off ξ fades with δ: each contact begins afresh.

    It holds without creep: a body at rest on a slope swings on its springs until these have spent its energy.

    This is the law of `step_spring` by other mathematics. There a spring is stretched by each final step and then cut
    to the bound, a map between two states; an adaptive solver tries steps and discards some, and needs a rate that is
    smooth through the bound.

    Give the normal force a `Smoothing`: without it the rates δ'/δ are infinite at touch.
    """

    law: AbstractTangentialSpring = part("law of the springs, a `TangentialSpring` or `MindlinSpring`")

    def memory(self, points: int) -> Float[Array, "M 3"]:
        return jnp.zeros((points, 3))

    def __call__(self, surface, touch, body, memory):
        velocities = jax.vmap(body.velocity_at)(touch.arms)

        def point(arm, normal, depth, growth, normal_force, velocity, stretch):
            place = body.centre + arm
            _, turning = jax.jvp(surface.normal, (place,), (velocity,))
            k, stiffening = jax.jvp(self.law.stiffness, (depth,), (growth,))
            stretch = stretch - stretch @ normal * normal  # what the solver's tolerance left of the normal part
            slip = velocity - velocity @ normal * normal
            length, bound = safe.norm(stretch), self.law.coefficient * normal_force
            # Far from the ground a smoothed force is 1e-300 N, and the derivative of what is divided by it infinite.
            bound = jnp.where(bound > jnp.finfo(bound.dtype).tiny ** 0.5, bound, 0.0)
            tension = k * length
            below = tension < bound
            # 1 - α; where there is neither tension nor normal force nothing is drawn.
            cut = jnp.where(below, 0.0, 1 - safe.divide(bound, tension))
            taut = jnp.where(below, (tension / jnp.where(below, bound, 1.0)) ** 8, 1.0)
            along = safe.unit(stretch)
            force = k * stretch * (1 - cut)
            drawn = slip + taut * safe.positive_part(-slip @ along) * along
            fading = (
                safe.positive_part(safe.divide(stiffening, k))
                + safe.positive_part(safe.divide(-growth, depth)) * cut
            )
            rate = -(1 - cut) * drawn - fading * stretch - stretch @ turning * normal
            stored = 0.5 * k * length**2
            return force, rate, stored, 0.5 * stiffening * length**2 + k * stretch @ rate

        forces, rates, stored, growth = jax.vmap(point)(
            touch.arms, touch.normals, touch.depths, touch.rates, touch.forces, velocities, memory
        )
        return FrictionWrench(
            force=jnp.sum(forces, axis=0),
            torque=jnp.sum(jnp.cross(touch.arms, forces), axis=0),
            stored=jnp.sum(stored),
            power=-jnp.sum(forces * velocities) - jnp.sum(growth),
            memory_rate=rates,
        )
