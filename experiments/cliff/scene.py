"""The experiment of Bui et al. (2008) as particles: a block of soil, a wall at its back, a floor.

The wall stands at x = 0, the floor at y = 0, m; the gate is gone at 0 s.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.sph import Continuum, CubicSpline, DruckerPrager, Tool, Viscosity
from difsim.sph.continuum import ContinuumState
from difsim.sph.corrections import AbstractCorrection
from difsim.typing import Scalar
from experiments.cliff.surface import heights

COLUMNS, ROWS = 77, 38  # the paper's particles
SPACING = 2.582e-3  # m
WIDTH, HEIGHT = COLUMNS * SPACING, ROWS * SPACING
HIGHEST = 1.2 * HEIGHT  # m: no heap reaches above
END = 1.0  # s
GRAVITY = 9.81  # m/s²
YOUNG, POISSON = 0.84e6, 0.3  # Pa, and 1: a bulk modulus of 700 kPa
FRICTION = float(np.radians(19.8))
DENSITY = 2650.0  # kg/m³
SUPPORT = 2.5  # spacings
PAPER_SOUND = 600.0  # m/s, which the paper puts into the viscosity
LAYERS = 3  # of wall particles: what a kernel of 2.5 spacings sees
FLOOR = 0.6  # m, past which only scattered particles get
WALL = 1.25  # times the block's height


def soil(friction=FRICTION, cohesion=0.0, young=YOUNG) -> DruckerPrager:
    """The paper's soil: rods of aluminium. Friction in rad, cohesion and Young's modulus in Pa."""
    return DruckerPrager(young, POISSON, friction, cohesion=cohesion, density=DENSITY)


@dataclass(frozen=True)
class Cliff:
    """Particles of the soil first, then those of wall and floor, on a lattice of `pitch` [2] m.

    Any number of rows gives the same block: of an odd number of columns the lattice is half a percent off square.
    """

    pitch: Float[np.ndarray, " 2"]
    position: Float[np.ndarray, "2 n"]
    grains: int

    @classmethod
    def build(cls, rows: int = ROWS) -> "Cliff":
        """**Raises:** ValueError for fewer rows than a kernel's support is wide."""
        if rows < LAYERS:
            raise ValueError(f"--rows {rows} must be at least {LAYERS}: less is no heap")
        columns = round(COLUMNS * rows / ROWS)
        pitch = np.array([WIDTH / columns, HEIGHT / rows])
        floor, wall = int(FLOOR / pitch[0]), int(WALL * rows)
        block = _lattice(range(columns), range(rows), pitch)
        still = [_lattice(range(-LAYERS, floor), range(-LAYERS, 0), pitch)]
        still += [_lattice(range(-LAYERS, 0), range(wall), pitch)]
        return cls(pitch, np.concatenate([block, *still], axis=1), block.shape[1])

    def model(
        self,
        material: DruckerPrager,
        sound: Scalar | None = None,
        corrections: tuple[AbstractCorrection, ...] = (),
    ) -> Continuum:
        """The soil between its walls; `sound` m/s of the viscosity, the material's own unless given."""
        count = self.position.shape[1]
        still = np.arange(self.grains, count)
        return Continuum(
            material,
            self.kernel,
            Viscosity(0.3, 0.7, material.sound if sound is None else sound),
            np.array([0.0, -GRAVITY]),
            np.full(count, DENSITY * self.pitch.prod()),
            (Tool(still, self.position[:, still]),),
            corrections=corrections,
        )

    def state(self, model: Continuum) -> ContinuumState:
        """All at rest, without stress."""
        return model.at_rest(jnp.asarray(self.position))

    def soil(self, states: ContinuumState) -> ContinuumState:
        """The part of states that is of the soil, without walls and floor."""
        return jax.tree.map(lambda leaf: leaf[..., : self.grains], states)

    def heights(self, position: Float[Array, "2 n"], x: Float[np.ndarray, " k"]) -> Float[Array, " k"]:
        """The surface of the soil at `x` m, with its particles at `position` m."""
        return heights(self.kernel, float(self.pitch.prod()), jnp.asarray(position), jnp.asarray(x), HIGHEST)

    @property
    def kernel(self) -> CubicSpline:
        return CubicSpline(SUPPORT * np.sqrt(self.pitch.prod()))


def _lattice(columns: range, rows: range, pitch: np.ndarray) -> Float[np.ndarray, "2 m"]:
    x, y = np.meshgrid(np.array(columns), np.array(rows), indexing="ij")
    return (np.stack([x.ravel(), y.ravel()]) + 0.5) * pitch[:, None]
