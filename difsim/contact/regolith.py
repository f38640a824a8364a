"""The reduced law of a footpad in a layered regolith: every unknown of Wu et al. (2019) acts smoothly.

The ground under a footpad is an elastic spring (porous grain skeleton) in series with a plastic slider that
yields at a strength F_y(z) and flows at a rate set by viscous and inertial resistance:

    N = k_e (total penetration - z),      c₁ ż + c₂ ż² = ⟨N - F_y(z)⟩,      ż ≥ 0.

z is the plastic penetration. It never recovers, so unloading is inelastic: what went into z is lost.

| term | formula | source |
|---|---|---|
| skeleton modulus | E_m = E_p (1 - φ), φ_c = f = 1 | Wu et al. (2019), Eq 35 (Kováčik 1999) |
| elastic stiffness | k_e = 2 R E_m/(1 - ν²) | Boussinesq, rigid disc of radius R |
| tensile strength | σ_t = (1-φ)/φ F_c/D², F_c = (3/4) π γ D | Rumpf 1962; JKR pull-off of equal spheres |
| cohesion | c = c_f σ_t (cone's apex at σ_t) | Mohr-Coulomb |
| bearing pressure | q = 1.3 c N_c + ρ g z N_q + 0.6 ρ g R N_γ, tan φ_i = c_f | Terzaghi 1943 (circle), Vesić 1973 |
| rigid floor at h_c | f_b q (1 + R/h), h = clearance h_c - z | squeezed layer (form: Meyerhof & Chaplin 1953) |
| inertia | c₂ = ρ_d A, ρ_d = f_v (8/3) c_f ρ | Katsuragi & Durian 2013, d₁/D = 0.25/μ ρ_p/ρ_g |
| grain-size viscosity | c₁ = A (D/R) √(ρ_p q) + c_reg | μ(I) = μ_s + I, da Cruz et al. 2005 |
| sliding | -c_f N v/√(v² + v_ε²) | regularised Coulomb, Wu et al. (2019), Eq 25 |
| ploughing | 2 R z (2 c √K_p + ρ_d v²) v/√(v² + v_ε²) | Rankine's passive pressure of a cohesive soil |

Our assumptions: that these terms add; that the soil in front of a footpad has the drag of the soil below it; the
surface energy γ = 0.02 J/m² (silica; ice is up to ten times more); the coefficient 1 of R/h; f_b = f_v = 1, unless
calibrated; the viscosity c_reg and the yield width that keep the flow rule differentiable.
"""

import equinox as eqx
import jax.numpy as jnp

from difsim import safe
from difsim.contact.friction import slip_direction
from difsim.declarations import quantity, rule
from difsim.typing import Scalar, Vec3

SMOOTH = "it keeps the law smooth"


