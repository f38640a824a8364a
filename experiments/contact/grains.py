"""Dry grains as the ground of a contact: a bed that is poured, kept, and hit by a body of sub-spheres."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import numpy as np

from difsim import Courant, allocate, run
from difsim.beds import BedSpecification, CylindricalContainer, GaussianSizes
from difsim.declarations import quantity
from difsim.dem import HertzMindlin
from difsim.typing import Scalar
from experiments.beds import build_guided, place_clump, settle
from experiments.contact.throws import Thrown, Track

POUR, RESTS = 1.0, 1e-3  # m/s², at least, while grains are poured and at rest: in less it takes ten times as long
COURANT, SKIN, ROOM = 0.7, 0.1, 1.5


class GrainBed(eqx.Module):
    """Spheres of the law of Hertz and Mindlin in a cylinder. Their diameters scatter by a tenth."""

    grain_diameter: Scalar = quantity("m", "mean diameter", gt=0, usual=(1e-5, 1), slip="mm")
    friction: Scalar = quantity("", "friction of grains while the body goes in", ge=0, usual=(0, 2))
    poured_friction: Scalar = quantity(
        "", "friction while they are poured, which makes them loose", ge=0, usual=(0, 2)
    )
    grain_modulus: Scalar = quantity("Pa", "Young's modulus of grains", gt=0, usual=(1e4, 1e12), slip="MPa")
    bed_width: Scalar = quantity("m", "diameter of the bed", gt=0, usual=(1e-2, 100), slip="cm")
    bed_depth: Scalar = quantity("m", "depth of the bed", gt=0, usual=(1e-2, 10), slip="cm")
    grain_density: Scalar = quantity("kg/m³", "density of a grain", gt=0, usual=(100, 1e4), default=2500.0)
    grain_restitution: Scalar = quantity("", "restitution of grains", gt=0, le=1, default=0.5)
    poisson: Scalar = quantity("", "Poisson's ratio of grains", gt=-1, lt=0.5, default=0.25)

    def specify(self, gravity: float) -> BedSpecification:
        """The specification of the bed. **Arguments:** `gravity`, m/s². **Returns:** the specification."""
        law = HertzMindlin(self.grain_modulus, self.poisson, self.grain_restitution, self.poured_friction)
        sizes = GaussianSizes(self.grain_diameter, 0.1 * self.grain_diameter)
        container = CylindricalContainer(self.bed_width)
        rest = max(gravity, RESTS)
        return BedSpecification(law, sizes, self.grain_density, container, self.bed_depth, rest, max(rest, POUR))

    def throw(self, body: Thrown, times: np.ndarray, place: np.ndarray, lists: dict[Any, Any]) -> Track:
        """The path of a body from its touch of the first grain on, by its depth below the mean surface.

        **Arguments:** `body`; `times`, s; `place` [2] of the body's axis, in grains from that of the bed; `lists` of
        neighbours of earlier throws, with which nothing is compiled again. **Returns:** the path, to the first
        look after the stop.
        """
        bed = settle(self.specify(body.gravity))
        centre, radius = (body.radius * x for x in body.solid.pebbles)
        clump = build_guided(body.mass, body.radius, centre, radius)
        ground = replace(bed.grains, law=replace(bed.grains.law, friction=self.friction))
        across = np.asarray(place) * float(self.grain_diameter)
        at = np.asarray(bed.state.position)
        height = find_touch(at, np.asarray(ground.radius), centre + np.append(across, 0.0), radius)
        grains, state = place_clump(ground, bed.state, clump, (*across, height), body.speed, body.gravity)
        # A list is of one size of each sphere, in one drum.
        key = float(self.grain_diameter), float(self.bed_width), body.radius, at.size, len(radius)
        if key not in lists:
            lists[key] = allocate(grains, state, SKIN, ROOM)
        solver = Courant(COURANT, neighbours=lists[key])
        path = run(
            grains,
            state,
            times,
            solver=solver,
            save=lambda s: s.clumps[0],
            until=lambda now: now.velocity[2] >= 0,
            throw=False,  # such a path ends early, as one that does not stop
        )
        low = np.asarray(path.states.position[:, 2]) + body.radius * body.solid.low
        return np.stack(
            [np.asarray(path.times), bed.figures.height - low, -np.asarray(path.states.velocity[:, 2])]
        )


def find_touch(grains: np.ndarray, grain_radius: np.ndarray, centre: np.ndarray, radius: np.ndarray) -> float:
    """The way up, m, after which a body of sub-spheres touches the highest grain below it.

    **Arguments:** `grains` [3, n] m, their `grain_radius` [n] m; `centre` [p, 3] m and `radius` [p] m of the
    sub-spheres. **Returns:** the height.
    """
    heights = []
    for c, r in zip(centre, radius, strict=True):
        reach, aside = (grain_radius + r) ** 2, np.sum((grains[:2] - c[:2, None]) ** 2, axis=0)
        under = aside < reach
        heights.append(np.max(grains[2, under] + np.sqrt((reach - aside)[under]), initial=-np.inf) - c[2])
    return float(max(heights))
