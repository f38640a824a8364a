"""A round column of grains on a floor, in a drum that is taken away."""

from dataclasses import dataclass

import equinox as eqx
import numpy as np

from difsim.beds import BedSpecification, CylindricalContainer, GaussianSizes
from difsim.beds.specification import Bed
from difsim.contact import RollingTorque
from difsim.dem import Grains, HertzMindlin
from difsim.dem.state import GrainsState
from experiments.beds import settle

DIAMETER, OF = 0.01, 10_000  # m, of grains where a column has so many of them
DENSITY, GRAVITY = 2500.0, 9.81  # kg/m³ of a grain, m/s²
MODULUS, POISSON, RESTITUTION = 5e6, 0.25, 0.5
FRICTION, ROLLING = 0.5, 0.1  # rolling: C/R
CREEP = 5.0  # rad/s, of `RollingTorque`: at the foot of a tall column a slower one would need shorter steps
PACKED = 0.6  # solid fraction, nearly


@dataclass(frozen=True)
class Column:
    """A column of about `count` grains, `aspect` times as high as its radius; of the same volume for any count."""

    aspect: float
    count: int

    @property
    def diameter(self) -> float:
        """Mean of the grains, m."""
        return DIAMETER * (OF / self.count) ** (1 / 3)

    @property
    def radius(self) -> float:
        """r₀ m."""
        volume = self.count * float(self._sizes.mean_volume) / PACKED
        return (volume / (np.pi * self.aspect)) ** (1 / 3)

    @property
    def _sizes(self) -> GaussianSizes:
        return GaussianSizes(self.diameter, 0.1 * self.diameter)  # equal ones would crystallise

    def bed(self) -> Bed:
        """The column at rest in its drum, from the cache folder where it is there."""
        drum, depth = CylindricalContainer(2 * self.radius), self.aspect * self.radius
        return settle(BedSpecification(law(), self._sizes, DENSITY, drum, depth, GRAVITY, pour=GRAVITY))


def law(friction: float = FRICTION, rolling: float = 0.0) -> HertzMindlin:
    """Grains of some friction; `rolling` C m, the lever of their resistance to rolling."""
    resistance = (RollingTorque(rolling, CREEP),) if rolling else ()
    return HertzMindlin(MODULUS, POISSON, RESTITUTION, friction, resistance)


def release(bed: Bed, friction: float = FRICTION, rolling: float = ROLLING) -> tuple[Grains, GrainsState]:
    """The grains without the drum, of another friction and rolling resistance C/R, and their state."""
    lever = rolling * float(np.mean(bed.grains.radius))
    grains = Grains(law(friction, lever), bed.grains.radius, DENSITY, bed.grains.gravity, bed.grains.walls[:1])
    return grains, eqx.tree_at(lambda s: s.walls, bed.state, bed.state.walls[:1])