class Regolith(eqx.Module):
    """A layer of grains on a rigid floor, seen by one footpad."""

    thickness: Scalar = quantity("m", "depth h_c of the layer", gt=0, usual=(0.01, 50), slip="cm")
    grain_diameter: Scalar = quantity(
        "m", "diameter D of the grains", gt=0, usual=(1e-6, 1), slip="mm or micrometres"
    )
    grain_density: Scalar = quantity("kg/m³", "density ρ_p of one grain", gt=0, usual=(100, 1e4), slip="g/cm³")
    grain_modulus: Scalar = quantity("Pa", "modulus E_p of one grain", gt=0, usual=(1e4, 1e12), slip="MPa or GPa")
    friction: Scalar = quantity(
        "", "friction c_f, the tangent of its angle", gt=0, le=10, usual=(0.05, 2), slip="degrees"
    )
    porosity: Scalar = quantity(
        "",
        "porosity φ, the share of the volume that is empty",
        gt=0,
        lt=1,
        usual=(0.2, 0.95),
        slip="percent",
        default=0.75,
    )
    gravity: Scalar = quantity(
        "m/s²", "gravity g, which makes the weight of the overburden", ge=0, usual=(1e-7, 10), default=1.7e-4
    )
    poisson: Scalar = quantity("", "Poisson's ratio ν of a grain", gt=-1, lt=0.5, usual=(0, 0.45), default=0.25)
    surface_energy: Scalar = quantity(
        "J/m²", "surface energy γ of grains that touch", ge=0, usual=(0, 1), slip="mJ/m²", default=0.02
    )
    slip_speed: Scalar = quantity(
        "m/s", "slip speed v_ε, below which friction fades", gt=0, hint=SMOOTH, default=5e-3
    )
    yield_width: Scalar = quantity(
        "N", "width over which the ground begins to yield", gt=0, hint=SMOOTH, default=2.0
    )
    viscosity: Scalar = quantity("N s/m", "viscosity c_reg of the flow rule", gt=0, hint=SMOOTH, default=10.0)
    bearing_factor: Scalar = quantity(
        "", "factor f_b of a calibration, by which q is multiplied", gt=0, default=1.0
    )
    inertia_factor: Scalar = quantity(
        "", "factor f_v of a calibration, by which the drag ρ_d is multiplied", gt=0, default=1.0
    )

    @rule("gravity and surface_energy are both 0: grains without weight or cohesion have no strength, give one")
    def _has_strength(self):
        return (self.gravity > 0) | (self.surface_energy > 0)

    @property
    def bulk_density(self) -> Scalar:
        """ρ = (1 - φ) ρ_p, kg/m³ (Wu et al. 2019, Eq 32)."""
        return (1 - self.porosity) * self.grain_density

    @property
    def tensile_strength(self) -> Scalar:
        """σ_t, Pa: Rumpf's sum of JKR pull-off forces over a section of the packing."""
        pull_off = 0.75 * jnp.pi * self.surface_energy * self.grain_diameter
        return (1 - self.porosity) / self.porosity * pull_off / self.grain_diameter**2

    @property
    def cohesion(self) -> Scalar:
        """c = c_f σ_t, Pa."""
        return self.friction * self.tensile_strength

    @property
    def drag(self) -> Scalar:
        """ρ_d, kg/m³: soil that a body sets in motion at a speed v presses on it with ρ_d v²."""
        return self.inertia_factor * 8 / 3 * self.friction * self.bulk_density

    def stiffness(self, radius: Scalar) -> Scalar:
        """Elastic stiffness k_e under a rigid disc of `radius` m, N/m."""
        return 2 * radius * self.grain_modulus * (1 - self.porosity) / (1 - self.poisson**2)

    def bearing_pressure(self, z: Scalar, radius: Scalar) -> Scalar:
        """The quasi-static bearing pressure under a footpad, which diverges towards the floor.

        **Arguments:** `z`, the plastic penetration, m; `radius` of the footpad, m. **Returns:** the pressure, Pa.
        """
        μ = self.friction
        N_q = jnp.exp(jnp.pi * μ) * (jnp.sqrt(1 + μ**2) + μ) ** 2
        N_c = (N_q - 1) / μ
        N_γ = 2 * (N_q + 1) * μ
        weight = self.bulk_density * self.gravity
        q = 1.3 * self.cohesion * N_c + weight * (z * N_q + 0.6 * radius * N_γ)
        # The clearance stays positive below the floor too (by 2 % of h_c), so that a trial step of the
        # integrator that overshoots meets a steep wall and not a change of sign.
        clearance = safe.ramp(self.thickness - z, 0.02 * self.thickness)
        return self.bearing_factor * q * (1 + radius / clearance)

    def resistance(self, z: Scalar, radius: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """The coefficients of the resistance F_y + c₁ ż + c₂ ż² to a footpad.

        **Arguments:** `z`, the plastic penetration, m; `radius` of the footpad, m. **Returns:** F_y, N; c₁, N s/m; and
        c₂, N s²/m².
        """
        area = jnp.pi * radius**2
        pressure = self.bearing_pressure(z, radius)
        c1 = area * self.grain_diameter / radius * jnp.sqrt(self.grain_density * pressure) + self.viscosity
        return area * pressure, c1, self.drag * area

    def flow(self, force: Scalar, z: Scalar, radius: Scalar) -> Scalar:
        """The rate ż ≥ 0 of the plastic penetration under a normal force.

        **Arguments:** `force`, N; `z`, the plastic penetration, m; `radius` of the footpad, m. **Returns:** ż, m/s.
        """
        strength, c1, c2 = self.resistance(z, radius)
        # Smooth ⟨N - F_y⟩ that is exactly 0 at N = 0: a footpad in flight must not creep.
        excess = safe.ramp(force - strength, self.yield_width) - safe.ramp(-strength, self.yield_width)
        return 2 * excess / (c1 + jnp.sqrt(c1**2 + 4 * c2 * excess))

    def resist(self, rate: Scalar, z: Scalar, radius: Scalar) -> Scalar:
        """The normal force on a rigid body that is pressed in: the flow rule, solved for the force.

        Nothing pulls a body that rises. One that rests sinks slowly, as its strength fades below the slip speed.

        **Arguments:** `rate`, at which it sinks, m/s; `z`, the plastic penetration, m; `radius` of its contact, m.
        **Returns:** the force, N.
        """
        strength, c1, c2 = self.resistance(z, radius)
        down = safe.positive_part(rate)
        return strength * down**2 / (down**2 + self.slip_speed**2) + c1 * down + c2 * down**2

    def ploughing_pressure(self, slip: Vec3) -> Scalar:
        """The pressure of the soil in front of a body that slips.

        **Arguments:** `slip` [3], the slip velocity, m/s. **Returns:** the pressure, Pa.
        """
        sqrt_passive = jnp.sqrt(1 + self.friction**2) + self.friction
        return 2 * self.cohesion * sqrt_passive + self.drag * jnp.dot(slip, slip)

    def sliding_force(self, force: Scalar, z: Scalar, slip: Vec3, radius: Scalar) -> Vec3:
        """The tangential force on a footpad that slips.

        **Arguments:** `force`, the normal force, N; `z`, the plastic penetration, m; `slip` [3], the slip velocity,
        m/s; `radius` of the footpad, m. **Returns:** the force [3], N.
        """
        ploughing = 2 * radius * z * self.ploughing_pressure(slip)
        # The soil in front is felt only while the footpad is pressed into it.
        pressed = force / (force + self.yield_width)
        return -(self.friction * force + ploughing * pressed) * slip_direction(slip, self.slip_speed)
