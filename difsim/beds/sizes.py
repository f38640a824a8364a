"""How large grains are, and fewer, larger ones in their place. On the host."""

from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from difsim.typing import Scalar, require, scalar

PACKS = 0.6  # share of the volume that spheres take which have been poured: 0.55 (rough) to 0.64 (smooth)


class GaussianSizes(eqx.Module):
    """Diameters by a normal distribution, cut off at `cut` standard deviations on either side.

    **Arguments:** `mean` μ_p > 0, m; `deviation` δ_p ≥ 0, m; `cut` > 0. **Raises:** ValueError otherwise, or where
    the smallest would not be positive. **Source:** paper 000, Eqs 36-39.
    """

    mean: Scalar = scalar()
    deviation: Scalar = scalar()
    cut: Scalar = scalar(default=2.0)

    def __check_init__(self):
        require(self.deviation >= 0, f"GaussianSizes: deviation = {self.deviation} m is negative")
        require(self.cut > 0, f"GaussianSizes: cut = {self.cut} must be positive")
        least = self.mean - self.cut * self.deviation
        require(least > 0, f"GaussianSizes: the smallest diameter, {least} m, must be positive: lower `cut`")

    @property
    def mean_volume(self) -> Scalar:
        """π/6 E[d³] of one grain, m³, with the variance of the normal distribution that is cut off."""
        c = float(self.cut)
        variance = 1 - 2 * c * np.exp(-0.5 * c**2) / np.sqrt(2 * np.pi) / (2 * ndtr(c) - 1)
        return np.pi / 6 * (self.mean**3 + 3 * self.mean * self.deviation**2 * variance)

    def count(self, volume: float, solid_fraction: float) -> float:
        """How many grains fill that share of a `volume` m³."""
        return volume * solid_fraction / float(self.mean_volume)

    def radii(self, count: int, seed: int) -> Float[np.ndarray, " n"]:
        """Radii of that many grains, m, the same ones for the same seed."""
        tail = ndtr(-float(self.cut))
        z = ndtri(np.random.default_rng(seed).uniform(tail, 1 - tail, count))
        return 0.5 * (float(self.mean) + float(self.deviation) * z)


class CoarseGrains(NamedTuple):
    """Sizes of the grains that are simulated, the density of one of them, kg/m³, and for how many grains of the
    real ones each stands."""

    sizes: GaussianSizes
    density: float
    stands_for: float


def coarse_grained(
    sizes: GaussianSizes, density: float, solid_fraction: float, factor: float, packs: float = PACKS
) -> CoarseGrains:
    """Grains `factor` times as large that make a bed of the same bulk density; modulus and friction stay.

    ρ' = ρ φ/φ', as spheres pack to φ' and no looser; each stands for factor³ φ/φ' grains.

    Hertz's law makes a bed's stiffness a matter of E and φ, not of the diameter, so `HertzMindlin` stays as it is;
    lengths in a law (of rolling, of cohesion) are to be scaled with the diameter. So that the soil keeps its
    tensile strength, by Rumpf's sum σ_t = φ/(1 - φ) F/D², the pull-off F of cohesion is to be multiplied by
    factor² (1 - φ')/φ' φ/(1 - φ); left alone, it makes the soil that much weaker.

    **Arguments:** `sizes`, `density` ρ kg/m³ of one grain and `solid_fraction` φ (1 - porosity) of what is meant;
    `factor` ≥ 1; `packs`: φ', a guess, or measured in a bed. **Raises:** ValueError for shares outside (0, 1), a
    density that is not positive, or smaller grains.
    """
    require(density > 0, f"coarse_grained: density = {density} kg/m³ must be positive")
    for name, share in (("solid_fraction", solid_fraction), ("packs", packs)):
        require(0 < share < 1, f"coarse_grained: {name} = {share} must be in (0, 1)")
    require(factor >= 1, f"coarse_grained: factor = {factor} must be 1 or more")
    thinner = solid_fraction / packs
    larger = GaussianSizes(factor * sizes.mean, factor * sizes.deviation, sizes.cut)
    return CoarseGrains(larger, density * thinner, factor**3 * thinner)
