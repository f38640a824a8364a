"""Philae above beds of grains, with the boulder: the touchdown of the reduced law, its sole's law taken away.

The frame is the local surface frame; the beds' mean surface is at z = 0, and so is the rock around them.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.spatial.distance import pdist

from difsim.beds.specification import Bed
from difsim.dem import Grains, GrainWall, LeggedClump
from difsim.dem.state import PADDING, GrainsState, PairMemory, WallMemory
from difsim.dynamics import Touchdown
from difsim.dynamics.touchdown_state import TouchdownState
from difsim.mesh import box
from difsim.shape import AbstractSDF, Complement, Cylinder, Plane, Posed, Prism, Union
from experiments.agilkia.scenario import Experiment

UP = (0.0, 0.0, 1.0)
AHEAD = 0.05  # m along its way that a bed lies before the place where a foot would come down


class Scene(eqx.Module):
    """Grains with the lander among them as the only clump, their state at the start, and the boulder alone."""

    grains: Grains
    state: GrainsState
    boulder: AbstractSDF

    @property
    def lander(self) -> LeggedClump:
        return self.grains.clumps[0]


def build(known: Experiment, values: dict[str, float], sub_spheres: dict[str, Any], bed: Bed, drum: bool) -> Scene:
    """The lander of `known` at the start, over one bed under each foot, or over one for all (`drum`).

    **Arguments:** `values` of the unknowns: where and how the boulder lies, attitude, heading; those of the soil
    are the bed's. `sub_spheres`: the table of a lander file. **Raises:** ValueError for a lander without a hull, a
    drum that is too narrow, or feet so near each other that their beds would be in one place.
    """
    if known.lander.hull is None:
        raise ValueError("[lander] lacks hull_m, the surface that sub-spheres fill")
    model, start = known.build({name: jnp.asarray(x, float) for name, x in values.items()})
    lander = LeggedClump.from_lander(
        model.lander,
        box(model.lander.hull.size.tolist()),
        sub_spheres["leg_mass_kg"],
        sub_spheres["strut_radius_m"],
    )
    at_start = lander.move_rigidly(start.body)
    radius = float(bed.grains.walls[1].sdf.radius)
    landings = _landings(model, start)
    places = np.zeros((1, 2)) if drum else landings
    reach = np.linalg.norm(landings, axis=1).max() + 2 * float(model.lander.footpad_radius)
    if drum and radius < reach:
        raise ValueError(f"a drum of radius {radius:.3g} m is too narrow for feet that reach {reach:.3g} m")
    if not drum and (nearest := pdist(landings).min(initial=np.inf)) < 2 * radius:
        raise ValueError(f"feet {nearest:.3g} m apart are too near for beds of {2 * radius:.3g} m: try --bed drum")
    radii, ground, rock = beds(bed, places, radius)
    clear = float(jnp.max(ground.position[2] + radii))
    stone = boulder(model, clear)
    floor = Plane((0.0, 0.0, -bed.figures.height), UP)
    gravity = model.gravity.acceleration(start.body.position)
    # A fence: the ground goes on around a bed, and legs that lie on its rim would be held up.
    walls = floor, GrainWall(rock), stone
    # The lander counts as of the grains' material: no measurement tells a footpad's friction on this ground.
    grains = Grains(bed.grains.law, radii, bed.grains.density, gravity, walls, (lander,), clump_laws=(None,))
    untouched = WallMemory.empty(ground.position.dtype)
    ground = eqx.tree_at(lambda s: s.walls, ground, (*ground.walls, untouched))
    return Scene(grains, grains.with_clumps(ground, (at_start,)), stone)


def beds(
    bed: Bed, places: Float[np.ndarray, "k 2"], radius: float
) -> tuple[Float[Array, " m"], GrainsState, AbstractSDF]:
    """The bed once around each of `places` m: radii and state of all grains, and the rock that holds them."""
    count, n, state = len(places), bed.grains.radius.size, bed.state
    shift = np.concatenate([places.T, np.full((1, count), -bed.figures.height)])

    def pour_all(x):
        return jnp.tile(x, (1,) * (x.ndim - 1) + (count,))

    def pour_one(who):
        there = pour_all(who) + jnp.repeat(n * jnp.arange(count, dtype=who.dtype), who.size)
        return jnp.where(pour_all(who) < n, there, PADDING)

    # Pairs without the room of their list, which belongs at the end of all.
    pairs = jax.tree.map(lambda x: x[..., np.asarray(state.pairs.first != state.pairs.second)], state.pairs)
    pairs = PairMemory(pour_one(pairs.first), pour_one(pairs.second), jax.tree.map(pour_all, pairs.memory))
    walls = tuple(WallMemory(pour_one(at.who), jax.tree.map(pour_all, at.memory)) for at in state.walls)
    position = pour_all(state.position) + jnp.repeat(jnp.asarray(shift), n, axis=1)
    all_of_them = GrainsState(position, pour_all(state.velocity), pour_all(state.spin), pairs, walls)
    above = Complement(Plane((0.0, 0.0, 0.0), UP))
    holes = (Posed(Cylinder(radius), (*place, 0.0), np.eye(3)) for place in places)
    return pour_all(bed.grains.radius), all_of_them, Complement(Union((above, *holes)))


def boulder(model: Touchdown, clear: float) -> AbstractSDF:
    """The prism whose upper edge the strut meets, from `clear` m up: below it would stand in the grains.

    In scenario a it lies on the body's side of the edge, in b on the sole's.
    """
    edge, along = np.asarray(model.boulder.edge_point), np.asarray(model.boulder.edge_direction)
    out = np.cross(along, UP)
    out *= np.sign(out @ edge) * (1 if model.scenario < 0.5 else -1)
    size = 2 * float(model.boulder.half_length)
    corner = (edge - size / np.sqrt(12) * out)[:2]
    turned = np.stack([np.cross(-out, UP), -out, UP], axis=1)
    return Posed(Prism(size, float(edge[2]) - clear), (*corner, clear), turned)


def _landings(model: Touchdown, start: TouchdownState) -> Float[np.ndarray, "n 2"]:
    """Where the feet would come down on z = 0, and a little further on."""
    body = start.body
    feet = np.asarray(jax.vmap(body.point)(model.lander.feet))
    velocity = np.asarray(body.velocity)
    fall = feet[:, 2:] / -velocity[2]
    speed = np.linalg.norm(velocity[:2])
    ahead = AHEAD * velocity[:2] / speed if speed > 0 else 0.0
    return feet[:, :2] + fall * velocity[:2] + ahead
