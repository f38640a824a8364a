"""Media for the ball of Katsuragi and Durian (2007): beds of grains, and a soil by SPH."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from difsim.beds import BedSpecification
from experiments.beds import settle
from experiments.intruder.published import PLACES, STIFF, Throw, throw_into
from experiments.intruder.scene import box_of_glass
from experiments.intruder.soil import LASTS, Soil, throw_into_soil

RADIUS, HEAVY = 0.0127, 8070.0  # m; kg/m³, of the ball with its rod
WIDTH, DEEP = 0.1, 0.12  # m, of the bed of grains

Path = Float[np.ndarray, "3 t"]  # time s, depth m and speed m/s from the surface to the stop
Throwing = Callable[[float, tuple[float, float], float], Path]  # of a friction, a place and a speed


class Medium(NamedTuple):
    """A ground for the ball: each of `sizes` m, each 1.26 times the next, of each of `frictions`, at `places`.

    `open(size)` makes the bed, and gives what throws into it; `changes` are others by what they change. `label` has a
    field for a size in mm; a smoke test takes the size `rough`. `settings` are what else decides.
    """

    stage: str
    label: str
    sizes: tuple[float, ...]
    rough: float
    frictions: tuple[float, ...]
    places: tuple[tuple[float, float], ...]
    open: Callable[[float], Throwing]
    changes: dict[str, Callable[[float], Throwing]]
    settings: Any


def recipe(size: float) -> BedSpecification:
    """The specification of a bed of grains of `size` m."""
    return box_of_glass(size, WIDTH, DEEP, STIFF)


def open_grains(size: float) -> Throwing:
    """Throws into grains of a `size` m, at a place in m from the middle."""
    bed, lists = settle(recipe(size)), {}

    def throw(friction, place, speed):
        ended = throw_into(bed, Throw(speed, HEAVY, RADIUS, friction), place, lists)
        ball = ended.states
        depth = bed.figures.height + RADIUS - np.asarray(ball.position[:, 2])
        return cut_path(np.asarray(ended.times), depth, -np.asarray(ball.velocity[:, 2]))

    return throw


def open_soil(spacing: float, **changed: float) -> Throwing:
    """Throws into particles `spacing` m apart, at a place in spacings from a corner of their cells.

    **Arguments:** `spacing`; `changed`, fields of `Soil`. **Returns:** the function that throws.
    """

    def throw(friction, place, speed):
        soil = Soil(spacing, friction, **changed)
        return cut_path(*throw_into_soil(soil, speed, RADIUS, HEAVY, place))

    return throw


def cut_path(time: np.ndarray, depth: np.ndarray, speed: np.ndarray) -> Path:
    """The part of a motion from the surface to the stop; to its end where it does not stop, with a speed that is left.

    **Arguments:** `time` s, `depth` m and `speed` m/s downwards, of the same length. **Returns:** the part.
    """
    path = np.stack([time, depth, speed])
    if np.any(speed <= 0):
        end = int(np.argmax(speed <= 0))
        before, after = path[:, end - 1], path[:, end]
        stop = before + before[2] / (before[2] - after[2]) * (after - before)
        stop[2] = 0.0  # but for rounding
        path = np.append(path[:, :end], stop[:, None], axis=1)
    begun = np.array([np.interp(0.0, path[1], row) for row in path])
    inside = np.append(begun[:, None], path[:, path[1] > 0], axis=1)
    return inside - np.array([[begun[0]], [0.0], [0.0]])


GRAINS = Medium(
    "katsuragi",
    "grains of {:g} mm",
    sizes=(0.008, 0.0063, 0.005),
    rough=0.012,
    frictions=(0.1, 0.17, 0.28, 0.45),
    places=PLACES,
    open=open_grains,
    changes={},
    settings=(STIFF, WIDTH, DEEP, RADIUS, HEAVY),
)
SOIL = Medium(
    "soil",
    "particles {:.2g} mm apart",
    sizes=(RADIUS / 2.0, RADIUS / 2.52, RADIUS / 3.17),
    rough=RADIUS / 1.5,
    frictions=(0.4, 0.5, 0.65),
    places=((0.0, 0.0), (0.5, 0.25)),
    open=open_soil,
    changes={
        "sound-40": partial(open_soil, sound=40.0),
        "viscosity-third": partial(open_soil, alpha=0.03),
    },
    settings=(*Soil(0.0, 0.0), LASTS, RADIUS, HEAVY),
)
