"""Media for the ball of Katsuragi and Durian (2007): beds of grains, and a soil by SPH."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from difsim.beds import BedSpecification
from experiments.beds import settle
from experiments.contact.soil import Soil
from experiments.contact.solids import Ball
from experiments.contact.throws import Thrown, Track, begin_at_surface, end_at_stop
from experiments.intruder.published import FRAME, GRAVITY, PLACES, STIFF, Throw, throw_into
from experiments.intruder.scene import box_of_glass

RADIUS, HEAVY = 0.0127, 8070.0  # m; kg/m³, of the ball with its rod
WIDTH, DEEP = 0.1, 0.12  # m, of the bed of grains
BULK = 1520.0  # kg/m³, of the beads (Katsuragi and Durian 2007)
BOX = 0.08, 0.1  # m, width and depth of the soil
LASTS = 0.15  # s: a ball in soil that has not stopped then creeps

Throwing = Callable[[float, tuple[float, float], float], Track]  # of a friction, a place and a speed


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
        path = np.stack([np.asarray(ended.times), depth, -np.asarray(ball.velocity[:, 2])])
        return begin_at_surface(end_at_stop(path))

    return throw


def open_soil(spacing: float, **changed: float) -> Throwing:
    """Throws into particles `spacing` m apart, at a place in spacings from a corner of their cells.

    **Arguments:** `spacing`; `changed`, fields of `Soil`. **Returns:** the function that throws.
    """

    def throw(friction, place, speed):
        body = Thrown(Ball(), 4 / 3 * np.pi * RADIUS**3 * HEAVY, RADIUS, speed, GRAVITY)
        soil = Soil(spacing, friction, BULK, *BOX, **changed)
        return end_at_stop(soil.throw(body, np.arange(0.0, LASTS, FRAME), np.asarray(place), {}))

    return throw


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
        "viscosity-third": partial(open_soil, viscosity=0.03),
    },
    settings=(Soil(1.0, 1.0, BULK, *BOX), LASTS, RADIUS, HEAVY),
)
