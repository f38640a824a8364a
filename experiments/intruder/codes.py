"""A ball thrown into grains beside what seven codes give, the benchmark of Dosta et al. (2024)."""

import time
from collections import ChainMap
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

from difsim import allocate
from difsim.beds import BedSpecification, BoxContainer, GaussianSizes
from difsim.beds.specification import Bed
from difsim.dem import HertzMindlin
from experiments.beds import BEDS, falling_state
from experiments.harness import Found
from experiments.intruder.pictures import draw_codes
from experiments.intruder.published import FRAME, GRAVITY, ROOM, SKIN, follow_ball
from experiments.intruder.scene import ball, harden
from experiments.variables import describe
from inversion import Checkpoint
from inversion.progress import Bar
from inversion.threads import map_in_threads

# Dosta et al. 2024 (Computer Physics Communications 296, 109066): the scene as the drivers of MercuryDPM and Yade that
# are public have it, grains of "M1" in a box of steel: Pa, Poisson's ratio, kg/m³, restitution, friction.
BOX, FLOOR, BEGINS, THROWN = (0.098, 0.06), -0.090243, 0.06, 5.0  # m, m, m, m/s
COUNT, SIZE, BALL = 25_000, 0.002, 0.010  # m
M1 = HertzMindlin(1e9, 0.2, restitution=0.5, friction=0.3)
WITH_STEEL = HertzMindlin.from_materials([1e9, 210e9], [0.2, 0.2], restitution=0.4, friction=0.2)
POURED = 2e7  # Pa: modulus with which the bed is poured, whose steps are seven times as long
LOOSE = 1.0  # friction of grains while they are poured: the public bed is as high and as loose
MEETS, ENDS = 0.018, 0.1  # s: until MEETS the ball flies alone, which is not simulated
RISEN = 4  # diameters of a grain, from the floor: a ball that has risen so far flies alone again
# Height of the ball's centre by the time in s, m: mean of seven codes, and one standard deviation of what a single bed
# of a single code may give. Of the means and deviations in the record 10.5281/zenodo.8252892, without LIGGGHTS, and at
# 0.1 s without Yade, which it lacks there.
SEEN = {0.02: (-0.0420, 0.0), 0.024: (-0.06002, 0.00009), 0.028: (-0.0719, 0.0003), 0.04: (-0.0654, 0.0019)}
SEEN |= {0.06: (-0.0368, 0.0054), 0.08: (-0.0122, 0.0090), 0.1: (0.0111, 0.0106)}

AS_PUBLISHED = "as published"
CASES = {AS_PUBLISHED: M1, "friction of grains 0.5": replace(M1, friction=0.5)}  # laws of the grains
CHANGED = 1  # beds of each case but the first


def compare(coarse: float, beds: int, out: Path, is_quick: bool) -> Found:
    """The height of the ball in `beds` of grains `coarse` times as large, and in CHANGED of each other case.

    A checkpoint in `out` has each throw that ended.
    """
    size, soft = (5e-3, POURED / float(M1.modulus)) if is_quick else (coarse * SIZE, 1.0)
    kept = Checkpoint(out / "throws.checkpoint", (CASES, recipe(size), MEETS, RISEN, soft))

    def throw_into(job):
        seed, names = job
        harden_once = cache(lambda: harden_bed(recipe(size, seed).bed(BEDS), soft))
        return {
            (name, seed): kept.get_or(
                f"{[*CASES].index(name)}.{seed}", lambda law=CASES[name]: drop_ball(harden_once(), law, soft)
            )
            for name in names
        }

    jobs = {seed: CASES if seed < CHANGED else (AS_PUBLISHED,) for seed in range(beds)}
    with Bar("beds", len(jobs)) as bar:
        thrown = ChainMap(*map_in_threads(throw_into, jobs.items(), bar))
    times = thrown[AS_PUBLISHED, 0]["time"]
    height = np.full((len(CASES), beds, times.size), np.nan)
    for (name, seed), row in thrown.items():
        height[[*CASES].index(name), seed] = row["height"]
    result = xr.Dataset({"height": (("case", "bed", "time"), height)}, coords={"case": [*CASES], "time": times})
    result = describe(
        result, units={"height": "m", "time": "s"}, names={"height": "height of the centre of the ball"}
    )
    return Found(summarize(result, [*thrown.values()]), {"result": result}, {"codes": draw_codes(result, SEEN)})


