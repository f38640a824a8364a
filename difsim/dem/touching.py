"""The contact of two spheres, or of a sphere and a wall: forces, moments, and the memory of the contact."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from difsim import safe
from difsim.contact.friction import TangentialHistory, step_spring
from difsim.dem.laws import AbstractGrainLaw
from difsim.dem.losses import ContactLosses
from difsim.particles.barrier import accelerator_barrier, optimisation_barrier
from difsim.particles.vectors import cross, dot
from difsim.typing import Scalar, Vec3


class Grain(eqx.Module):
    """One sphere: position m, velocity m/s, spin rad/s, radius m, mass kg; of many, with their axis last."""

    position: Float[Array, "3 *n"]
    velocity: Float[Array, "3 *n"]
    spin: Float[Array, "3 *n"]
    radius: Float[Array, "*n"]
    mass: Float[Array, "*n"]


class ContactForce(eqx.Module):
    """The wrenches of a contact on the first and on the second of two spheres.

    A wrench is a force, N, and below it the moment about the sphere's centre, N m: one array, which is added to the
    sphere's total at once. `memory` of the contact; its `depth`, m; `overlap`, the depth over the smaller radius;
    `lost`, the energies of `ContactLosses`, if they are counted.
    """

    on_first: Float[Array, "6 *n"]
    on_second: Float[Array, "6 *n"]
    memory: TangentialHistory
    depth: Float[Array, "*n"]
    overlap: Float[Array, "*n"]
    lost: dict[str, Float[Array, "*n"]]


def pair_force(
    law: AbstractGrainLaw,
    losses: ContactLosses | None,
    a: Grain,
    b: Grain,
    memory: TangentialHistory,
    dt: Scalar,
    itself: Bool[Array, ""],
) -> ContactForce:
    """The contact force of sphere b on sphere a in a step of `dt` s; none where the two are one particle (`itself`)."""
    normal, depth = optimisation_barrier(closest_point(a, b, itself), dt >= 0)
    radius, mass = effective(a.radius, b.radius), effective(a.mass, b.mass)
    # The contact is one point, half the depth below both surfaces, so that angular momentum is kept.
    arm, other_arm = a.radius - 0.5 * depth, b.radius - 0.5 * depth
    velocity = a.velocity - b.velocity - cross(arm * a.spin + other_arm * b.spin, normal)
    force, side, turning, memory, lost = _compose_force(
        law, losses, radius, mass, depth, normal, velocity, a.spin - b.spin, memory, dt
    )
    # That judges a run; it has no part in it.
    overlap = jax.lax.stop_gradient(depth / jnp.minimum(a.radius, b.radius))
    on_first = jnp.concatenate([force, turning - arm * side])
    on_second = jnp.concatenate([-force, -turning - other_arm * side])
    return ContactForce(on_first, on_second, accelerator_barrier(memory), depth, overlap, lost)


def closest_point(a: Grain, b: Grain, itself: Bool[Array, ""]) -> tuple[Vec3, Scalar]:
    """The normal of sphere a's contact with b, out of b, and its depth m; negative for one particle (`itself`)."""
    offset = a.position - b.position
    # A particle that is its own partner is at no distance, where a floor leaves no second derivative. Two at one
    # place have no normal: too deep for any law, which stops the run.
    distance = safe.sqrt_floored(jnp.where(itself, 1.0, dot(offset, offset)))
    depth = jnp.where(itself, -a.radius, a.radius + b.radius - distance)
    # Positions may be of a higher precision than all else: these two differences are what loses digits.
    return (offset / distance).astype(a.radius.dtype), depth.astype(a.radius.dtype)


def effective(a: Float[Array, "*n"], b: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """1/x = 1/a + 1/b, of two radii or masses."""
    return a * b / (a + b)


def wall_force(
    law: AbstractGrainLaw,
    losses: ContactLosses | None,
    a: Grain,
    depth: Scalar,
    normal: Vec3,
    memory: TangentialHistory,
    dt: Scalar,
) -> ContactForce:
    """The contact force of a wall on sphere a, which is `depth` m in it, against its `normal`."""
    gap = a.radius - depth  # of the centre
    velocity = a.velocity - cross(gap * a.spin, normal)
    force, side, turning, memory, lost = _compose_force(
        law, losses, a.radius, a.mass, depth, normal, velocity, a.spin, memory, dt
    )
    overlap = jax.lax.stop_gradient(depth / a.radius)
    on_sphere = jnp.concatenate([force, turning - gap * side])
    return ContactForce(on_sphere, -on_sphere, memory, depth, overlap, lost)


def _compose_force(law, losses, radius, mass, depth, normal, velocity, spin, memory, dt):
    """The parts of a contact force, from the relative velocity of the contact and the relative spin.

    They are the force, N; the moment of friction for a lever of 1 m and that of rolling, N m; the memory; and the
    energies lost.
    """
    rate = -dot(velocity, normal)
    normal_force, slip = optimisation_barrier(
        (law.normal(radius, mass).force(depth, rate), velocity + rate * normal), dt >= 0
    )
    across, after = tangential_force(law, radius, mass, depth, normal_force, slip, normal, memory, dt)
    pull = sum((c.force(-depth) for c in law.cohesion), jnp.zeros_like(normal_force))
    turning = jnp.zeros_like(normal)
    for resistance in law.rolling:
        # Of these laws the force is none, and mass and inertia do not matter.
        turning = turning + resistance.wrench(normal_force, spin, normal, normal, mass, jnp.eye(3))[1]
    lost = {}
    if losses is not None:
        memories, rolling = (memory, after), -dot(turning, spin)
        lost = losses.contact_losses(law, radius, mass, depth, rate, slip, memories, rolling, dt)
    return (normal_force - pull) * normal + across, cross(normal, across), turning, after, lost


def tangential_force(
    law: AbstractGrainLaw,
    radius: Scalar,
    mass: Scalar,
    depth: Scalar,
    normal_force: Scalar,
    slip: Vec3,
    normal: Vec3,
    memory: TangentialHistory,
    dt: Scalar,
) -> tuple[Vec3, TangentialHistory]:
    """The force N along a contact, and its memory `dt` s later (`step_spring`)."""
    k = law.tangential(radius).stiffness(depth)
    c = law.shear_damping(radius, mass, k)
    return step_spring(memory, k, c, law.friction * normal_force, slip, normal, dt)
