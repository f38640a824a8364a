"""A rigid sole that is pushed into a bed of regolith at constant speed, in the plane or in space.

The origin is on the surface, below the sole's middle; the last axis is up. The soil is that of the reduced law
(`difsim.contact.Regolith`): its bulk density, friction and cohesion. In the plane the sole is a strip of the width
of the disc.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from difsim import Courant
from difsim.contact import Regolith
from difsim.sph import Continuum, CubicSpline, DruckerPrager, Tool, Viscosity
from difsim.sph.continuum import ContinuumState
from difsim.sph.density import FixedDensity
from difsim.sph.soil import PlaneStrain
from difsim.sph.tools import Sliding
from difsim.stepping.marching import initialise
from difsim.stepping.running import resume
from difsim.stepping.solution import failure
from inversion.progress import show_progress

RADIUS = 0.1  # m
GRAVITY = 1.6e-4  # m/s², on 67P
LAW = Regolith(0.27, 1.4e-4, 1443.0, 1e8, 0.6, gravity=GRAVITY)  # the optimum of Wu et al. (2019)
SUPPORT = 2.5  # spacings
LAYERS = 3
SIDE = {2: 5.0, 3: 2.5}  # half the width of the bed, in radii
COURANT = 0.65
EDGE = 0.5  # radii, from the box: what swallows waves


def soil(softening: float = 1.0) -> DruckerPrager:
    """The reduced law's soil as a continuum; its modulus divided by `softening`, steps longer by its root."""
    return DruckerPrager(
        LAW.grain_modulus * (1 - LAW.porosity) / softening,
        LAW.poisson,
        jnp.arctan(LAW.friction),
        cohesion=LAW.cohesion,
        density=LAW.bulk_density,
        # The cone through the edges of triaxial compression is too strong here: it bears ten times as much.
        cone=PlaneStrain(),
    )


def law(z: Any, speed: Any, ground: Regolith = LAW) -> Any:
    """The reduced law's force on a disc at plastic penetration `z` m and `speed` m/s, N: flow() solved for it."""

    def one(z, speed):
        strength, c1, c2 = ground.resistance(z, jnp.asarray(RADIUS))
        return strength + c1 * speed + c2 * speed**2

    return jnp.vectorize(one)(jnp.asarray(z), jnp.asarray(speed))


def fill_box(
    dimension: int, half: float, deep: float, spacing: float
) -> tuple[Float[np.ndarray, "d n"], Float[np.ndarray, "d m"]]:
    """Places m of the particles of a bed, whose surface is at 0, and of its box.

    **Arguments:** `dimension`; `half` its width, m; `deep`, m; `spacing`, m. **Returns:** those of the bed, and those
    of LAYERS around and below it.
    """
    wide, low = round(half / spacing), round(deep / spacing)
    across = [np.arange(-wide - LAYERS, wide + LAYERS)] * (dimension - 1)
    lattice = np.stack(np.meshgrid(*across, np.arange(-low - LAYERS, 0), indexing="ij")).reshape(dimension, -1)
    is_inside = ((lattice[:-1] >= -wide) & (lattice[:-1] < wide)).all(axis=0) & (lattice[-1] >= -low)
    points = (lattice + 0.5) * spacing
    return points[:, is_inside], points[:, ~is_inside]


@dataclass(frozen=True)
class Foot:
    """Particles `spacing` m apart: first the bed's, then the box's, then those of the sole, which is lowered."""

    spacing: float
    soil: int
    box: int
    position: Float[np.ndarray, "d n"]

    @classmethod
    def build(cls, dimension: int, spacing: float) -> "Foot":
        """**Raises:** ValueError for fewer than six particles under a sole."""
        if not 0 < spacing <= RADIUS / 3:
            raise ValueError(f"--spacing {spacing} m must be above 0 and at most a third of the radius {RADIUS} m")
        bed, box = fill_box(dimension, SIDE[dimension] * RADIUS, float(LAW.thickness), spacing)
        # The sole starts a kernel's reach above the uppermost grains.
        count = int(RADIUS / spacing)
        below = [np.arange(-count, count)] * (dimension - 1)
        footpad = np.stack(np.meshgrid(*below, np.arange(LAYERS), indexing="ij")).reshape(dimension, -1) + 0.5
        footpad = footpad[:, np.hypot.reduce(footpad[:-1], axis=0) * spacing < RADIUS] * spacing
        footpad[-1] += (SUPPORT - 1.0) * spacing
        return cls(spacing, bed.shape[1], box.shape[1], np.concatenate([bed, box, footpad], axis=1))

    @property
    def area(self) -> float:
        """Of the sole as its particles make it, m² (m in the plane)."""
        return self.position[0, self.soil + self.box :].size / LAYERS * self.spacing ** (len(self.position) - 1)

    def penetration(self, speed: float, time: np.ndarray) -> np.ndarray:
        """How far the sole's lower side is below the surface at `time` s, m."""
        return speed * np.asarray(time) - (SUPPORT - 1.0) * self.spacing

    def model(self, speed: float, softening: float = 1.0, alpha: float = 0.3) -> Continuum:
        """The sole going down at `speed` m/s, with `alpha` of the artificial viscosity."""
        dimension, count = self.position.shape
        material = soil(softening)
        down = np.zeros(dimension)
        down[-1] = -1.0
        ends = self.soil, self.soil + self.box, count
        box, footpad = (np.arange(*ends[i : i + 2]) for i in (0, 1))
        x = np.abs(self.position)
        off = np.maximum(x[:-1].max(axis=0) / RADIUS - SIDE[dimension] + EDGE, 0.0) / EDGE
        off = np.maximum(off, (x[-1] - float(LAW.thickness)) / RADIUS / EDGE + 1.0)
        return Continuum(
            material,
            CubicSpline(SUPPORT * self.spacing),
            Viscosity(alpha, 0.7, material.sound),
            GRAVITY * down,
            np.full(count, float(LAW.bulk_density) * self.spacing**dimension),
            (
                Tool(box, self.position[:, box]),
                Tool(footpad, self.position[:, footpad], Sliding(speed * down)),
            ),
            damping=float(material.sound) / (EDGE * RADIUS) * np.clip(off, 0.0, 1.0) ** 2,
            balance=FixedDensity(),
        )

    def state(self, model: Continuum) -> ContinuumState:
        """At rest under its own weight, which on 67P is next to nothing."""
        position = jnp.asarray(self.position)
        return model.at_rest_under_weight(position, jnp.maximum(-position[-1], 0.0))


def measure_forces(
    model: Continuum, state: ContinuumState, times: Float[np.ndarray, " t"], said: str
) -> Float[np.ndarray, "t d"]:
    """The bed's force on the last tool of a model at some times, N (N/m in the plane).

    **Arguments:** `model`; `state` at 0 s; `times`, s; what the bar says. **Raises:** ValueError for a run that fails.
    """
    tool = model.tools[-1]
    load = eqx.filter_jit(lambda p: model.load(p.motion, p.neighbours.update(p.motion.state.position), tool).force)
    progress, forces = initialise(model, state), []
    for t in show_progress(times, f"{said}, {state.position.shape[1]} particles"):
        now = float(progress.motion.time)
        run = resume(model, progress, [now, t], solver=Courant(COURANT), save=lambda _: (), throw=False)
        if not run.ok:
            raise ValueError(failure(run))
        progress = run.progress
        forces.append(np.asarray(load(progress)))
    return np.stack(forces)
