"""A ball thrown into grains beside what seven codes give, the benchmark of Dosta et al. (2024)."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

from difsim import allocate
from difsim.beds import BedSpecification, BoxContainer, GaussianSizes
from difsim.beds.specification import Bed
from difsim.dem import HertzMindlin
from experiments.beds import settle
from experiments.harness import Found
from experiments.intruder.pictures import draw_codes
from experiments.intruder.published import FRAME, GRAVITY, ROOM, SKIN, follow_ball
from experiments.intruder.scene import ball, falling_state, harden
from experiments.variables import describe
from inversion import Checkpoint
from inversion.progress import show_progress

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


def compare(coarse: float, beds: int, out: Path, is_quick: bool) -> Found:
    """The height of the ball in `beds` of grains `coarse` times as large; a checkpoint in `out` has each that ended."""
    size = 5e-3 if is_quick else coarse * SIZE
    law = replace(M1, modulus=POURED) if is_quick else M1
    kept, rows = Checkpoint(out / "beds.checkpoint", (law, recipe(size), WITH_STEEL, LEAVES)), []
    for seed in show_progress(range(beds), "beds"):
        rows.append(kept.get_or(f"{seed}", lambda seed=seed: drop_ball(settle(recipe(size, seed)), law)))
    heights = np.stack([row["height"] for row in rows])
    result = xr.Dataset({"height": (("bed", "time"), heights)}, coords={"time": rows[0]["time"]})
    ours = np.array([np.interp(list(SEEN), rows[0]["time"], height) for height in heights])
    scatter = ours.std(axis=0, ddof=1) if beds > 1 else np.full(len(SEEN), np.nan)
    summary = {
        "grains": int(rows[0]["grains"]),
        "seconds": float(np.mean([row["seconds"] for row in rows])),
        "lowest_mm": (1e3 * heights.min(axis=1)).tolist(),
        "heights": {
            f"{1e3 * t:.0f} ms": {
                "ours_mm": 1e3 * at.mean(),
                "scatter_mm": 1e3 * spread,
                "codes_mm": 1e3 * mean,
                "deviation_mm": 1e3 * deviation,
            }
            for (t, (mean, deviation)), at, spread in zip(SEEN.items(), ours.T, scatter, strict=True)
        },
    }
    result = describe(
        result, units={"height": "m", "time": "s"}, names={"height": "height of the centre of the ball"}
    )
    return Found(summary, {"result": result}, {"codes": draw_codes(result, SEEN)})


def drop_ball(bed: Bed, law: HertzMindlin) -> dict[str, Any]:
    """The `time` s and `height` m of the centre of Dosta's ball, from LEAVES on.

    **Arguments:** `bed`; `law` of the contacts of its grains. **Returns:** these by name, with the number of `grains`
    and the wall time of the run, `seconds`.
    """
    steel = replace(WITH_STEEL, modulus=WITH_STEEL.modulus * (law.modulus / M1.modulus))
    hard = harden(bed, law, steel)
    grains = replace(hard.grains, clumps=(ball(BALL, 7200.0),), clump_laws=(steel,))
    begin = jnp.array([0.0, 0.0, BEGINS - FLOOR - THROWN * LEAVES - 0.5 * GRAVITY * LEAVES**2])
    state = grains.with_clumps(hard.state, (falling_state(begin, THROWN + GRAVITY * LEAVES),))
    times = np.append(np.arange(LEAVES, 0.1, FRAME), 0.1)
    begun = time.perf_counter()
    ended = follow_ball(grains, state, times, allocate(grains, state, SKIN, ROOM))
    seconds = time.perf_counter() - begun
    height = np.asarray(ended.states.position[:, 2]) + FLOOR
    return {"time": ended.times, "height": height, "grains": grains.radius.size, "seconds": seconds}


def recipe(size: float, seed: int = 0) -> BedSpecification:
    """The specification of a bed of as much solid volume as the benchmark's, of grains of `size` m, softer than M1."""
    depth = COUNT * np.pi / 6 * SIZE**3 / (0.6 * BOX[0] * BOX[1])
    law = replace(M1, modulus=POURED)
    return BedSpecification(law, GaussianSizes(size, 0.0), 2500.0, BoxContainer(BOX), depth, seed=seed)
