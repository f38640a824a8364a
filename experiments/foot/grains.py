"""The sole thrown into the reduced law's soil as grains: few and large ones, of the same bulk density, modulus,
friction and cohesion."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from difsim import Courant, allocate
from difsim.beds import BedSpecification, CylindricalContainer, GaussianSizes
from difsim.beds.sizes import coarse_grained
from difsim.beds.specification import Bed
from difsim.contact import ConstantCohesion, Regolith
from difsim.dem import Clump, Grains, HertzMindlin
from difsim.dem.state import GrainsState
from difsim.mesh import cylinder
from difsim.plot.style import BLACK
from difsim.shape.sub_spheres import fill_with_spheres
from difsim.stepping.marching import NeighbourList, initialise
from difsim.stepping.running import resume
from experiments.beds import VACANCY, build_guided, place_clump
from experiments.beds import settle as settle_bed
from experiments.foot import throws
from experiments.foot.scene import GRAVITY, LAW, RADIUS, law
from experiments.foot.throws import FRAME
from inversion.progress import Bar

RESTITUTION = 0.3  # assumed
SPREAD = 0.1  # standard deviation of the diameters over their mean: equal spheres would order along the walls
RANGE = 0.01  # of the attraction over the diameter
PACKS = 0.6  # solid fraction that is expected, for densities; the bed's own is measured
RELIEVED = 0.1  # m/s²: under what gravity the bed rests last; its weight is then some 10 Pa
THICKNESS = 0.04  # m, of the sole
COURANT, SKIN = 0.9, 0.1
DEPTHS = 0, 1, 2, 4  # cm, where speeds are told
LONGEST = 2.0  # s
SMOOTH = 2e-3  # s, over which a picture averages the pressure


def recipe(
    diameter: float, width: float, cohesion: float, seed: int = 0, ground: Regolith = LAW
) -> BedSpecification:
    """The layer of `ground` in a drum `width` m wide, of grains of `diameter` m, with a `cohesion` in Pa by Rumpf's
    sum."""
    real, factor = float(ground.grain_diameter), diameter / float(ground.grain_diameter)
    coarse = coarse_grained(
        GaussianSizes(real, SPREAD * real), float(ground.grain_density), 1 - float(ground.porosity), factor, PACKS
    )
    modulus, poisson, friction = (float(x) for x in (ground.grain_modulus, ground.poisson, ground.friction))
    pull_off = cohesion / friction * (1 - PACKS) / PACKS * diameter**2
    attraction = ConstantCohesion(pull_off, RANGE * diameter)
    material = HertzMindlin(modulus, poisson, RESTITUTION, friction, cohesion=(attraction,))
    depth = float(ground.thickness)
    return BedSpecification(
        material, coarse.sizes, coarse.density, CylindricalContainer(width), depth, RELIEVED, seed=seed
    )


def settle(diameter: float, width: float, cohesion: float, seed: int = 0, ground: Regolith = LAW) -> Bed:
    """The bed of `recipe` at rest, from the cache where it has been made before."""
    return settle_bed(recipe(diameter, width, cohesion, seed, ground))


@cache
def footpad(load: float) -> Clump:
    """A disc of `load` kg/m² as pebbles; heavy to turn, since the sole in SPH is guided too."""
    filling = fill_with_spheres(cylinder(RADIUS, THICKNESS), VACANCY)
    return build_guided(load * np.pi * RADIUS**2, RADIUS, filling.centre, filling.radius)


def throw(
    bed: Bed,
    speed: float,
    load: float,
    place: tuple[float, float] = (0.0, 0.0),
    until: float = 0.0,
    deepest: float = np.inf,
    near: NeighbourList | None = None,
) -> xr.Dataset:
    """Penetration m below the mean surface, speed m/s downwards and pressure Pa against time s, until it stands.

    The sole begins where it touches the highest grain below it. **Arguments:** `speed` m/s; `load` kg/m²; `place`
    m, from the drum's axis; `until` m/s or `deepest` m, where it is left before it stands; `near`, the list of
    another throw into this bed, which has room enough: nothing is compiled again.
    **Raises:** RuntimeError for a run that fails.
    """
    model, state = place_above(bed, speed, load, place)
    near = allocate(model, state, skin=SKIN) if near is None else near
    progress, rows = initialise(model, state, listed=near), []
    with Bar(f"{speed:g} m/s, {bed.grains.radius.size} grains, speed lost", speed) as bar:
        for time in np.arange(FRAME, LONGEST, FRAME):
            times = [float(progress.motion.time), time]
            run = resume(model, progress, times, solver=Courant(COURANT), save=lambda state: state.clumps[0])
            progress, disc = run.progress, run.at(-1)
            depth, down = bed.figures.height + 0.5 * THICKNESS - disc.position[2], -disc.velocity[2]
            before = rows[-1][2] if rows else speed
            rows.append((time, depth, down, load * ((before - down) / FRAME + GRAVITY)))
            bar.reach(speed - np.clip(down, 0.0, speed))
            if down <= until or depth > deepest:
                break
    return throws.table(rows, load_kg_m2=load, thrown_m_s=speed, steps=int(progress.steps))


def place_above(
    bed: Bed, speed: float, load: float, place: tuple[float, float] = (0.0, 0.0)
) -> tuple[Grains, GrainsState]:
    """The bed and the sole, and the state in which a `throw` begins."""
    at = np.asarray(bed.state.position)
    below = np.hypot(at[0] - place[0], at[1] - place[1]) < RADIUS
    middle = float((at[2] + np.asarray(bed.grains.radius))[below].max()) + 0.5 * THICKNESS
    return place_clump(bed.grains, bed.state, footpad(load), (*place, middle), speed, GRAVITY)


def judge(result: xr.Dataset) -> dict[str, Any]:
    """The speed that the sole has left on its way, its depth, and the same by the reduced law."""
    thrown, load = float(result.attrs["thrown_m_s"]), float(result.attrs["load_kg_m2"])
    return {
        "stands": bool(result["speed"][-1] <= 0),
        "ended_s": float(result["time"][-1]),
        "touches_at_m": float(result["penetration"][0]),
        "grains": _way(result["penetration"].values, result["speed"].values, load),
        "law": _way(*throws.law_fall(thrown, load), load),
    }


def _way(depth: np.ndarray, speed: np.ndarray, load: float) -> dict[str, float]:
    """Of a sole that has come to `depth` [t] m at `speed` [t] m/s. A mean pressure is energy over a way."""
    begin, end = depth[0], depth[-1]
    half = np.interp(0.5 * (begin + end), depth, speed)
    left = {
        f"speed_left_at_{cm}_cm": float(np.interp(0.01 * cm, depth, speed, right=0.0) / speed[0]) for cm in DEPTHS
    }
    return {"depth_m": float(end), **left, "pressure_of_second_half_Pa": float(load * half**2 / (end - begin))}


def draw(results: Mapping[str, xr.Dataset]) -> Figure:
    """Pressure and speed against penetration, beside the reduced law."""
    figure = throws.draw(results, ("Dotted: the reduced law", ""), averaged=round(SMOOTH / FRAME))
    left, right = figure.axes
    for thrown, load in {(x.attrs["thrown_m_s"], x.attrs["load_kg_m2"]) for x in results.values()}:
        z, speed = throws.law_fall(thrown, load)
        force = np.asarray(jax.vmap(law)(jnp.asarray(z), jnp.asarray(speed)))
        left.plot(100 * z, force / 1e3 / (np.pi * RADIUS**2), ":", color=BLACK)
        right.plot(100 * z, speed, ":", color=BLACK)
    return figure