def summarize(result: xr.Dataset, thrown: list[dict[str, Any]]) -> dict[str, Any]:
    """Heights in mm at the times of SEEN by the case, and the codes'; what else the throws say."""
    at = 1e3 * result["height"].interp(time=list(SEEN))
    codes = 1e3 * np.array(list(SEEN.values())).T
    rows = {"seven codes": codes[0], "their deviation": codes[1]}
    rows |= {name: at.sel(case=name).mean("bed").values for name in CASES}
    if result.sizes["bed"] > 1:
        rows[f"scatter {AS_PUBLISHED}"] = at.sel(case=AS_PUBLISHED).std("bed", ddof=1).values
    columns = [f"{1e3 * time:.0f} ms" for time in SEEN]
    return {
        "grains": int(thrown[0]["grains"]),
        "seconds": float(np.mean([row["seconds"] for row in thrown])),
        "pull_when_left": float(max(row["pull"] for row in thrown)),
        "heights_mm": {name: dict(zip(columns, row.tolist(), strict=True)) for name, row in rows.items()},
    }


def harden_bed(bed: Bed, soft: float) -> Bed:
    """A bed at rest with the laws as published, their moduli times `soft`."""
    return harden(bed, soften(M1, soft), soften(WITH_STEEL, soft))


def soften(law: HertzMindlin, factor: float) -> HertzMindlin:
    """A law whose modulus is `factor` times as large."""
    return replace(law, modulus=factor * law.modulus)


def drop_ball(bed: Bed, law: HertzMindlin, soft: float) -> dict[str, Any]:
    """The `time` s and `height` m of the centre of Dosta's ball, from MEETS on.

    **Arguments:** `bed` at rest; `law` of its grains; `soft`, a factor of its moduli. **Returns:** these by name, with
    the number of `grains`, the wall time of the run, `seconds`, and the `pull` of grains just before it is taken to
    have left them, over its weight.
    """
    steel = soften(WITH_STEEL, soft)
    walls = (steel,) * len(bed.grains.walls)
    laws = {"law": soften(law, soft), "wall_laws": walls, "clump_laws": (steel,)}
    grains = replace(bed.grains, clumps=(ball(BALL, 7200.0),), **laws)
    begin = jnp.array([0.0, 0.0, BEGINS - FLOOR - THROWN * MEETS - 0.5 * GRAVITY * MEETS**2])
    state = grains.with_clumps(bed.state, (falling_state(begin, THROWN + GRAVITY * MEETS),))
    flies = BALL + RISEN * 2 * float(jnp.mean(grains.radius))

    def has_left(ball):
        return (ball.velocity[2] > 0) & (ball.position[2] > flies)

    begun, times = time.perf_counter(), np.append(np.arange(MEETS, ENDS, FRAME), ENDS)
    ended = follow_ball(grains, state, times, allocate(grains, state, SKIN, ROOM), until=has_left)
    seconds = time.perf_counter() - begun
    height, speed = (np.asarray(x[:, 2]) for x in (ended.states.position, ended.states.velocity))
    flying = times[height.size :] - ended.times[-1]
    flight = height[-1] + speed[-1] * flying - 0.5 * GRAVITY * flying**2
    return {
        "time": times,
        "height": np.concatenate([height, flight]) + FLOOR,
        "pull": abs((speed[-1] - speed[-2]) / FRAME / GRAVITY + 1),
        "grains": grains.radius.size,
        "seconds": seconds,
    }


def recipe(size: float, seed: int = 0) -> BedSpecification:
    """The specification of a bed of as much solid volume as the benchmark's, of grains of `size` m, softer than M1."""
    depth = COUNT * np.pi / 6 * SIZE**3 / (0.6 * BOX[0] * BOX[1])
    law = replace(M1, modulus=POURED, friction=LOOSE)
    return BedSpecification(law, GaussianSizes(size, 0.0), 2500.0, BoxContainer(BOX), depth, seed=seed)
