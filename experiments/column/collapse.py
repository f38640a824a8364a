"""Columns that collapse: how far, against their aspect ratio; and how steep heaps are, against friction."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from difsim import Courant, allocate, run
from experiments.column.heap import Heap
from experiments.column.scene import FRICTION, GRAVITY, ROLLING, Column, release
from experiments.geometry import spheres
from experiments.variables import describe
from inversion.progress import Bar

ASPECTS = (0.7, 1.4, 2.8, 5.6)
FREE = (0.1, 0.0), (0.3, 0.0), (0.5, 0.0), (0.8, 0.0)
RESISTING = (0.5, 0.1), (0.1, 0.3), (0.5, 0.3), (0.8, 0.3)
FRICTIONS = *FREE, *RESISTING  # friction, and C/R of the resistance to rolling
REPOSE = 1.4  # aspect ratio of the columns whose heaps' slopes are measured
FALLS, AND = 4.0, 0.3  # of √(h₀/g), and s: how long a collapse is followed
FRAMES = 16
COURANT = 0.7
ROOM = 3.5  # of the lists: the floor gets more and more neighbours, and each larger list costs a compilation


def collapse_column(
    column: Column, folder: Path, friction: float = FRICTION, rolling: float = ROLLING
) -> xr.Dataset:
    """Take the drum away; a run that was interrupted goes on from its checkpoint in `folder`.

    **Returns:** places at all times, what the heap is like at the end, and before.
    """
    name = f"a = {column.aspect:g}, {column.count} grains, friction {friction:g}, rolling {rolling:g}"
    bed = column.bed()
    grains, state = release(bed, friction, rolling)
    times = np.linspace(0.0, FALLS * np.sqrt(bed.figures.height / GRAVITY) + AND, FRAMES)
    kept = folder / f"{name.replace(' = ', '').replace(', ', '_').replace(' ', '')}.checkpoint"
    with Bar(name, FRAMES) as bar:
        solver, watch = Courant(COURANT, neighbours=allocate(grains, state, slack=ROOM)), lambda _: bar.advance()
        ended = run(grains, state, times, solver=solver, checkpoint=kept, watch=watch)
    radius = np.asarray(grains.radius)
    before, after = (Heap.measure(ended.states.position[i], radius) for i in (0, -1))
    last = jax.tree.map(lambda x: jnp.asarray(x[-1]), ended.states)
    energy = {k: float(v) for k, v in grains.energy(ended.times[-1], last).items()}
    fall = float(grains.mass @ (ended.states.position[0, 2] - ended.states.position[-1, 2])) * GRAVITY
    marks = {"units": "m"} | spheres("radius")
    result = xr.Dataset(
        {
            "position": (("time", "axis", "grain"), ended.states.position.astype(np.float32), marks),
            "radius": ("grain", radius, {"units": "m"}),
            "before": ("r", before.height, {"units": "m"}),
            "height": ("r", after.height, {"units": "m"}),
        },
        coords={"time": ("time", times, {"units": "s"}), "r": ("r", after.r, {"units": "m"})},
        attrs={
            "aspect": bed.figures.height / column.radius,
            "grains": radius.size,
            "diameter_m": column.diameter,
            "radius_m": column.radius,
            "column_height_m": bed.figures.height,
            "friction": friction,
            "rolling": rolling,
            "solid_fraction": bed.figures.solid_fraction,
            "coordination": bed.figures.coordination,
            "front_m": after.front,
            "beyond_front": after.beyond,
            "top_m": after.top,
            "slope_deg": after.slope,
            "run_out": (after.front - column.radius) / column.radius,
            "top_over_radius": after.top / column.radius,
            "kinetic_left": (energy["kinetic"] + energy["rotation"]) / fall,
            "steps": int(ended.stats.steps[-1]),
        },
    )
    jax.clear_caches()  # the programs are of this number of grains: those of eight columns take 4 GB
    names = {"before": "height of the column before it falls", "height": "height of the heap", "r": "radius"}
    return describe(result, "origin on the floor in the column's axis, z up", names=names)


def lube(aspect: np.ndarray) -> np.ndarray:
    """Run-out (r∞ - r₀)/r₀ of round columns of many materials: Lube et al., J. Fluid Mech. 508 (2004) 175."""
    return np.where(aspect < 1.7, 1.24 * aspect, 1.6 * np.sqrt(aspect))


def exponents(results: list[xr.Dataset]) -> list[float]:
    """Of run-out by aspect ratio, from each column to the next."""
    a, run_out = (np.array([r.attrs[k] for r in results]) for k in ("aspect", "run_out"))
    return (np.diff(np.log(run_out)) / np.diff(np.log(a))).tolist()
