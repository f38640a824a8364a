"""Beds of grains in the cache folder, with a bar while they settle, and a disc above one."""

from dataclasses import replace
from functools import cache

import jax.numpy as jnp
import numpy as np

from difsim.beds import BedSpecification
from difsim.beds.settling import Settling
from difsim.beds.specification import Bed
from difsim.body import RigidBody, RigidState
from difsim.dem import Clump, Grains
from difsim.dem.state import GrainsState
from difsim.mesh import cylinder
from difsim.session import CACHE
from difsim.shape.sub_spheres import fill_with_spheres
from inversion.progress import Bar

BEDS = CACHE / "beds"  # the folder of beds that were poured
VACANCY = 0.2  # of the sub-spheres of a disc
LEVEL = 1e3  # moment of inertia of a disc over that of a sphere of its size: it is guided


def settle(made: BedSpecification) -> Bed:
    """The bed at rest, made or from the cache.

    **Arguments:** `made`, its specification. **Returns:** the bed.
    """
    with Bar(f"{made.count} grains of {100 * float(made.sizes.mean):g} cm settle", 1.0) as bar:
        return made.bed(BEDS, bar.reach)


def relax(grains: Grains, state: GrainsState, gravity: float, pause: float, times: int) -> GrainsState:
    """A bed whose grains have changed, stopped and let go again and again.

    **Arguments:** `grains`, as they are now; `state`, at rest before; `gravity`, m/s²; `pause` between, s; `times`,
    how often. **Returns:** the state.
    """
    run = Settling.from_loose(grains, state, 1.0)
    for _ in range(times):
        run.set_gravity(gravity)
        run.advance(pause)
    return run.state


@cache
def build_disc(mass: float, radius: float, thickness: float) -> Clump:
    """A disc as sub-spheres, which hardly turns. **Arguments:** `mass`, kg; `radius` and `thickness`, m."""
    filling = fill_with_spheres(cylinder(radius, thickness), VACANCY)
    return Clump(RigidBody(mass, LEVEL * mass * radius**2 * np.eye(3)), filling.centre, filling.radius)


def place_disc(
    bed: Bed,
    disc: Clump,
    radius: float,
    thickness: float,
    speed: float,
    gravity: float,
    place: tuple[float, float] = (0.0, 0.0),
) -> tuple[Grains, GrainsState]:
    """A bed with a disc that touches the highest grain below it, and comes down.

    **Arguments:** `bed`; `disc` of `radius` and `thickness`, m; `speed`, m/s; `gravity`, m/s²; `place` m, from the
    bed's axis. **Returns:** the model, and the state at touch.
    """
    at = np.asarray(bed.state.position)
    below = np.hypot(at[0] - place[0], at[1] - place[1]) < radius
    lower = float((at[2] + np.asarray(bed.grains.radius))[below].max())
    begin = RigidState(
        (*place, lower + 0.5 * thickness), (0.0, 0.0, -speed), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    )
    model = replace(bed.grains, gravity=jnp.array([0.0, 0.0, -gravity]), clumps=(disc,), clump_laws=(None,))
    return model, model.with_clumps(bed.state, (begin,))
