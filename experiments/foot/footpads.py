"""Soles thrown into the soils of a design, by grains and by the reduced law: by what factor they resist more."""

from concurrent.futures import Executor
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import allocate
from difsim.beds.specification import Bed
from difsim.contact import Regolith
from difsim.stepping.marching import NeighbourList
from difsim.typing import Scalar
from experiments.foot.grains import LONGEST, SKIN, place_above, throw
from experiments.foot.scene import GRAVITY, RADIUS, law
from experiments.foot.soils import MODULI, OPTIMUM, THICKNESSES, Soil, convert_soil, design, ground_of, pour_bed
from experiments.foot.throws import law_fall
from inversion import Checkpoint
from inversion.sweeps import compute_parts

FORM = 2  # counts the ways in which soles are thrown: an older result is not read as one of this
SPEED, LOAD = 1.0, 1022.0  # m/s; kg/m²: a third of Philae on each of the inversion's three soles
UNTIL = 0.3  # of the speed: nine tenths of the energy are lost then, and the rest would take most of the time
GRAINS, WIDTH = 0.04, 1.2  # m, of a grain and of the drum
NARROWER = 0.75  # of the width: a drum that tells how much walls carry
FINER = 0.025  # m, of grains that tell what their size does: in one drum some seven times the work
ROOM = 1.6  # in a list, over what it holds before the bed is pressed
LEFT_OUT = 2.0  # grains above the floor: so few do not say what a floor does
SCATTER = 0.05  # m: how far from the drum's axis a sole may come down


class Throw(NamedTuple):
    """One sole: into what `soil`, of what coarse grains (`diameter` m, `bed` is a seed, in a drum of `width` m),
    where, m, how fast, m/s, with what load, kg/m²; `why` it is thrown: for the "design", "again", or the field in
    which it differs from its `twin`."""

    why: str
    soil: Soil
    diameter: float = GRAINS
    bed: int = 0
    width: float = WIDTH
    place: tuple[float, float] = (0.0, 0.0)
    speed: float = SPEED
    load: float = LOAD

    @property
    def key(self) -> str:
        """A file's name."""
        numbers = *self.soil, self.diameter, self.bed, self.width, *self.place, self.speed, self.load
        return "_".join(f"{x:.6g}" for x in numbers)

    @property
    def grains(self) -> tuple[float, float, float, int]:
        """The arguments of `pour_bed` for it."""
        return self.diameter, self.soil.thickness, self.width, self.bed

    def twin(self, design: "Throw") -> "Throw":
        """What one that is not of the design is compared with: there its field is as in the `design`."""
        return self._replace(**{self.why: getattr(design, self.why)})


def throws(count: int, seed: int, repeats: int, width: float = WIDTH) -> list[Throw]:
    """The design, each soil at a place of its own. Beside it, of soft grains, whose steps are long: one soil at
    `repeats` places in each of two beds; five soils of the design with half the speed and with half the load;
    these and all that came down in the thinnest layer of the first bed in a NARROWER drum; and the latter there
    among FINER grains."""
    places = np.random.default_rng(seed).uniform(-SCATTER, SCATTER, (count + repeats, 2)).round(4).tolist()
    soils = design(count, seed)
    some = [Throw("design", soil, width=width, place=tuple(at)) for soil, at in zip(soils, places, strict=False)]
    soft = [one for one in some if _is_soft(one)][:5]
    again = [
        Throw("again", OPTIMUM, bed=bed, width=width, place=tuple(at)) for bed in (0, 1) for at in places[count:]
    ]
    narrower = round(NARROWER * width, 3)
    slow = [one._replace(why="speed", speed=0.5 * SPEED) for one in soft]
    light = [one._replace(why="load", load=0.5 * LOAD) for one in soft]
    thin = [one for one in some + again if one.bed == 0 and one.soil.thickness == THICKNESSES[0] and _is_soft(one)]
    narrow = [one._replace(why="width", width=narrower) for one in dict.fromkeys(soft + thin)]
    fine = [one._replace(why="diameter", width=narrower, diameter=FINER) for one in thin]
    return some + again + slow + light + narrow + fine


def _is_soft(one: Throw) -> bool:
    return one.soil.grain_modulus == MODULI[0]


