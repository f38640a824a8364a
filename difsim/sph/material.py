"""Materials: the elastic rate of a stress, and the stress that the material can bear.

Stress is positive in tension, and [3, 3] in the plane too, where the strain across it is zero (plane strain). Laws
are written by components, so that they hold for one particle and, with a further axis, for many: mapped over
particles, a scalar times a tensor would transpose all arrays and double the cost of a step.
"""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.declarations import quantity
from difsim.particles.vectors import Each
from difsim.rotation import product3
from difsim.typing import Scalar

Tensor = Float[Array, "3 3 *n"]  # of one particle, or of many


class AbstractMaterial(eqx.Module):
    """A solid of Young's modulus `young` Pa, Poisson's ratio `poisson`, and `density` ρ₀ kg/m³ without load."""

    young: eqx.AbstractVar[Scalar]
    poisson: eqx.AbstractVar[Scalar]
    density: eqx.AbstractVar[Scalar]

    @abstractmethod
    def rate(self, stress: Tensor, gradient: Tensor) -> Tensor:
        """The elastic rate of the stress.

        **Arguments:** `stress` σ, Pa; `gradient` of the velocity, [i, j] = ∂v_i/∂x_j, 1/s. **Returns:** dσ/dt,
        Pa/s.
        """

    @abstractmethod
    def admissible(self, stress: Tensor, density: Each) -> Tensor:
        """The stress that the material can bear, after an elastic step.

        **Arguments:** `stress`, Pa, elastic; `density`, kg/m³. **Returns:** the stress, Pa.
        """

    @abstractmethod
    def energy(self, stress: Tensor, density: Each) -> Each:
        """The elastic energy.

        **Arguments:** as `admissible`. **Returns:** the energy, J/kg.
        """

    @property
    def shear(self) -> Scalar:
        """The shear modulus G, Pa."""
        return self.young / (2.0 * (1.0 + self.poisson))

    @property
    def bulk(self) -> Scalar:
        """The bulk modulus K, Pa."""
        return self.young / (3.0 * (1.0 - 2.0 * self.poisson))

    @property
    def sound(self) -> Scalar:
        """The speed of an elastic compression wave, √((K + 4G/3)/ρ₀), m/s."""
        return jnp.sqrt((self.bulk + 4.0 / 3.0 * self.shear) / self.density)


class Murnaghan(AbstractMaterial):
    """An elastic body with Hooke's deviator and the pressure p = K/n ((ρ/ρ₀)ⁿ - 1).

    **Source:** Schäfer et al. (2017), Eq 28, whose bracket is misprinted; Melosh (1996).
    """

    tag = "murnaghan"
    young: Scalar = quantity("Pa", "Young's modulus", gt=0, usual=(1e4, 1e12), slip="MPa or GPa")
    poisson: Scalar = quantity("", "Poisson's ratio", gt=-1, lt=0.5, usual=(0, 0.49))
    density: Scalar = quantity("kg/m³", "density ρ₀ without load", gt=0, usual=(100, 1e4), slip="g/cm³")
    exponent: Scalar = quantity("", "exponent n", gt=0, usual=(1, 10), default=4.0)

    def rate(self, stress: Tensor, gradient: Tensor) -> Tensor:
        return hooke(stress, gradient, self.bulk, self.shear)

    def admissible(self, stress: Tensor, density: Each) -> Tensor:
        _, deviator = split(stress)
        pressure = self.bulk / self.exponent * ((density / self.density) ** self.exponent - 1.0)
        return deviator - isotropic(pressure)

    def energy(self, stress: Tensor, density: Each) -> Each:
        """The energy of the deviator, and ∫ p/ρ² dρ. **Arguments:** as `admissible`. **Returns:** J/kg."""
        n, x = self.exponent, density / self.density
        power = jnp.where(n == 1, jnp.log(x), (x ** (n - 1) - 1) / jnp.where(n == 1, 1.0, n - 1))
        volume = self.bulk / (n * self.density) * (power + 1 / x - 1)
        return second_invariant(split(stress)[1]) / (2.0 * self.shear * density) + volume


def hooke(stress: Tensor, gradient: Tensor, bulk: Scalar, shear: Scalar) -> Tensor:
    """Hooke's law with the Jaumann rate: 2G dev ε̇ + K tr ε̇ 1 + R σ + σ Rᵀ.

    **Arguments:** `stress`, Pa; `gradient`, 1/s; `bulk` K and `shear` G, Pa. **Returns:** dσ/dt, Pa/s.
    **Source:** Schäfer et al. (2017), Eq 27.
    """
    volume, deviator = split(0.5 * (gradient + _transpose(gradient)))
    spin = 0.5 * (gradient - _transpose(gradient))
    turned = product3(spin, stress)  # σ Rᵀ is its transpose
    return 2.0 * shear * deviator + isotropic(3.0 * bulk * volume) + turned + _transpose(turned)


def split(tensor: Tensor) -> tuple[Each, Tensor]:
    """A third of the trace of a tensor, and its deviator."""
    mean = (tensor[0, 0] + tensor[1, 1] + tensor[2, 2]) / 3.0
    return mean, tensor - isotropic(mean)


def isotropic(x: Each) -> Tensor:
    """The unit tensor times x."""
    return jnp.eye(3, dtype=x.dtype).reshape(3, 3, *(1,) * x.ndim) * x[None, None]


def _transpose(tensor: Tensor) -> Tensor:
    return jnp.swapaxes(tensor, 0, 1)


def second_invariant(deviator: Tensor) -> Each:
    """The invariant J₂ = ½ S:S of a symmetric deviator."""
    s = deviator
    return 0.5 * (s[0, 0] ** 2 + s[1, 1] ** 2 + s[2, 2] ** 2) + s[0, 1] ** 2 + s[0, 2] ** 2 + s[1, 2] ** 2
