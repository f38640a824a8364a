"""A ball thrown into grains beside the published formula for its depth."""

from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import xarray as xr

from difsim import Courant, allocate, run
from difsim.beds.specification import Bed
from difsim.dem import Grains
from difsim.dem.state import GrainsState
from difsim.stepping.marching import NeighbourList
from difsim.stepping.solution import Solution
from experiments.beds import falling_state, settle
from experiments.harness import Found
from experiments.intruder.pictures import draw_published
from experiments.intruder.scene import (
    DENSITY,
    ball,
    box_of_glass,
    place_above,
    recipe,
)
from experiments.variables import describe
from inversion.progress import show_progress

GRAVITY = 9.81
REPOSE = float(np.tan(np.radians(24.0)))  # of glass beads (Katsuragi and Durian 2007); not measured for ours
GRAIN, WIDTH, DEEP = 0.005, 0.1, 0.06  # m, of the bed of the formula
COURANT, SKIN, ROOM, FRAME = 0.7, 0.1, 1.5, 1e-3  # FRAME: s, between looks
LASTS = 0.3  # s: all have stopped
PLACES = (0.0, 0.0), (0.004, 0.003)  # m, from the middle


class Throw(NamedTuple):
    """A ball of `radius` m and `density` kg/m³ at `speed` m/s onto grains of a `friction`, poured with `modulus` Pa."""

    speed: float
    density: float = DENSITY
    radius: float = 0.0125
    friction: float = 0.2
    modulus: float = 1e7


STIFF, STEEL = 5e7, 7800.0  # Pa: a heavy or fast ball would press a softer grain in by half its radius; kg/m³
THROWS = (
    Throw(0.5),
    Throw(1.0),
    Throw(2.0, modulus=STIFF),
    Throw(1.0, STEEL, modulus=STIFF),
    Throw(1.0, friction=0.1),
    Throw(1.0, friction=0.3),
    Throw(1.0, friction=0.5),
)


def formula(diameter: float, density: float, fall: float, bulk: float) -> float:
    """The depth m of Uehara, Ambroso, Ojha and Durian (2003), 0.14/μ √(ρ/ρ_bed) D^(2/3) H^(1/3), with μ of `REPOSE`.

    **Arguments:** `diameter` D, m; `density` of the ball and `bulk` of the bed, kg/m³; `fall` H, m, from the release to
    the lowest point. **Returns:** the depth.
    """
    return 0.14 / REPOSE * np.sqrt(density / bulk) * diameter ** (2 / 3) * fall ** (1 / 3)


def compare(is_quick: bool) -> Found:
    """Depths beside the formula."""
    throws = THROWS[:1] if is_quick else THROWS
    beds = {
        modulus: settle(recipe() if is_quick else box_of_glass(GRAIN, WIDTH, DEEP, modulus))
        for modulus in dict.fromkeys(at.modulus for at in throws)
    }
    depths = compare_depths(beds, throws)
    mm = 1e3 * np.stack([depths["depth"].mean("place"), depths["depth"].std("place", ddof=1), depths["formula"]])
    summary = {
        "solid_fraction": {f"{modulus:g} Pa": bed.figures.solid_fraction for modulus, bed in beds.items()},
        "throws": [
            {**at._asdict(), "depth_mm": depth, "scatter_mm": scatter, "formula_mm": given, "ratio": depth / given}
            for at, (depth, scatter, given) in zip(throws, mm.T.tolist(), strict=True)
        ],
    }
    units = {"depth": "m", "fall": "m", "formula": "m", "speed": "m/s", "density": "kg/m3", "radius": "m"}
    units |= {"friction": "1", "modulus": "Pa"}
    names = {"fall": "fall from the release to the lowest point", "formula": "depth by the formula"}
    depths = describe(depths, units=units, names=names)
    return Found(summary, {"result": depths}, {"published": draw_published(depths)})


def compare_depths(beds: dict[float, Bed], throws: tuple[Throw, ...]) -> xr.Dataset:
    """The depth of each throw at each of PLACES, m below the mean surface, the total fall H, and the formula, m.

    `beds` are by the modulus of their grains.
    """
    found, lists = np.empty((2, len(throws), len(PLACES))), {modulus: {} for modulus in beds}
    for i, at in enumerate(show_progress(throws, "throws")):
        bed = beds[at.modulus]
        for j, place in enumerate(PLACES):
            ended = throw_into(bed, at, place, lists[at.modulus])
            begin, lowest = float(ended.states.position[0, 2]), float(np.min(ended.states.position[:, 2]))
            found[:, i, j] = (
                bed.figures.height + at.radius - lowest,
                at.speed**2 / (2 * GRAVITY) + begin - lowest,
            )
    columns = {name: ("throw", [getattr(at, name) for at in throws]) for name in Throw._fields}
    by_formula = [
        formula(2 * at.radius, at.density, fall, beds[at.modulus].figures.bulk_density)
        for at, fall in zip(throws, found[1].mean(axis=1), strict=True)
    ]
    both = {"depth": (("throw", "place"), found[0]), "fall": (("throw", "place"), found[1])}
    return xr.Dataset(both | {"formula": ("throw", by_formula)} | columns)


def throw_into(bed: Bed, at: Throw, place: tuple[float, float], lists: dict[float, NeighbourList]) -> Solution:
    """The motion of the ball of a throw until it stops.

    **Arguments:** `bed`; `at`, the throw; `place` m, from the bed's middle; `lists` by the ball's radius, of earlier
    throws into this bed: where there is one, nothing is compiled. **Returns:** the solution, whose states are the
    ball's.
    """
    law = replace(bed.grains.law, friction=at.friction)
    grains = replace(bed.grains, law=law, clumps=(ball(at.radius, at.density),), clump_laws=(None,))
    begin = place_above(bed.state.position, grains.radius, jnp.asarray(place), at.radius)
    state = grains.with_clumps(bed.state, (falling_state(begin, at.speed),))
    if at.radius not in lists:
        lists[at.radius] = allocate(grains, state, SKIN, ROOM)
    times, has_stopped = np.arange(0.0, LASTS, FRAME), lambda ball: ball.velocity[2] >= 0
    return follow_ball(grains, state, times, lists[at.radius], until=has_stopped)


def follow_ball(grains: Grains, state: GrainsState, times, near: NeighbourList, until=None) -> Solution:
    """The motion of the ball that is the first clump of `grains`, at `times` s or `until` a condition of it holds."""
    solver = Courant(COURANT, neighbours=near)
    return run(grains, state, times, solver=solver, save=lambda state: state.clumps[0], until=until)
