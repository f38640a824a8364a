"""Dry or cohesive soil by SPH as the ground of a contact: a cone of Drucker and Prager without dilatancy."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim.declarations import quantity
from difsim.sph import Continuum, CubicSpline, DruckerPrager, Tool, Viscosity
from difsim.sph.corrections import GradientCorrection
from difsim.sph.density import FixedDensity
from difsim.sph.soil import PlaneStrain
from difsim.sph.tools import Sliding
from difsim.typing import Scalar
from experiments.contact.throws import Thrown, Track, begin_at_surface
from experiments.foot.scene import SUPPORT, fill_box
from experiments.foot.throws import follow_fall

BETA = 0.7  # of the artificial viscosity


class Soil(eqx.Module):
    """Soil as particles in a square box. A low speed of sound takes long steps."""

    spacing: Scalar = quantity("m", "spacing of particles", gt=0, usual=(1e-4, 1), slip="mm")
    friction: Scalar = quantity(
        "", "friction, the tangent of its angle", gt=0, le=10, usual=(0.05, 2), slip="degrees"
    )
    bulk_density: Scalar = quantity("kg/m³", "bulk density", gt=0, usual=(100, 5e3), slip="g/cm³")
    bed_width: Scalar = quantity("m", "width of the box", gt=0, usual=(1e-2, 100), slip="cm")
    bed_depth: Scalar = quantity("m", "depth of the box", gt=0, usual=(1e-2, 10), slip="cm")
    cohesion: Scalar = quantity("Pa", "cohesion", ge=0, usual=(0, 1e6), slip="kPa", default=0.0)
    sound: Scalar = quantity("m/s", "speed of sound", gt=0, usual=(0.1, 1e3), default=20.0)
    viscosity: Scalar = quantity("", "α of the artificial viscosity", ge=0, usual=(0, 2), default=0.1)
    poisson: Scalar = quantity("", "Poisson's ratio", gt=-1, lt=0.5, usual=(0, 0.49), default=0.3)

    @property
    def material(self) -> DruckerPrager:
        """The soil's law."""
        stretch = (1 + self.poisson) * (1 - 2 * self.poisson) / (1 - self.poisson)
        return DruckerPrager(
            self.bulk_density * self.sound**2 * stretch,
            self.poisson,
            jnp.arctan(self.friction),
            cohesion=self.cohesion,
            density=self.bulk_density,
            cone=PlaneStrain(),
        )

    def throw(self, body: Thrown, times: np.ndarray, place: np.ndarray, lists: dict[Any, Any]) -> Track:
        """The path of a body from the surface on, until it no longer goes down. It begins a kernel's reach above.

        **Arguments:** `body`; `times`, s, from that beginning; `place` [2] of its axis, in spacings from a corner of
        the cells of the soil; `lists`, not needed here. **Returns:** the path. **Raises:** `ValueError` for a run that
        fails, and for a body that falls through the kernel's reach faster than it touches.
        """
        spacing = float(self.spacing)
        bed, box = fill_box(3, 0.5 * float(self.bed_width), float(self.bed_depth), spacing)
        above = (SUPPORT - 1.0) * spacing
        before = body.speed**2 - 2 * body.gravity * above
        if before <= 0:
            raise ValueError(f"a fall of {above:.3g} m is faster than {body.speed:g} m/s: give a lower spacing_m")
        solid = body.radius * body.solid.place_particles(spacing / body.radius)
        low = body.radius * body.solid.low
        solid = solid + np.array([[place[0] * spacing], [place[1] * spacing], [above - low]])
        position = np.concatenate([bed, box, solid], axis=1)
        ends = bed.shape[1], bed.shape[1] + box.shape[1], position.shape[1]
        material, down = self.material, np.array([0.0, 0.0, -1.0])
        model = Continuum(
            material,
            CubicSpline(SUPPORT * spacing),
            Viscosity(self.viscosity, BETA, material.sound),
            body.gravity * down,
            np.full(position.shape[1], float(self.bulk_density) * spacing**3),
            (
                Tool(np.arange(ends[0], ends[1]), box),
                Tool(np.arange(ends[1], ends[2]), solid, Sliding(np.sqrt(before) * down)),
            ),
            # Without it the surface near the body is too stiff, and the drag 1.6 times as large.
            corrections=(GradientCorrection(),),
            balance=FixedDensity(),
        )
        state = model.at_rest_under_weight(jnp.asarray(position), jnp.maximum(-position[2], 0.0))
        rows = [
            (
                float(now.progress.motion.time),
                float(solid[2, 0] - now.place[2, 0]) - above,
                -float(now.velocity[2]),
            )
            for now in follow_fall(model, jnp.asarray(body.mass), state, times[1:])
        ]
        return begin_at_surface(np.array(rows).T)