def results(wanted: list[Throw], folder: Path, until: float, executor: Executor | None) -> list[dict[str, Any]]:
    """What `summarise` says of each throw. What is in `folder` from an earlier run is not thrown again."""
    kept = Checkpoint(folder, repr((FORM, until, LONGEST, ROOM, LEFT_OUT, GRAVITY)))
    beds = dict.fromkeys(one.grains for one in wanted if one.key not in kept)
    pours = {"_".join(f"{x:g}" for x in grains): partial(_pour, grains) for grains in beds}
    compute_parts(pours, executor=executor, label="beds")
    first = {one.grains: one for one in reversed(wanted)}
    paths = {one.key: partial(path_of, one, first[one.grains], until) for one in wanted}
    made = compute_parts(paths, kept, executor, label="throws")
    return [summarise(one, made[one.key], until) for one in wanted]


def _pour(grains: tuple[float, float, float, int]) -> None:
    pour_bed(*grains)
    # XLA takes memory maps for every program, and crashes past 65 530: those that pour serve one bed.
    jax.clear_caches()


def path_of(one: Throw, first: Throw, until: float) -> dict[str, np.ndarray]:
    """The path of a sole, which is left with `until` of its speed; `first` is the first one of its bed.

    **Returns:** `time` s, `penetration` m below the mean surface, `speed` m/s; the layer's `thickness` m, and the
    `unrest` m/s of its grains before; how many `steps`.
    """
    bed, near = _bed(first)
    soil, unrest = convert_soil(bed, ground_of(one.soil, bed.figures.height))
    deepest = bed.figures.height - LEFT_OUT * one.diameter
    path = throw(soil, one.speed, one.load, one.place, until * one.speed, deepest, near)
    return {name: path[name].values for name in ("time", "penetration", "speed")} | {
        "thickness": bed.figures.height,
        "unrest": unrest,
        "steps": path.attrs["steps"],
    }


@lru_cache
def _bed(first: Throw) -> tuple[Bed, NeighbourList]:
    """A bed, and the list of the first throw into it, so that all are one program."""
    bed = pour_bed(*first.grains)
    soil, _ = convert_soil(bed, ground_of(first.soil, bed.figures.height))
    return bed, allocate(*place_above(soil, first.speed, first.load), skin=SKIN, slack=ROOM)


def summarise(one: Throw, path: dict[str, np.ndarray], until: float) -> dict[str, Any]:
    """`way` m from first touch to where `until` of the speed is left (it stands), or as far as it was followed, and
    the `law_way` by the reduced law. J/m²: what the sole `lost`, and the `work` of the law's bearing, inertia and
    viscosity on the same way at the same speeds; `below`: these four of the part below the mean surface, where there
    is one."""
    ground = ground_of(one.soil, float(path["thickness"]))
    penetration, speed = path["penetration"], path["speed"]
    way, below = penetration - penetration[0], penetration > 0
    part = penetration[below], speed[below]
    return {
        "stands": bool(speed[-1] <= until * one.speed),
        "way": float(way[-1]),
        "law_way": find_way_by_law(one, ground, until),
        "lost": lost_energy(speed, one.load),
        "work": work(way, speed, ground),
        "below": [lost_energy(part[1], one.load), *work(*part, ground)] if below.sum() > 1 else None,
        "thickness": float(path["thickness"]),
        "unrest": float(path["unrest"]),
        "steps": int(path["steps"]),
    }


def find_way_by_law(one: Throw, ground: Regolith, until: float) -> float:
    """The depth that the reduced law lets the same sole reach, m."""
    depth, speed = law_fall(one.speed, one.load, ground)
    return float(depth[speed > until * one.speed][-1])


def lost_energy(speed: np.ndarray, load: float) -> float:
    """Energy over area, J/m², that a sole loses on a way."""
    return float(0.5 * load * (speed[0] ** 2 - speed[-1] ** 2))


def work(way: np.ndarray, speed: np.ndarray, ground: Regolith) -> list[float]:
    """J/m² that bearing, inertia and viscosity of the reduced law would take on a way at these speeds."""
    even = np.linspace(way[0], way[-1], 1001)
    slower = np.maximum(np.interp(even, way, speed), 0.0)
    lighter = replace(ground, inertia_factor=1e-9)
    cases = (0 * slower, ground), (slower, ground), (slower, lighter)
    still, moving, light = (float(_work(jnp.asarray(even), jnp.asarray(v), g)) for v, g in cases)
    return [still, moving - light, light - still]


@eqx.filter_jit
def _work(way: Float[Array, " z"], speed: Float[Array, " z"], ground: Regolith) -> Scalar:
    return jnp.trapezoid(law(way, speed, ground), way) / (jnp.pi * RADIUS**2)
