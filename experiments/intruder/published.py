"""A ball thrown into grains beside published drops: the formula for its depth, and the benchmark of eight codes."""

import time
from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import xarray as xr

from difsim import Courant, allocate, run
from difsim.beds import BedSpecification, BoxContainer, GaussianSizes
from difsim.beds.specification import Bed
from difsim.dem import Grains, HertzMindlin
from difsim.dem.state import GrainsState
from difsim.stepping.marching import NeighbourList
from difsim.stepping.solution import Solution
from experiments.beds import settle
from experiments.harness import Found
from experiments.intruder.pictures import draw_published
from experiments.intruder.scene import (
    DENSITY,
    ball,
    box_of_glass,
    falling_state,
    place_above,
    recipe,
    scale_memory,
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
    """A ball of `radius` m and `density` kg/m³ at `speed` m/s onto grains of a `friction` and a `modulus` Pa."""

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

# Dosta et al. 2024 (Computer Physics Communications 296, 109066): the scene as the drivers of MercuryDPM and Yade that
# are public have it, grains of "M1" in a box of steel: Pa, Poisson's ratio, kg/m³, restitution, friction.
BOX, FLOOR, BEGINS, THROWN = (0.1, 0.06), -0.090243, 0.06, 5.0  # m, m, m, m/s
COUNT, SIZE, BALL = 25_000, 0.002, 0.010  # m
M1 = HertzMindlin(1e9, 0.2, restitution=0.5, friction=0.3)
WITH_STEEL = HertzMindlin.from_materials([1e9, 210e9], [0.2, 0.2], restitution=0.4, friction=0.2)
POURED = 2e7  # Pa: modulus with which the bed is poured, whose steps are seven times as long
LEAVES = 0.018  # s, of free flight that is not simulated
# Height of the ball's centre at 20, 40, ... ms in m: mean of seven codes, and one standard deviation of what a single
# bed of a single code may give. Of the means and deviations in the record 10.5281/zenodo.8252892, without LIGGGHTS.
SEEN = {0.02: (-0.0420, 0.0), 0.04: (-0.0654, 0.0019), 0.06: (-0.0368, 0.0054), 0.08: (-0.0122, 0.0090)}
SEEN |= {0.1: (0.0111, 0.0106)}


def formula(diameter: float, density: float, fall: float, bulk: float, repose: float = REPOSE) -> float:
    """The depth m of Uehara, Ambroso, Ojha and Durian (2003), 0.14/μ √(ρ/ρ_bed) D^(2/3) H^(1/3).

    **Arguments:** `diameter` D, m; `density` of the ball and `bulk` of the bed, kg/m³; `fall` H, m, from the release to
    the lowest point; `repose` μ, the tangent of the angle of repose. **Returns:** the depth.
    """
    return 0.14 / repose * np.sqrt(density / bulk) * diameter ** (2 / 3) * fall ** (1 / 3)


def compare(coarse: float, is_quick: bool) -> Found:
    """Depths beside the formula, and the ball of the benchmark in grains `coarse` times as large."""
    bed = settle(recipe() if is_quick else box_of_glass(GRAIN, WIDTH, DEEP))
    throws = THROWS[:1] if is_quick else THROWS
    depths = compare_depths(bed, throws)
    ground = bed_of_benchmark(5e-3 if is_quick else coarse * SIZE)
    drop, seconds = benchmark(ground, replace(M1, modulus=POURED) if is_quick else M1)
    mm = 1e3 * np.stack([depths["depth"].mean("place"), depths["depth"].std("place", ddof=1), depths["formula"]])
    ours = np.interp(list(SEEN), drop["time"].values, drop["height"].values)
    summary = {
        "solid_fraction": bed.figures.solid_fraction,
        "throws": [
            {**at._asdict(), "depth_mm": depth, "scatter_mm": scatter, "formula_mm": told, "ratio": depth / told}
            for at, (depth, scatter, told) in zip(throws, mm.T.tolist(), strict=True)
        ],
        "grains_of_benchmark": int(ground.grains.radius.size),
        "seconds_of_benchmark": seconds,
        "benchmark": {
            f"{1e3 * t:.0f} ms": {"ours_mm": 1e3 * z, "codes_mm": 1e3 * mean, "deviation_mm": 1e3 * deviation}
            for (t, (mean, deviation)), z in zip(SEEN.items(), ours.tolist(), strict=True)
        },
    }
    units = {"depth": "m", "fall": "m", "formula": "m", "speed": "m/s", "density": "kg/m3", "radius": "m"}
    units |= {"friction": "1", "modulus": "Pa"}
    names = {"fall": "fall from the release to the lowest point", "formula": "depth by the formula"}
    depths = describe(depths, units=units, names=names)
    drop = describe(drop, units={"height": "m", "time": "s"}, names={"height": "height of the centre of the ball"})
    return Found(summary, {"result": depths, "benchmark": drop}, {"published": draw_published(depths, drop, SEEN)})


def compare_depths(bed: Bed, throws: tuple[Throw, ...]) -> xr.Dataset:
    """The depth of each throw at each of PLACES, m below the mean surface, the total fall H, and the formula, m."""
    found, lists = np.empty((2, len(throws), len(PLACES))), {}
    for i, at in enumerate(show_progress(throws, "throws")):
        for j, place in enumerate(PLACES):
            ended = throw_into(bed, at, place, lists)
            begin, lowest = float(ended.states.position[0, 2]), float(np.min(ended.states.position[:, 2]))
            found[:, i, j] = (
                bed.figures.height + at.radius - lowest,
                at.speed**2 / (2 * GRAVITY) + begin - lowest,
            )
    columns = {name: ("throw", [getattr(at, name) for at in throws]) for name in Throw._fields}
    told = [
        formula(2 * at.radius, at.density, fall, bed.figures.bulk_density)
        for at, fall in zip(throws, found[1].mean(axis=1), strict=True)
    ]
    both = {"depth": (("throw", "place"), found[0]), "fall": (("throw", "place"), found[1])}
    return xr.Dataset(both | {"formula": ("throw", told)} | columns)


def throw_into(bed: Bed, at: Throw, place: tuple[float, float], lists: dict[float, NeighbourList]) -> Solution:
    """The motion of the ball of a throw until it stops.

    **Arguments:** `bed`; `at`, the throw; `place` m, from the bed's middle; `lists` by the ball's radius, of earlier
    throws into this bed: where there is one, nothing is compiled. **Returns:** the solution, whose states are the
    ball's.
    """
    law = replace(bed.grains.law, friction=at.friction, modulus=at.modulus)
    grains = replace(bed.grains, law=law, clumps=(ball(at.radius, at.density),), clump_laws=(None,))
    still = scale_memory(bed.state, jnp.asarray(at.modulus) / bed.grains.law.modulus)
    begin = place_above(still.position, grains.radius, jnp.asarray(place), at.radius)
    state = grains.with_clumps(still, (falling_state(begin, at.speed),))
    if at.radius not in lists:
        lists[at.radius] = allocate(grains, state, SKIN, ROOM)
    times, has_stopped = np.arange(0.0, LASTS, FRAME), lambda ball: ball.velocity[2] >= 0
    return _follow_ball(grains, state, times, lists[at.radius], until=has_stopped)


def benchmark(
    bed: Bed, law: HertzMindlin = M1, place: tuple[float, float] = (0.0, 0.0)
) -> tuple[xr.Dataset, float]:
    """The height of the centre of Dosta's ball against time, from LEAVES on, and the wall time of the run, s."""
    steel = replace(WITH_STEEL, modulus=WITH_STEEL.modulus * (law.modulus / M1.modulus))
    mass = ball(BALL, 7200.0)
    walls = (steel,) * len(bed.grains.walls)
    grains = replace(bed.grains, law=law, wall_laws=walls, clumps=(mass,), clump_laws=(steel,))
    still = scale_memory(bed.state, law.modulus / bed.grains.law.modulus)
    height = BEGINS - FLOOR - THROWN * LEAVES - 0.5 * GRAVITY * LEAVES**2
    begin = jnp.array([*place, height])
    state = grains.with_clumps(still, (falling_state(begin, THROWN + GRAVITY * LEAVES),))
    times = np.append(np.arange(LEAVES, 0.1, FRAME), 0.1)
    begun = time.perf_counter()
    ended = _follow_ball(grains, state, times, allocate(grains, state, SKIN, ROOM))
    seconds = time.perf_counter() - begun
    z = np.asarray(ended.states.position[:, 2]) + FLOOR
    return xr.Dataset({"height": ("time", z)}, coords={"time": np.asarray(ended.times)}), seconds


def bed_of_benchmark(size: float, seed: int = 0) -> Bed:
    """The bed of the benchmark, of as much solid volume but grains of `size` m, softer than M1."""
    depth = COUNT * np.pi / 6 * SIZE**3 / (0.6 * BOX[0] * BOX[1])
    law = replace(M1, modulus=POURED)
    return settle(BedSpecification(law, GaussianSizes(size, 0.0), 2500.0, BoxContainer(BOX), depth, seed=seed))


def _follow_ball(grains: Grains, state: GrainsState, times, near: NeighbourList, until=None) -> Solution:
    """The motion of the ball."""
    solver = Courant(COURANT, neighbours=near)
    return run(grains, state, times, solver=solver, save=lambda state: state.clumps[0], until=until)
