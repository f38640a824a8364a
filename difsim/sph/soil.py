"""Soil: Hooke's elasticity within the Drucker-Prager cone."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim import safe
from difsim.declarations import part, quantity, rule
from difsim.particles.vectors import Each
from difsim.sph.material import (
    AbstractMaterial,
    Tensor,
    hooke,
    isotropic,
    second_invariant,
    split,
)
from difsim.typing import Scalar


class AbstractCone(eqx.Module):
    """The match of Coulomb's friction angle and cohesion to the cone √J₂ + a I₁ = k."""

    @abstractmethod
    def match(self, friction: Scalar, cohesion: Scalar) -> tuple[Scalar, Scalar]:
        """The constants of the cone.

        **Arguments:** `friction` angle, rad; `cohesion`, Pa. **Returns:** a, and k, Pa.
        """


class PlaneStrain(AbstractCone):
    """Coulomb in plane strain (Schäfer et al. 2017, Eq 13): a = tan φ/√(9 + 12 tan²φ), k = 3 c/√(9 + 12 tan²φ)."""

    tag = "plane-strain"

    def match(self, friction, cohesion):
        root = jnp.sqrt(9.0 + 12.0 * jnp.tan(friction) ** 2)
        return jnp.tan(friction) / root, 3.0 * cohesion / root


class Compression(AbstractCone):
    """Coulomb's edges of triaxial compression: a = 2 sin φ/(√3 (3 - sin φ)), k = 6 c cos φ/(√3 (3 - sin φ))."""

    tag = "compression"

    def match(self, friction, cohesion):
        below = jnp.sqrt(3.0) * (3.0 - jnp.sin(friction))
        return 2.0 * jnp.sin(friction) / below, 6.0 * cohesion * jnp.cos(friction) / below


class DruckerPrager(AbstractMaterial):
    """An elastic, perfectly plastic soil with the cone f = √J₂ + a I₁ - k and the flow g = √J₂ + 3 I₁ sin ψ.

    A step is elastic (`rate`) and then returns to the cone along the flow (`admissible`). In the limit of short steps
    this is the flow with the multiplier of the paper's Eq 20; a rate that is switched on exactly on the cone would
    depend on the rounding of f.

    **Source:** Schäfer et al. (2017), sec. 2.
    """

    tag = "drucker-prager"
    young: Scalar = quantity("Pa", "Young's modulus", gt=0, usual=(1e4, 1e12), slip="MPa or GPa")
    poisson: Scalar = quantity("", "Poisson's ratio", gt=-1, lt=0.5, usual=(0, 0.49))
    friction: Scalar = quantity("rad", "friction angle φ", ge=0, lt=np.pi / 2, usual=(0, 1), slip="degrees")
    cohesion: Scalar = quantity("Pa", "cohesion c", ge=0, usual=(0, 1e6), slip="kPa", default=0.0)
    dilatancy: Scalar = quantity("rad", "dilatancy angle ψ", ge=0, usual=(0, 0.5), slip="degrees", default=0.0)
    density: Scalar = quantity(
        "kg/m³", "density ρ₀ without load", gt=0, usual=(100, 1e4), slip="g/cm³", default=2650.0
    )
    cone: AbstractCone = part("match to Coulomb's law, `PlaneStrain()` or `Compression()`", default=PlaneStrain())

    @rule("dilatancy = {dilatancy} rad must be at most the friction angle, {friction} rad")
    def _has_dilatancy_below_friction(self):
        return self.dilatancy <= self.friction

    def excess(self, stress: Tensor) -> Each:
        """The yield function √J₂ + a I₁ - k, Pa: negative inside the cone."""
        a, k = self.cone.match(self.friction, self.cohesion)
        mean, deviator = split(stress)
        return safe.sqrt(second_invariant(deviator)) + 3.0 * a * mean - k

    def rate(self, stress: Tensor, gradient: Tensor) -> Tensor:
        return hooke(stress, gradient, self.bulk, self.shear)

    def energy(self, stress: Tensor, density: Each) -> Each:
        mean, deviator = split(stress)
        return (second_invariant(deviator) / self.shear + mean**2 / self.bulk) / (2.0 * density)

    def admissible(self, stress: Tensor, density: Each) -> Tensor:
        """The stress returned to the cone along the flow, or to its apex from beyond it.

        √J₂ falls by G λ and I₁ by 27 K sin ψ λ with λ = f/(G + 27 K a sin ψ): without dilatancy the deviator is
        scaled and the pressure does not change.

        **Arguments:** as `AbstractMaterial.admissible`. **Returns:** the stress, Pa.
        **Source:** Schäfer et al. (2017), Eqs 16-20; Bui et al. (2008), sec. 3.3, for the apex.
        """
        a, k = self.cone.match(self.friction, self.cohesion)
        mean, deviator = split(stress)
        radius = safe.sqrt(second_invariant(deviator))
        swelling = 9.0 * self.bulk * jnp.sin(self.dilatancy)
        flow = jnp.maximum(radius + 3.0 * a * mean - k, 0.0) / (self.shear + 3.0 * a * swelling)
        # A frictionless soil has no apex, and keeps the deviator of its cohesion: where that is 0, the difference would
        # have no derivative.
        left = jnp.where((a > 0) | (flow == 0), radius - self.shear * flow, k - 3.0 * a * mean)
        # Beyond the apex the deviator is zero.
        beyond = (left <= 0) & (flow > 0) & (a > 0)
        held = jnp.where(beyond, safe.divide(k, 3.0 * a), mean - swelling * flow)
        return isotropic(held) + jnp.where(beyond, 0.0, safe.divide(left, radius))[None, None] * deviator
