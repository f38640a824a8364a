"""The brush tool of Schäfer et al. (2017) over a bed of regolith, in the plane: particles, materials, paths.

The origin is on the surface, in its uppermost particles, midway between the brushes; y is up. What the paper does
not say stands under "Ours".
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from difsim.sph import Continuum, CubicSpline, DruckerPrager, Tool, Viscosity
from difsim.sph.continuum import ContinuumState
from difsim.sph.density import FixedDensity
from difsim.sph.tools import Carried, Fixed, Stopping, Turning

BULK, SHEAR, DENSITY = 3.33e6, 0.37e6, 1500.0  # Pa, Pa, kg/m³
HUB, TIP, BRISTLES = 0.015, 0.035, 12  # m, m: radius of a brush's core, and to the tips of its bristles
PIVOTS = 0.095  # m between the axes
TRAY = (0.082, 0.063)  # m, width and height
OPENING = 0.026  # m, in the tray's floor
SHIELD = np.radians(80.0)  # the angle that a shield covers
CLEARANCE = 0.0084  # m between the lowest bristle and the surface at the start
DESCENT, LOWERING = 0.05, 0.2  # m/s, for s
CONTACT = 0.003  # m: the paper's tools touch the ground from so far, its smoothing length
SUPPORT = 2.5  # spacings

# Ours.
BED = (0.26, 0.04)  # m, width and depth
EDGE = 0.015  # m: at the sides and the bottom, what damps waves
LAYERS = 3  # of particles in a wall
GAP = 0.004  # m from the tips to the shields, and to the tray's floor
PLATE = 0.004  # m, thickness of tray and shields
BRISTLE = 0.003  # m, thickness
ALPHA, BETA = 0.3, 0.7


@dataclass(frozen=True)
class Case:
    """A run of Table 1: gravity m/s², turns of the motor per minute, friction in degrees, cohesion Pa."""

    gravity: float
    rpm: float
    friction: float
    cohesion: float


EARTH, PHOBOS = 9.81, 5.7e-3
CASES = {
    "E0": Case(EARTH, 100, 42, 0),
    "E1": Case(EARTH, 100, 42, 500),
    "E2": Case(EARTH, 300, 42, 0),
    "E3": Case(EARTH, 500, 42, 0),
    "P0": Case(PHOBOS, 100, 42, 0),
    "P1": Case(PHOBOS, 100, 42, 500),
    "P2": Case(PHOBOS, 100, 20, 1000),
    "P3": Case(PHOBOS, 100, 42, 1000),
    "P4": Case(PHOBOS, 100, 60, 1000),
    "P5": Case(PHOBOS, 500, 42, 0),
    "P6": Case(PHOBOS, 500, 42, 1000),
    "P7": Case(PHOBOS, -100, 42, 0),
    "P8": Case(PHOBOS, -100, 42, 100),
}


def regolith(case: Case, softening: float = 1.0) -> DruckerPrager:
    """Of the paper's K and G, its bulk modulus divided by `softening`: sound is slower, and the steps are longer.

    What yields under a bristle is bound by G, and by a Young's modulus that hardly hangs on K.
    """
    bulk = BULK / softening
    young, poisson = 9 * bulk * SHEAR / (3 * bulk + SHEAR), (1.5 * bulk - SHEAR) / (3 * bulk + SHEAR)
    return DruckerPrager(young, poisson, np.radians(case.friction), cohesion=case.cohesion, density=DENSITY)


@dataclass(frozen=True)
class Scene:
    """Particles `spacing` m apart: first the `bed` [2, soil], then the tools, of which the tray is last."""

    spacing: float
    bed: Float[np.ndarray, "2 soil"]
    tools: tuple[Tool, ...]

    @classmethod
    def build(cls, case: Case, spacing: float, shift: float = 0.0) -> "Scene":
        """The tool over a bed that lies `shift` m to the right, which of a homogeneous bed means nothing."""
        bed, box = ground(spacing, shift)
        axis = CLEARANCE + TIP
        lowered = Stopping(np.array([0.0, -DESCENT]), LOWERING)
        rate = case.rpm * 2 * np.pi / 60
        bodies = [(box, Fixed())]
        for side in (-1, 1):
            # While collecting, the bristles between the two axes go up.
            centre = np.array([side * PIVOTS / 2, axis])
            bodies.append((centre[:, None] + brush(spacing), Carried(Turning(centre, -side * rate), lowered)))
        bodies.append((frame(spacing, axis), lowered))
        ends = bed.shape[1] + np.cumsum([0, *(points.shape[1] for points, _ in bodies)])
        tools = [Tool(np.arange(*ends[i : i + 2]), *body) for i, body in enumerate(bodies)]
        return cls(spacing, bed, tuple(tools))

    @property
    def position(self) -> Float[np.ndarray, "2 n"]:
        """All particles at the start, m."""
        return np.concatenate([self.bed, *(np.asarray(tool.reference) for tool in self.tools)], axis=1)

    def model(self, case: Case, softening: float = 1.0) -> Continuum:
        """The bed and its tools under the case's gravity."""
        material, position = regolith(case, softening), self.position
        # A soft soil keeps the viscosity of the hard one, which drags grains along with the bristles.
        slower = regolith(case).sound / material.sound
        viscosity = Viscosity(ALPHA * slower, BETA, material.sound)
        return Continuum(
            material,
            CubicSpline(SUPPORT * self.spacing),
            viscosity,
            np.array([0.0, -case.gravity]),
            np.full(position.shape[1], DENSITY * self.spacing**2),
            self.tools,
            damping=absorption(position, float(material.sound)),
            balance=FixedDensity(),
        )

    def state(self, model: Continuum) -> ContinuumState:
        """At rest under its own weight."""
        position = jnp.asarray(self.position)
        return model.at_rest_under_weight(position, jnp.maximum(0.5 * self.spacing - position[1], 0.0))

    def is_in_tray(self, position: Float[np.ndarray, "2 n"], time: float) -> np.ndarray:
        """Which of the bed's particles are within the tray at `time` s."""
        floor = tray_floor(CLEARANCE + TIP) - DESCENT * min(time, LOWERING)
        x, y = np.asarray(position)[:, : self.bed.shape[1]]
        return (np.abs(x) < TRAY[0] / 2) & (y > floor) & (y < floor + TRAY[1])


