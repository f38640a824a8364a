"""Elastic normal forces F = k δᵖ at one point: Hooke's, a power law's and Hertz's."""

import math
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike

from difsim import safe
from difsim.checks import host_numbers, numbers
from difsim.declarations import custom_field, quantity, rule
from difsim.typing import Scalar, as_float, require


class AbstractElastic(eqx.Module):
    """An elastic force F = k δᵖ of the penetration δ.

    The closed forms are those of an impact in free flight, without damping and without smoothing.
    """

    stiffness: eqx.AbstractVar[Scalar]  # k, N/m^p
    exponent: eqx.AbstractVar[float]

    def force(self, delta: Scalar) -> Scalar:
        """F in N at the penetration `delta` ≥ 0 in m."""
        return self.stiffness * safe.power(delta, self.exponent)

    def energy(self, delta: Scalar) -> Scalar:
        """Stored energy in J at the penetration `delta` ≥ 0 in m."""
        return self.stiffness * safe.power(delta, self.exponent + 1) / (self.exponent + 1)

    def max_depth(self, mass: ArrayLike, speed: ArrayLike) -> Scalar:
        """The greatest penetration δ_max of an impact, from ½ m v² = E(δ_max).

        **Arguments:** the (reduced) `mass`, kg; `speed` of impact, m/s. **Returns:** δ_max, m.
        """
        p = self.exponent
        return (0.5 * (p + 1) * as_float(mass) * as_float(speed) ** 2 / self.stiffness) ** (1 / (p + 1))

    def duration(self, mass: ArrayLike, speed: ArrayLike) -> Scalar:
        """The time from touch to separation of an impact of given speed.

        **Arguments:** the (reduced) `mass`, kg; `speed` of impact, m/s. **Returns:** the time, s.
        """
        return self.duration_by_depth(mass, self.max_depth(mass, speed))

    def duration_by_depth(self, mass: ArrayLike, depth: ArrayLike) -> Scalar:
        """The time from touch to separation of an impact of given greatest penetration.

        t = 2 √π Γ(1 + q)/Γ(½ + q) δ_max/v with q = 1/(p + 1): π √(m/k) for a spring, 2.943 δ_max/v for Hertz.

        **Arguments:** the (reduced) `mass`, kg; `depth` δ_max, m. **Returns:** the time, s.
        """
        p, q = self.exponent, 1 / (self.exponent + 1)
        factor = 2 * math.sqrt(math.pi) * math.gamma(1 + q) / math.gamma(0.5 + q)
        # δ/v by the depth alone, so that it holds for a spring at no depth too.
        slowness = jnp.sqrt(0.5 * (p + 1) * as_float(mass) / self.stiffness)
        return factor * slowness * as_float(depth) ** ((1 - p) / 2)


class Hooke(AbstractElastic):
    """A linear spring, F = k δ."""

    exponent: ClassVar[float] = 1.0
    stiffness: Scalar = quantity("N/m", "stiffness k", gt=0, usual=(1, 1e10), slip="N/mm")


class PowerLaw(AbstractElastic):
    """A spring that stiffens as a power of its depth, F = k δᵖ.

    The `exponent` p ≥ 1 is a choice of law, and static.
    """

    stiffness: Scalar = quantity("N/m^p", "stiffness k", gt=0)
    exponent: float = custom_field(
        lambda name, _, given: float(host_numbers(name, given, "")), "exponent p", static=True
    )

    @rule("exponent = {exponent} must be 1 or more")
    def _has_no_infinite_slope(self):
        return self.exponent >= 1


class Hertz(AbstractElastic):
    """The elastic contact of two spheres, F = 4/3 E* √R* δ^(3/2).

    **Source:** Johnson, Contact Mechanics (1985), secs. 4.2 and 11.4.
    """

    exponent: ClassVar[float] = 1.5
    effective_modulus: Scalar = quantity(
        "Pa", "effective modulus E*, 1/E* = Σ (1-ν²)/E", gt=0, usual=(1e3, 1e12), slip="MPa or GPa"
    )
    effective_radius: Scalar = quantity(
        "m", "effective radius R* of curvature, 1/R* = Σ 1/R", gt=0, usual=(1e-6, 100), slip="mm"
    )

    @classmethod
    def from_materials(
        cls, modulus: ArrayLike | Sequence, poisson: ArrayLike | Sequence, radius: ArrayLike | Sequence
    ) -> "Hertz":
        """The contact of bodies of known elasticity and curvature.

        **Arguments:** `modulus` E [n], Pa, and `poisson` ν [n]: one entry for each body that deforms (leave rigid
        ones out); `radius` R [m], m: one entry for each curved surface (leave flat ones out, concave ones are
        negative). **Returns:** the law with 1/E* = Σ (1-νᵢ²)/Eᵢ and 1/R* = Σ 1/Rᵢ.
        **Raises:** `ValueError` unless E > 0 and -1 < ν ≤ 0.5.
        """
        return cls(effective_modulus(modulus, poisson), 1 / jnp.sum(1 / numbers("radius", radius)))

    @property
    def stiffness(self) -> Scalar:
        """k = 4/3 E* √R* in N/m^1.5."""
        return 4 / 3 * self.effective_modulus * jnp.sqrt(self.effective_radius)


def effective_modulus(modulus: ArrayLike | Sequence, poisson: ArrayLike | Sequence) -> Scalar:
    """E* in Pa of bodies in contact, 1/E* = Σ (1-νᵢ²)/Eᵢ.

    **Arguments:** `modulus` E [n], Pa; `poisson` ν [n]: one entry for each body that deforms.
    **Returns:** E*, Pa. **Raises:** `ValueError` unless E > 0 and -1 < ν ≤ 0.5.
    """
    E, nu = numbers("modulus", modulus, is_finite=False), numbers("poisson", poisson)
    require(E > 0, f"effective_modulus: E = {E} Pa must be positive.")
    require((nu > -1) & (nu <= 0.5), f"effective_modulus: ν = {nu} must be in (-1, 0.5].")
    return 1 / jnp.sum((1 - nu**2) / E)
