"""What one particle of a continuum does to another."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.particles import Components, Each, Symmetric, Vector, dot, minus, outer, rows, times
from difsim.sph.kernel import AbstractKernel
from difsim.typing import Scalar, number, require


class Viscosity(eqx.Module):
    """Artificial viscosity Π = (-α c ν + β ν²)/ρ̄ of approaching particles, ν = h v·x/(x² + ε h²).

    **Arguments:** `alpha`, `beta`; `sound` c, m/s: the material's own is right, more is more viscous.
    **Raises:** ValueError for negative ones. **Source:** Monaghan and Gingold (1983); paper 002 Eqs 33-34.
    """

    alpha: Scalar = number()
    beta: Scalar = number()
    sound: Scalar = number()

    def __check_init__(self):
        for name in ("alpha", "beta", "sound"):
            require(getattr(self, name) >= 0, f"Viscosity: {name} = {getattr(self, name)} must not be negative")

    def pressure(self, h: Scalar, offset: Vector, velocity: Vector, density: Scalar) -> Scalar:
        """Π in m^5/(kg s²) at x_a - x_b, v_a - v_b and the mean density."""
        approach = jnp.minimum(dot(velocity, offset), 0.0)
        # ε = 0.01: particles closer than a tenth of h count as that far apart.
        nu = h * approach / (dot(offset, offset) + 0.01 * h**2)
        return (-self.alpha * self.sound * nu + self.beta * nu**2) / density


class Sample(eqx.Module):
    """What a particle shows to its neighbours, by components; of many, each is an array of theirs."""

    position: Components
    velocity: Components
    stress: Symmetric  # σ/ρ², in the plane or space of the particles
    density: Each
    mass: Each


class PairSums(eqx.Module):
    """Sums over the neighbours of a particle, by components; of many, each is an array of theirs."""

    gradient: tuple[Components, ...]  # ∂v_i/∂x_j, 1/s
    acceleration: Components  # m/s², of stress and viscosity


class Flow(eqx.Module):
    """What moves and strains a particle; of many, with their axis last."""

    velocity: Float[Array, "d *n"]  # dx/dt, m/s
    gradient: Float[Array, "d d *n"]  # ∂v_i/∂x_j, 1/s
    acceleration: Float[Array, "d *n"]  # m/s², of stress and viscosity


def interaction(kernel: AbstractKernel, viscosity: Viscosity, a: Sample, b: Sample) -> PairSums:
    """What particle b does to particle a.

    ∂v_i/∂x_j += m_b/ρ_b (v_b - v_a)_i ∂_j W, and dv/dt += m_b (σ_a/ρ_a² + σ_b/ρ_b² - Π) ∂W, the gradient at a:
    the force on b is the opposite one. **Source:** paper 002 Eqs 35, 36.
    """
    offset, velocity = minus(a.position, b.position), minus(a.velocity, b.velocity)
    slope = kernel.gradient(offset)
    push = viscosity.pressure(kernel.h, offset, velocity, 0.5 * (a.density + b.density))
    stress = rows(tuple(x + y for x, y in zip(a.stress, b.stress, strict=True)))
    return PairSums(
        gradient=outer(times(-b.mass / b.density, velocity), slope),
        acceleration=tuple(b.mass * (dot(row, slope) - push * s) for row, s in zip(stress, slope, strict=True)),
    )
