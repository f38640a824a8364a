"""The resistance of grains to a body that is pressed into them, as a pressure of three terms.

    p = σ + κ z + ρ_d v²

z is the depth and v the speed at which the body sinks. A constant strength and a drag are Poncelet's law of 1829; a
pressure that grows with the depth and a drag are that of Katsuragi and Durian (Nature Physics 3, 420, 2007), whose
k is κ A and whose d₁ is m/(ρ_d A), for a mass m and an area A.
"""

import equinox as eqx
import jax.numpy as jnp

from difsim.declarations import quantity, rule
from difsim.typing import Scalar


class Poncelet(eqx.Module):
    """Grains that resist by a strength, by a pressure that grows with the depth, and by a drag."""

    strength: Scalar = quantity("Pa", "strength σ", ge=0, usual=(0, 1e7), slip="kPa or MPa", default=0.0)
    hardening: Scalar = quantity(
        "Pa/m", "rise κ of the pressure with the depth", ge=0, usual=(0, 1e9), default=0.0
    )
    drag: Scalar = quantity(
        "kg/m³", "drag ρ_d, a density times a drag coefficient", ge=0, usual=(0, 2e4), slip="g/cm³", default=0.0
    )

    @rule("strength and hardening are both 0: nothing would stop a body, give one")
    def _has_strength(self):
        return (self.strength > 0) | (self.hardening > 0)

    def resistance(self, z: Scalar, radius: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """The coefficients of the resistance F_y + c₁ v + c₂ v², as of `Regolith`.

        **Arguments:** `z`, the depth, m; `radius` of the contact, m. **Returns:** F_y, N; c₁ = 0, N s/m; and c₂,
        N s²/m².
        """
        area = jnp.pi * radius**2
        return area * (self.strength + self.hardening * z), jnp.zeros_like(area), area * self.drag
