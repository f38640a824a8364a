"""Walls with free slip, and sums over the particles of a tool alone."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from difsim import safe
from difsim.particles.vectors import Components, dot, times
from difsim.sph.equations import Sample
from difsim.sph.kernel import AbstractKernel
from difsim.typing import Mat3, Scalar


class WallSums(eqx.Module):
    """The solid near a wall particle: the solid's share of the support, and sums with those weights."""

    weight: Scalar
    velocity: Components
    stress: Mat3


def sums_at(
    members: Int[Array, " m"], interaction: Callable[[Any, Any], Any], samples: Any, index: Int[Array, "k n"]
) -> Any:
    """Σ_b interaction(a, b) as `difsim.particles.sums.pair_sums`, for some particles only.

    **Arguments:** `members` [m], the particles; `interaction`, `samples`, `index`: as there.
    **Returns:** the results of `interaction`, with a last axis of m.
    """
    own = jax.tree.map(lambda x: x[..., members], samples)
    near = jax.tree.map(lambda x: x[..., index[:, members]], samples)
    of_one = jax.vmap(interaction, in_axes=(None, -1), out_axes=-1)
    pairs = jax.vmap(of_one, in_axes=-1, out_axes=-1)(own, near)
    return jax.tree.map(lambda x: jnp.sum(x, axis=-2), pairs)


def wall_term(kernel: AbstractKernel, a: Sample, b: Sample, stress: Mat3) -> WallSums:
    """The term of particle b in the sums of wall particle a.

    **Arguments:** `kernel`; `a`, `b`, the samples, b with mass 0 if it is of a tool; `stress` of b, Pa.
    **Returns:** the term.
    """
    weight = b.mass / b.density * kernel.value(a.offset(b))
    return WallSums(weight, times(weight, b.velocity), weight * stress)


def mirror_image(
    velocity: Float[Array, " d"], normal: Float[Array, " d"], sums: WallSums
) -> tuple[Float[Array, " d"], Mat3]:
    """The mirror image of the solid that a wall with free slip presents to it.

    Across the wall the velocity is the wall's, along it the solid's mean, v̄ + ((v - v̄)·n) n; the stress is M σ̄
    M with M = 1 - 2 n nᵀ. So the wall exerts no shear, and the support is complete there. Without solid nearby it
    has no stress.

    **Arguments:** `velocity` v of the wall [d], m/s; `normal` n [d]; `sums` of the wall particle.
    **Returns:** velocity [d], m/s, and stress [3, 3], Pa.
    **Source:** after Adami, Hu and Adams (2012), J. Comput. Phys. 231, 7057, for walls of fluids.
    """
    mean = safe.divide(jnp.stack(sums.velocity), jnp.full_like(velocity, 1.0) * sums.weight)
    stress = safe.divide(sums.stress, jnp.full_like(sums.stress, 1.0) * sums.weight)
    near = sums.weight > 0
    moved = jnp.where(near, mean + dot(velocity - mean, normal) * normal, velocity)
    across = jnp.pad(normal, (0, 3 - normal.shape[0]))
    reflection = jnp.eye(3, dtype=across.dtype) - 2.0 * across[:, None] * across[None]
    return moved, reflection @ stress @ reflection
