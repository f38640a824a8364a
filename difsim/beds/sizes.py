"""Size distributions of grains, and coarse graining by fewer, larger grains. On the host."""

from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from difsim.checks import numbers
from difsim.declarations import quantity, rule
from difsim.typing import Scalar, require

PACKS = 0.6  # solid fraction of poured spheres: 0.55 (rough) to 0.64 (smooth)


class GaussianSizes(eqx.Module):
    """A truncated normal distribution of diameters, cut off at `cut` standard deviations on either side.

    **Source:** Wu et al. (2019), Eqs 36-39.
    """

    mean: Scalar = quantity("m", "mean diameter μ_p", gt=0, usual=(1e-4, 0.1), slip="mm or micrometres")
    deviation: Scalar = quantity("m", "standard deviation δ_p", ge=0, usual=(0, 0.02), slip="mm or micrometres")
    cut: Scalar = quantity("", "standard deviations up to the cut", gt=0, usual=(1, 5), default=2.0)

    @rule(
        "mean - cut deviation, the smallest diameter, must be positive: lower cut = {cut}, or deviation = {deviation} m"
    )
    def _has_positive_diameters(self):
        return self.mean - self.cut * self.deviation > 0

    @property
    def mean_volume(self) -> Scalar:
        """The mean volume π/6 E[d³] of a grain, m³, with the variance of the truncated normal distribution."""
        c = float(self.cut)
        variance = 1 - 2 * c * np.exp(-0.5 * c**2) / np.sqrt(2 * np.pi) / (2 * ndtr(c) - 1)
        return np.pi / 6 * (self.mean**3 + 3 * self.mean * self.deviation**2 * variance)

    def count(self, volume: float, solid_fraction: float) -> float:
        """The number of grains that fill a volume.

        **Arguments:** `volume`, m³; `solid_fraction`, the share of it that grains take. **Returns:** the number.
        """
        return volume * solid_fraction / float(self.mean_volume)

    def radii(self, count: int, seed: int) -> Float[np.ndarray, " n"]:
        """Random radii of grains, the same ones for the same seed.

        **Arguments:** `count` n of grains; `seed`. **Returns:** radii [n], m.
        """
        tail = ndtr(-float(self.cut))
        z = ndtri(np.random.default_rng(seed).uniform(tail, 1 - tail, count))
        return 0.5 * (float(self.mean) + float(self.deviation) * z)


class CoarseGrains(NamedTuple):
    """The sizes of coarse grains, their density, and the number of real grains that each stands for.

    `sizes`; `density` of one coarse grain, kg/m³; `stands_for`, real grains per coarse grain.
    """

    sizes: GaussianSizes
    density: float
    stands_for: float


def coarse_grained(
    sizes: GaussianSizes, density: float, solid_fraction: float, factor: float, packs: float = PACKS
) -> CoarseGrains:
    """Grains `factor` times as large that make a bed of the same bulk density; modulus and friction stay.

    The density of a coarse grain is ρ' = ρ φ/φ', since spheres pack to φ' and no looser. Each stands for
    factor³ φ/φ' real grains.

    With Hertz's law the stiffness of a bed depends on E and φ and not on the diameter, so `HertzMindlin` stays as
    it is. Lengths in a law (of rolling, of cohesion) must be scaled with the diameter. The tensile strength by
    Rumpf's sum is σ_t = φ/(1 - φ) F/D². To keep it, multiply the pull-off force F of cohesion by
    factor² (1 - φ')/φ' φ/(1 - φ); otherwise the soil is weaker by this factor.

    **Arguments:** `sizes` of the real grains; `density` ρ of one of them, kg/m³; `solid_fraction` φ of the real bed
    (1 - porosity); `factor` ≥ 1; `packs` φ', the solid fraction of the coarse bed: a guess, or measured.
    **Returns:** the coarse grains. **Raises:** ValueError for solid fractions outside (0, 1), a density that is not
    positive, or a factor below 1.
    """
    given = {"density": density, "solid_fraction": solid_fraction, "factor": factor, "packs": packs}
    for name, value in given.items():
        numbers(f"coarse_grained: {name}", value, "")
    require(density > 0, f"coarse_grained: density = {density} kg/m³ must be positive")
    for name, share in (("solid_fraction", solid_fraction), ("packs", packs)):
        require(0 < share < 1, f"coarse_grained: {name} = {share} must be in (0, 1)")
    require(factor >= 1, f"coarse_grained: factor = {factor} must be 1 or more")
    thinner = solid_fraction / packs
    larger = GaussianSizes(factor * sizes.mean, factor * sizes.deviation, sizes.cut)
    return CoarseGrains(larger, density * thinner, factor**3 * thinner)
