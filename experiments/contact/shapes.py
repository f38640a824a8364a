"""The shape of a body that touches: the area that it presses on as it sinks, and the solid that is simulated.

Lengths are over the body's radius, that of the circle with the area of its largest section. The body lands on its lower
side, against its z, and does not tilt.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.interpolate import PchipInterpolator

from difsim.mesh import TriMesh, cylinder, load
from difsim.typing import Scalar
from experiments.agilkia.files import read_lander
from experiments.contact.cubics import Cubics, evaluate
from experiments.contact.solids import THICK, Ball, Solid
from experiments.records import file_hash

FLAT = 1e-3  # that a ball is flat where it touches: no law has a limit for a contact without area
NODES = 129  # of the section of a mesh or a lander, from its lowest point to its largest section
LEDGE = 0.1  # of its depth, over which a ledge touches: a motion's steps there are of 0.06 of it


class Section(eqx.Module):
    """The area of a section over π R², R being the radius, by the depth of the lowest point over R.

    `step` of the depth, and the value and first three `derivatives` [4, n] of a cubic in each step. Beyond the last of
    them the area is constant.
    """

    step: Scalar
    derivatives: Float[Array, "4 n"]

    @property
    def is_constant(self) -> Bool[Array, ""]:
        """Whether the area is the same at all depths."""
        return jnp.all(self.derivatives[1:] == 0)

    def __call__(self, depth: Scalar) -> Scalar:
        """The area over π R² at a `depth` over R."""
        steps = self.derivatives.shape[1]
        i = jnp.clip((depth / self.step).astype(int), 0, steps - 1)
        return evaluate(jnp.asarray(self.derivatives)[:, i], jnp.minimum(depth, steps * self.step) - i * self.step)


class Shape(NamedTuple):
    """A shape: its `section`; the `solid` that is simulated, None for legs; of a file, its own `radius` m, the `mass`
    kg of a lander, and its `content`, hashed."""

    section: Section
    solid: Ball | Solid | None
    radius: float | None = None
    mass: float | None = None
    content: str = ""


# On the host, as nothing is known of the precision when this is imported.
PLATE = Section(1.0, np.array([[1.0], [0.0], [0.0], [0.0]]))
SPHERE = Section(1.0, np.array([[FLAT**2], [2 * (1 - FLAT**2)], [-2 * (1 - FLAT**2)], [0.0]]))
SHAPES = {"plate": Shape(PLATE, Solid(partial(cylinder, 1.0, THICK))), "sphere": Shape(SPHERE, Ball())}


def read_shape(path: Path) -> Shape:
    """The shape of a mesh, in m, or of a lander that lands on all its legs at once, with its hull after them.

    **Arguments:** `path` of the mesh, or of a lander such as data/philae.toml. **Returns:** the shape. **Raises:**
    `ValueError` for a file that is neither; `FileNotFoundError`.
    """
    if path.suffix.lower() == ".toml":
        lander = read_lander(path)["lander"]
        section, radius = _scale(*_measure_legs(lander))
        return Shape(section, None, radius, float(lander["mass_kg"]), file_hash(path))
    mesh = load(path, "m")
    low = mesh.vertices[:, 2].min()
    depth = np.linspace(0.0, np.ptp(mesh.vertices[:, 2]), 4 * NODES)
    area = measure_sections(mesh, low + depth)
    section, radius = _scale(depth, area)
    solid = Solid(partial(TriMesh, (mesh.vertices - mesh.centroid) / radius, mesh.faces))
    return Shape(section, solid, radius, content=file_hash(path))


def _measure_legs(lander: Mapping[str, Any]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Depths m, and the areas m² there of the soles, by the height of each foot, and of the hull's lower side."""
    feet = np.asarray(lander.get("feet_m", np.zeros((0, 3))))[:, 2]
    parts = [(z, np.pi * lander["footpad_radius_m"] ** 2) for z in feet]
    if "hull_m" in lander:
        x, y, height = lander["hull_m"]
        parts.append((-0.5 * height, x * y))
    low = min(z for z, _ in parts)
    depth = np.linspace(0.0, max(max(z for z, _ in parts) - low, 1e-3), NODES)
    return depth, sum(np.where(depth >= z - low, part, 0.0) for z, part in parts)


def _scale(depth: Float[np.ndarray, " n"], area: Float[np.ndarray, " n"]) -> tuple[Section, float]:
    """The section through areas m² at depths m, and the radius m of the largest.

    It never falls: a pit keeps the width that was pressed into it. A ledge comes within LEDGE of its depth.
    """
    widest = int(np.argmax(area))
    radius = float(np.sqrt(area[widest] / np.pi))
    at = np.linspace(0.0, max(depth[widest], depth[1]) / (1 - LEDGE), NODES)
    spread = np.linspace(1 - LEDGE, 1 + LEDGE, NODES)
    kept = np.maximum.accumulate(area) / area[widest]
    grown = np.maximum(np.interp(at[:, None] * spread, depth, kept).mean(axis=1), FLAT**2)
    slope = PchipInterpolator(at / radius, grown).derivative()(at / radius)
    return Section(at[1] / radius, Cubics.through(at / radius, grown, slope).derivatives), radius


def measure_sections(mesh: TriMesh, heights: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The areas of horizontal sections of a mesh, m².

    The surface above a section and the section enclose a volume, whose vertical projections cancel: the area is the sum
    of the projections of what is above of each face.

    **Arguments:** `mesh`; `heights`, m. **Returns:** the areas.
    """
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    projected = 0.5 * np.cross(b - a, c - a)[:, 2]
    low, middle, high = np.sort(np.stack([a, b, c])[..., 2], axis=0)
    areas = np.empty(len(heights))
    for i, z in enumerate(heights):
        with np.errstate(divide="ignore", invalid="ignore"):  # a flat face has one branch, without a quotient
            above = np.where(
                z < middle,
                1 - (z - low) ** 2 / ((high - low) * (middle - low)),
                (high - z) ** 2 / ((high - low) * (high - middle)),
            )
        areas[i] = projected @ np.where(z < low, 1.0, np.where(z >= high, 0.0, above))
    return areas
