"""The contact of two spheres, or of a sphere and a wall: forces, moments, and what the contact remembers."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from difsim import safe
from difsim.dem.laws import AbstractGrainLaw
from difsim.particles import cross, dot, optimisation_barrier
from difsim.typing import Scalar, Vec3


class Grain(eqx.Module):
    """One sphere: position m, velocity m/s, spin rad/s, radius m, mass kg; of many, with their axis last."""

    position: Float[Array, "3 *n"]
    velocity: Float[Array, "3 *n"]
    spin: Float[Array, "3 *n"]
    radius: Float[Array, "*n"]
    mass: Float[Array, "*n"]


class Shear(eqx.Module):
    """What a contact, or many, remember: the force N along them, and the stiffness N/m at the last step."""

    force: Float[Array, "3 *n"]
    stiffness: Float[Array, "*n"]

    @classmethod
    def none(cls, dtype: Any) -> "Shear":
        """Of one contact that never was."""
        return cls(jnp.zeros((3, 1), dtype), jnp.zeros(1, dtype))


class Push(eqx.Module):
    """Force N on the first of two, moments N m about the centres of both, what the contact remembers; depth m, and
    over the smaller radius."""

    force: Float[Array, "3 *n"]
    moment: Float[Array, "3 *n"]
    other_moment: Float[Array, "3 *n"]
    memory: Shear
    depth: Float[Array, "*n"]
    overlap: Float[Array, "*n"]


def between(law: AbstractGrainLaw, a: Grain, b: Grain, memory: Shear, dt: Scalar, itself: Bool[Array, ""]) -> Push:
    """What sphere b does to sphere a in a step of `dt` s; nothing where the two are one particle (`itself`)."""
    normal, depth = optimisation_barrier(met(a, b, itself), dt >= 0)
    radius, mass = effective(a.radius, b.radius), effective(a.mass, b.mass)
    # The contact is one point, half the depth below both surfaces, so that angular momentum is kept.
    arm, other_arm = a.radius - 0.5 * depth, b.radius - 0.5 * depth
    velocity = a.velocity - b.velocity - cross(arm * a.spin + other_arm * b.spin, normal)
    force, side, turning, memory = _pushed(law, radius, mass, depth, normal, velocity, a.spin - b.spin, memory, dt)
    # That judges a run; it has no part in it.
    overlap = jax.lax.stop_gradient(depth / jnp.minimum(a.radius, b.radius))
    return Push(force, turning - arm * side, -turning - other_arm * side, memory, depth, overlap)


def met(a: Grain, b: Grain, itself: Bool[Array, ""]) -> tuple[Vec3, Scalar]:
    """The normal of sphere a's contact with b, out of b, and its depth m; negative for one particle (`itself`)."""
    offset = a.position - b.position
    # A particle that is its own partner is at no distance, where a floor leaves no second derivative. Two at one
    # place have no normal: too deep for any law, which stops the run.
    distance = safe.sqrt_floored(jnp.where(itself, 1.0, dot(offset, offset)))
    return offset / distance, jnp.where(itself, -a.radius, a.radius + b.radius - distance)


def effective(a: Float[Array, "*n"], b: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """1/x = 1/a + 1/b, of two radii or masses."""
    return a * b / (a + b)


def at_wall(law: AbstractGrainLaw, a: Grain, gap: Scalar, normal: Vec3, memory: Shear, dt: Scalar) -> Push:
    """What a wall does to sphere a, whose centre is `gap` m from it along its `normal`."""
    depth = a.radius - gap
    velocity = a.velocity - cross(gap * a.spin, normal)
    force, side, turning, memory = _pushed(law, a.radius, a.mass, depth, normal, velocity, a.spin, memory, dt)
    overlap = jax.lax.stop_gradient(depth / a.radius)
    return Push(force, turning - gap * side, jnp.zeros_like(force), memory, depth, overlap)


def _pushed(law, radius, mass, depth, normal, velocity, spin, memory, dt):
    """Force N; moments N m, by a lever of 1 m and of rolling; the memory: from the velocity of the contact and the
    spin of one against the other."""
    rate = -dot(velocity, normal)
    push, slip = optimisation_barrier((law.push(radius, mass, depth, rate), velocity + rate * normal), dt >= 0)
    across, memory = sheared(law, radius, mass, depth, push, slip, normal, memory, dt)
    pull = sum((c.force(-depth) for c in law.cohesion), jnp.zeros_like(push))
    turning = jnp.zeros_like(normal)
    for resistance in law.rolling:
        # Of these laws the force is none, and mass and inertia do not matter.
        turning = turning + resistance.wrench(push, spin, normal, normal, mass, jnp.eye(3))[1]
    return (push - pull) * normal + across, cross(normal, across), turning, memory


def sheared(
    law: AbstractGrainLaw,
    radius: Scalar,
    mass: Scalar,
    depth: Scalar,
    push: Scalar,
    slip: Vec3,
    normal: Vec3,
    memory: Shear,
    dt: Scalar,
) -> tuple[Vec3, Shear]:
    """The force N along a contact, and what it remembers `dt` s later.

    `AbstractTangentialSpring.advance` of `difsim.contact`, written out for inner loops, with a damper beside it.
    Where both together slip the spring gives way.
    """
    k, c = law.shear_stiffness(radius, depth), law.shear_damping(radius, mass, depth)
    known = memory.stiffness > 0
    softer = jnp.where(k < memory.stiffness, k / jnp.where(known, memory.stiffness, 1.0), 1.0)
    flat = memory.force - dot(memory.force, normal) * normal
    square, size = dot(flat, flat), dot(memory.force, memory.force)
    # Forces die out at rest, to 1e-100 N and below; the square of a square must not be 0 where it divides.
    least = jnp.finfo(square.dtype).tiny ** 0.5
    # The old force turns with the tangent plane and keeps its size.
    turned = jnp.where(square > least, size / jnp.where(square > least, square, 1.0), 1.0)
    force = optimisation_barrier(softer * jnp.sqrt(turned) * flat - (k * dt + c) * slip, dt >= 0)
    bound, square = law.friction * push, dot(force, force)
    # Not `slides = square > bound**2`: of what is tiny both are 0, and a bound of 0 is to leave nothing.
    holds = square < bound**2
    shorter = jnp.where(holds, 1.0, bound / jnp.sqrt(jnp.where(holds, 1.0, jnp.maximum(square, least))))
    # The floor of c would be remembered by two that are apart, as a force whose square has no reciprocal.
    return shorter * force, Shear(jnp.where(k > 0, shorter * force + c * slip, 0.0), k)
