"""Beds of grains in the cache folder, with a bar while they settle, and a body that falls onto one."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.beds import BedSpecification
from difsim.beds.settling import Settling
from difsim.beds.specification import Bed
from difsim.body import RigidBody, RigidState
from difsim.dem import Clump, Grains
from difsim.dem.state import GrainsState
from difsim.session import CACHE
from inversion.progress import Bar

BEDS = CACHE / "beds"  # the folder of beds that were poured
VACANCY = 0.2  # of the sub-spheres of a body
LEVEL = 1e3  # moment of inertia of a guided body over that of a sphere of its size


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


def build_guided(
    mass: float, size: float, centre: Float[np.ndarray, "p 3"], radius: Float[np.ndarray, " p"]
) -> Clump:
    """A body of sub-spheres which hardly turns. **Arguments:** `mass`, kg; `size`, `centre` and `radius`, m."""
    return Clump(RigidBody(mass, LEVEL * mass * size**2 * np.eye(3)), centre, radius)


def falling_state(at: Float[Array, "3"], speed: Any) -> RigidState:
    return RigidState(at, jnp.array([0.0, 0.0, -1.0]) * speed, (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def place_clump(
    grains: Grains, bed: GrainsState, clump: Clump, at: Any, speed: float, gravity: float
) -> tuple[Grains, GrainsState]:
    """A bed with a body above it, which falls.

    **Arguments:** `grains` and the state of their `bed`; `clump`, the body; `at`, m, its centre; `speed`, m/s;
    `gravity`, m/s². **Returns:** the model, and its state.
    """
    down = jnp.array([0.0, 0.0, -gravity])
    model = replace(grains, gravity=down, clumps=(clump,), clump_laws=(None,))
    return model, model.with_clumps(bed, (falling_state(jnp.asarray(at), speed),))
