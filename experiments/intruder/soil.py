"""A ball that falls into dry soil by SPH, a cone of Drucker and Prager without cohesion or dilatancy."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from difsim.sph import Continuum, CubicSpline, DruckerPrager, Tool, Viscosity
from difsim.sph.corrections import GradientCorrection
from difsim.sph.density import FixedDensity
from difsim.sph.soil import PlaneStrain
from difsim.sph.tools import Sliding
from experiments.foot.scene import LAYERS, SUPPORT, fill_box
from experiments.foot.throws import follow_fall
from experiments.intruder.published import FRAME, GRAVITY

BULK = 1520.0  # kg/m³, of the beads (Katsuragi and Durian 2007)
POISSON, BETA = 0.3, 0.7
WIDTH, DEEP = 0.08, 0.1  # m, of the box
LASTS = 0.15  # s: what has not stopped then creeps


class Soil(NamedTuple):
    """Particles `spacing` m apart of a `friction`.

    `sound` m/s stands for its stiffness: a soft one takes long steps; `alpha` is that of the artificial viscosity.
    """

    spacing: float
    friction: float
    sound: float = 20.0
    alpha: float = 0.1

    @property
    def material(self) -> DruckerPrager:
        young = BULK * self.sound**2 * (1 + POISSON) * (1 - 2 * POISSON) / (1 - POISSON)
        return DruckerPrager(young, POISSON, jnp.arctan(self.friction), density=BULK, cone=PlaneStrain())


def fill_ball(radius: float, spacing: float) -> Float[np.ndarray, "3 n"]:
    """Places m of the particles of a ball's outer LAYERS, about its centre.

    They are on spheres, one for each `spacing`² of area: of a lattice a small ball would be a fifth too small.

    **Arguments:** `radius`, m; `spacing`, m. **Returns:** the places.
    """
    shells = []
    for out in radius - spacing * (0.5 + np.arange(LAYERS)):
        count = max(1, round(4 * np.pi * max(out, 0.0) ** 2 / spacing**2))
        along = 1 - (2 * np.arange(count) + 1) / count  # a spiral of Fibonacci, from pole to pole
        turn, ring = np.pi * (1 + np.sqrt(5)) * np.arange(count), np.sqrt(1 - along**2)
        shells.append(out * np.stack([ring * np.cos(turn), ring * np.sin(turn), along]))
        if out <= spacing:
            break
    return np.concatenate(shells, axis=1)


def throw_into_soil(
    soil: Soil, speed: float, radius: float, density: float, place: tuple[float, float] = (0.0, 0.0)
) -> Float[np.ndarray, "3 t"]:
    """The motion of a ball until it stops: time s, depth m of its lowest point and speed m/s downwards.

    It begins a kernel's reach above the surface, which it would meet in free fall at `speed`.

    **Arguments:** `soil`; `speed`, m/s; `radius`, m; `density`, kg/m³; `place` of its axis, in spacings from a corner
    of the cells of the soil. **Returns:** the motion. **Raises:** ValueError for a run that fails.
    """
    bed, box = fill_box(3, 0.5 * WIDTH, DEEP, soil.spacing)
    above = (SUPPORT - 1.0) * soil.spacing
    ball = fill_ball(radius, soil.spacing)
    ball += np.array([[place[0] * soil.spacing], [place[1] * soil.spacing], [above + radius]])
    position = np.concatenate([bed, box, ball], axis=1)
    ends = bed.shape[1], bed.shape[1] + box.shape[1], position.shape[1]
    material, down = soil.material, np.array([0.0, 0.0, -1.0])
    model = Continuum(
        material,
        CubicSpline(SUPPORT * soil.spacing),
        Viscosity(soil.alpha, BETA, material.sound),
        GRAVITY * down,
        np.full(position.shape[1], BULK * soil.spacing**3),
        (
            Tool(np.arange(ends[0], ends[1]), box),
            Tool(np.arange(ends[1], ends[2]), ball, Sliding(np.sqrt(speed**2 - 2 * GRAVITY * above) * down)),
        ),
        # Without it the surface near the ball is too stiff, and the drag 1.6 times as large.
        corrections=(GradientCorrection(),),
        balance=FixedDensity(),
    )
    state = model.at_rest_under_weight(jnp.asarray(position), jnp.maximum(-position[2], 0.0))
    mass = jnp.asarray(4 / 3 * np.pi * radius**3 * density)
    rows = [
        (float(now.progress.motion.time), float(ball[2, 0] - now.place[2, 0]) - above, -float(now.velocity[2]))
        for now in follow_fall(model, mass, state, np.arange(FRAME, LASTS, FRAME))
    ]
    return np.array(rows).T
