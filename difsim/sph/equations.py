"""The interaction of two particles of a continuum."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.declarations import quantity
from difsim.particles.vectors import Components, Each, Symmetric, Vector, dot, minus, outer, rows, times
from difsim.sph.kernel import AbstractKernel
from difsim.typing import Scalar


class Viscosity(eqx.Module):
    """Artificial viscosity Π = (-α c ν + β ν²)/ρ̄ of approaching particles, ν = h v·x/(x² + ε h²).

    **Source:** Monaghan and Gingold (1983); Schäfer et al. (2017), Eqs 33-34.
    """

    alpha: Scalar = quantity("", "linear coefficient α", ge=0, usual=(0, 2))
    beta: Scalar = quantity("", "quadratic coefficient β", ge=0, usual=(0, 4))
    sound: Scalar = quantity(
        "m/s", "speed c of sound in the material, or more for more viscosity", ge=0, usual=(1, 1e4), slip="km/s"
    )

    def pressure(self, h: Scalar, offset: Vector, velocity: Vector, density: Scalar) -> Scalar:
        """The viscous pressure Π of two particles.

        **Arguments:** `h`, support, m; `offset` x_a - x_b, m; `velocity` v_a - v_b, m/s; `density`, their mean,
        kg/m³.
        **Returns:** Π, m^5/(kg s²).
        """
        approach = jnp.minimum(dot(velocity, offset), 0.0)
        # ε = 0.01 limits ν for particles closer than a tenth of h.
        nu = h * approach / (dot(offset, offset) + 0.01 * h**2)
        return (-self.alpha * self.sound * nu + self.beta * nu**2) / density


class Sample(eqx.Module):
    """The data of a particle that its neighbours need, by components; for many particles each is an array."""

    position: Components
    velocity: Components
    stress: Symmetric  # σ/ρ², in the plane or space of the particles
    density: Each
    mass: Each

    def offset(self, other: "Sample") -> Components:
        """The place x_a - x_b relative to another particle, m: the only numbers that positions give to sums.

        Positions of float64 are subtracted in float64, whatever the precision of all else.
        """
        return tuple(x.astype(self.density.dtype) for x in minus(self.position, other.position))


class PairSums(eqx.Module):
    """Sums over the neighbours of a particle, by components; for many particles each is an array."""

    gradient: tuple[Components, ...]  # ∂v_i/∂x_j, 1/s
    acceleration: Components  # m/s², of stress and viscosity


class Flow(eqx.Module):
    """Velocity, its gradient and acceleration of a particle; for many particles with their axis last."""

    velocity: Float[Array, "d *n"]  # dx/dt, m/s
    gradient: Float[Array, "d d *n"]  # ∂v_i/∂x_j, 1/s
    acceleration: Float[Array, "d *n"]  # m/s², of stress and viscosity


def interaction(kernel: AbstractKernel, viscosity: Viscosity, a: Sample, b: Sample) -> PairSums:
    """The contribution of particle b to the sums of particle a.

    ∂v_i/∂x_j += m_b/ρ_b (v_b - v_a)_i ∂_j W, and dv/dt += m_b (σ_a/ρ_a² + σ_b/ρ_b² - Π) ∂W, with the gradient at
    a; the force on b is opposite.

    **Arguments:** `kernel`; `viscosity`; `a`, `b`. **Returns:** the terms.
    **Source:** Schäfer et al. (2017), Eqs 35, 36.
    """
    offset, velocity = a.offset(b), minus(a.velocity, b.velocity)
    slope = kernel.gradient(offset)
    viscous = viscosity.pressure(kernel.h, offset, velocity, 0.5 * (a.density + b.density))
    stress = rows(tuple(x + y for x, y in zip(a.stress, b.stress, strict=True)))
    return PairSums(
        gradient=outer(times(-b.mass / b.density, velocity), slope),
        acceleration=tuple(b.mass * (dot(row, slope) - viscous * s) for row, s in zip(stress, slope, strict=True)),
    )