def ground(spacing: float, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """The bed's particles, the uppermost at y = 0, and those of the box around it, m."""
    across, deep = round(BED[0] / spacing / 2), round(BED[1] / spacing)
    i, j = np.meshgrid(np.arange(-across - LAYERS, across + LAYERS), np.arange(-deep - LAYERS, 0), indexing="ij")
    inside = (i >= -across) & (i < across) & (j >= -deep)
    points = np.stack([i + 0.5 + shift / spacing, j + 1.0]) * spacing
    return points[:, inside], points[:, ~inside]


def absorption(position: np.ndarray, sound: float) -> np.ndarray:
    """Damping, 1/s: from 0 at EDGE from the box up to what swallows a wave within EDGE."""
    x, y = position
    outside = np.maximum(np.abs(x) - (BED[0] / 2 - EDGE), -y - (BED[1] - EDGE)) / EDGE
    return 4 * sound / EDGE * np.clip(outside, 0.0, 1.0) ** 2


def brush(spacing: float) -> np.ndarray:
    """A core and its bristles about the axis, m."""
    inset = _inset(spacing)
    rings = [_arc(HUB - inset - i * spacing, 0.0, 2 * np.pi, spacing) for i in range(LAYERS)]
    bristle = _plate((0.0, TIP), (-BRISTLE / 2, BRISTLE / 2), spacing)
    bristle = bristle[:, bristle[0] > HUB - inset + 0.5 * spacing]
    angles = 2 * np.pi / BRISTLES * np.arange(BRISTLES)
    turns = np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]])
    return np.concatenate([*rings, *np.einsum("ijb,jk->bik", turns, bristle)], axis=1)


def frame(spacing: float, axis: float) -> np.ndarray:
    """The tray, open at the middle of its floor, and the shields at the outer sides of the brushes, m."""
    floor = tray_floor(axis)
    left, right, top = -TRAY[0] / 2, TRAY[0] / 2, floor + TRAY[1]
    plates = [
        _plate((left - PLATE, -OPENING / 2), (floor - PLATE, floor), spacing),
        _plate((OPENING / 2, right + PLATE), (floor - PLATE, floor), spacing),
        _plate((left - PLATE, right + PLATE), (top, top + PLATE), spacing),
        _plate((left - PLATE, left), (floor, top), spacing),
        _plate((right, right + PLATE), (floor, top), spacing),
    ]
    shields = [
        np.array([[side * PIVOTS / 2], [axis]]) + _arc(radius, outward - SHIELD / 2, outward + SHIELD / 2, spacing)
        for side, outward in ((-1, np.pi), (1, 0.0))
        for radius in _fill_wall(TIP + GAP, TIP + GAP + PLATE, spacing)
    ]
    return np.concatenate([*plates, *shields], axis=1)


def tray_floor(axis: float) -> float:
    """The upper side of the tray's floor, m, over brushes whose axes are at `axis` m."""
    return axis + TIP + GAP + PLATE


def _inset(spacing: float) -> float:
    """How far the tool's particles stay behind its surface: a kernel touches from its support on, the paper's
    tools from 3 mm on."""
    return max(SUPPORT * spacing - CONTACT, 0.0)


def _plate(x: tuple[float, float], y: tuple[float, float], spacing: float) -> np.ndarray:
    return np.stack(np.meshgrid(_fill_wall(*x, spacing), _fill_wall(*y, spacing), indexing="ij")).reshape(2, -1)


def _fill_wall(low: float, high: float, spacing: float) -> np.ndarray:
    """Places behind the two surfaces of a wall, a spacing apart or less; one, where the wall is too thin."""
    inset = min(_inset(spacing), (high - low) / 2)
    rows = int(np.ceil((high - low - 2 * inset) / spacing - 1e-9)) + 1
    return np.linspace(low + inset, high - inset, rows)


def _arc(radius: float, begin: float, end: float, spacing: float) -> np.ndarray:
    count = max(round(radius * (end - begin) / spacing), 3)
    angle = begin + (end - begin) * (np.arange(count) + 0.5) / count
    return radius * np.stack([np.cos(angle), np.sin(angle)])
