"""A rigid body against a solid: forces at many points of the body, added up to one wrench."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.contact.cohesion import AbstractCohesion
from difsim.contact.contact_points import BodyMotion, ContactPoints, effective_arm
from difsim.contact.friction_distribution import AbstractFrictionDistribution
from difsim.contact.normal import AbstractNormalForce
from difsim.contact.outline import AbstractOutline
from difsim.contact.rolling import AbstractRolling
from difsim.declarations import part
from difsim.shape import AbstractSDF
from difsim.typing import Mat3, Scalar, Vec3


class Wrench(eqx.Module):
    """The contact wrench of a surface on a body, with its energy and powers, in the surface's frame.

    `force` [3], N, and `torque` [3] about the centre of mass, N m; energy `stored`, J, negative where cohesion
    holds; `powers` W that become heat by damping, friction and rolling; `memory_rate` [M, 3], the rate of the
    friction's memory.
    """

    force: Vec3
    torque: Vec3
    stored: Scalar
    powers: dict[str, Scalar]
    memory_rate: Float[Array, "M 3"]


class SurfaceContact(eqx.Module):
    """The contact of a body with a surface: normal force and cohesion at each point, friction, rolling resistance.

    Friction goes with the normal force alone, so cohesion lets a body hold on a slope that is too steep for its
    weight. Where the normal force is smoothed, cohesion acts in full up to half of its reach (10 widths), where the
    normal force has fallen to 2e-9, and fades from there: the force that tears a point off is `pull_off`.

    Nothing acts, and nothing but one distance is computed, where the centre is farther from the surface than
    twice the body's radius and the reach of the laws (twice: tabulated distances may have slopes above 1).

    **Source:** the hopper paper, sec. 4; Eq 4 for r_p.
    """

    outline: AbstractOutline = part("points that may touch")
    normal: AbstractNormalForce = part("normal force at each point, such as a `NormalForce`")
    friction: AbstractFrictionDistribution = part("friction over the points")
    rolling: tuple[AbstractRolling, ...] = part(
        "resistances at the effective point r_p = Σ δ_j r_j/Σ δ_j", default=()
    )
    cohesion: tuple[AbstractCohesion, ...] = part("attractions, each at each point", default=())

    @eqx.filter_jit  # traced once for a motion, which asks for it in a dozen places
    def wrench(
        self, surface: AbstractSDF, body: BodyMotion, rotation: Mat3, memory: Float[Array, "M 3"]
    ) -> Wrench:
        """The contact wrench of the surface on the body.

        **Arguments:** `surface`; `body`, in the surface's frame; `rotation` [3, 3] from the body's frame to the
        surface's; `memory` [M, 3] of the friction. **Returns:** the wrench.
        """
        far = surface.distance(body.centre) > 2 * self.outline.radius + self._reach
        return jax.lax.cond(
            far, lambda: _no_force(body, memory), lambda: self._wrench(surface, body, rotation, memory)
        )

    def gap(self, surface: AbstractSDF, centre: Vec3, rotation: Mat3) -> Scalar:
        """The least distance of a point of the body from the surface, negative inside.

        **Arguments:** `surface`; `centre` [3] of mass, m; `rotation` [3, 3] from the body's frame to the surface's.
        **Returns:** the distance, m.
        """
        arms = self.outline.arms(surface, centre, rotation)
        return safe.least(jax.vmap(lambda arm: surface.distance(centre + arm))(arms))

    @property
    def _reach(self) -> Scalar:
        return self.normal.regularisation.reach + sum(law.range for law in self.cohesion)

    def _wrench(self, surface, body, rotation, memory):
        arms = self.outline.arms(surface, body.centre, rotation)
        normal_law, regularisation = self.normal, self.normal.regularisation

        def point(arm):
            # By virtual work along ∇d, not along the unit normal: where |∇d| is not quite 1 (tables, rough
            # ground) the forces still have a potential.
            gap, slope = jax.value_and_grad(surface.distance)(body.centre + arm)
            rate = -slope @ body.velocity_at(arm)
            force, elastic = normal_law.force(-gap, rate), normal_law.force(-gap, jnp.zeros_like(rate))
            held = gap - regularisation.reach / 2
            pull = sum((law.force(held) for law in self.cohesion), jnp.zeros_like(gap)) * slope
            stored = normal_law.elastic_energy(-gap) + sum(law.energy(held) for law in self.cohesion)
            delta, growth = jax.value_and_grad(regularisation.penetration)(-gap)
            steepness = safe.norm(slope)
            normal = safe.divide(slope, jnp.broadcast_to(steepness, slope.shape))
            side = normal, delta, growth * rate, force * slope, safe.positive_part(force) * steepness
            return side, pull, stored, (force - elastic) * rate

        side, pulls, stored, damping = jax.vmap(point)(arms)
        depths = side[1]
        arm = effective_arm(depths, arms)
        touch = ContactPoints(arms, *side, arm, surface.normal(body.centre + arm))
        force = touch.force - jnp.sum(pulls, axis=0)
        torque = touch.torque - jnp.sum(jnp.cross(arms, pulls), axis=0)
        slowing = jnp.zeros_like(body.mass)
        for law in self.rolling:
            total = jnp.sum(touch.forces)
            f, t = law.wrench(total, body.spin, touch.normal, arm, body.mass, body.inertia)
            force, torque = force + f, torque + t
            slowing = slowing - f @ body.velocity - t @ body.spin
        # Last, since what holds a point still depends on all that would move it.
        held = self.friction(surface, touch, body.accelerate(force, torque), memory)
        return Wrench(
            force=force + held.force,
            torque=torque + held.torque,
            stored=jnp.sum(stored) + held.stored,
            powers={"damping": jnp.sum(damping), "friction": held.power, "rolling": slowing},
            memory_rate=held.memory_rate,
        )


def _no_force(body: BodyMotion, memory: Float[Array, "M 3"]) -> Wrench:
    none, zero = jnp.zeros_like(body.centre), jnp.zeros_like(body.mass)
    return Wrench(
        none, none, zero, dict.fromkeys(("damping", "friction", "rolling"), zero), jnp.zeros_like(memory)
    )
