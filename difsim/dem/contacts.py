"""All contacts of grains at once: between spheres, and at walls; how they push, and what they store."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim import safe
from difsim.dem.laws import AbstractGrainLaw
from difsim.dem.near import Near
from difsim.dem.state import Touching
from difsim.dem.touching import Grain, Shear, at_wall, between, effective, met
from difsim.particles import pair_map
from difsim.shape import AbstractSDF
from difsim.typing import Scalar


class Pushes(eqx.Module):
    """Force N and moment N m on each of m spheres; `depth` m of the deepest contact, and the largest `overlap`: a
    contact's depth over the smaller radius, of the sphere `deepest`."""

    force: Float[Array, "3 m"]
    moment: Float[Array, "3 m"]
    depth: Scalar
    overlap: Scalar
    deepest: Int[Array, ""]

    def __add__(self, other: "Pushes") -> "Pushes":
        return Pushes(
            self.force + other.force,
            self.moment + other.moment,
            jnp.maximum(self.depth, other.depth),
            jnp.maximum(self.overlap, other.overlap),
            jnp.where(other.overlap > self.overlap, other.deepest, self.deepest),
        )


def by_pairs(law: AbstractGrainLaw, spheres: Grain, pairs: Touching, dt: Scalar) -> tuple[Pushes, Shear]:
    """How spheres push each other, and what their pairs remember `dt` s later."""
    first, second = pairs.first, pairs.second

    def push(a, b, own):
        memory, itself = own
        return between(law, a, b, memory, dt, itself)

    push = pair_map(push, spheres, (pairs.memory, first == second), first, second)
    none, k = jnp.zeros_like(spheres.position), jnp.argmax(push.overlap)
    force = none.at[:, first].add(push.force).at[:, second].add(-push.force)
    moment = none.at[:, first].add(push.moment).at[:, second].add(push.other_moment)
    return Pushes(force, moment, jnp.max(push.depth, initial=0.0), push.overlap[k], first[k]), push.memory


def by_walls(
    law: AbstractGrainLaw,
    spheres: Grain,
    walls: tuple[AbstractSDF, ...],
    near: Near,
    memories: tuple[Shear, ...],
    dt: Scalar,
) -> tuple[Pushes, tuple[Shear, ...]]:
    """How walls push spheres, and what these remember of each: all near any wall together, as one program."""
    met = []
    for wall, who, memory in zip(walls, near.at_walls, memories, strict=True):
        place = _of(spheres.position, who)
        away = jax.vmap(wall.distance, in_axes=1)(place), jax.vmap(wall.normal, in_axes=1, out_axes=1)(place)
        met.append((who, *away, _of(memory, who)))
    who, gap, normal, memory = jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=-1), *met)
    push = _at_wall(law, _of(spheres, who), gap, normal, memory, dt)
    none, inside = jnp.zeros_like(spheres.position), who < spheres.radius.shape[0]
    overlap = jnp.where(inside, push.overlap, 0.0)
    k, depth = jnp.argmax(overlap), jnp.max(push.depth, initial=0.0, where=inside)
    pushes = Pushes(none.at[:, who].add(push.force), none.at[:, who].add(push.moment), depth, overlap[k], who[k])
    return pushes, _told(memories, near.at_walls, push.memory)


def stored(
    law: AbstractGrainLaw,
    spheres: Grain,
    pairs: Touching,
    walls: tuple[AbstractSDF, ...],
    memories: tuple[Shear, ...],
) -> dict[str, Scalar]:
    """J, in contacts across (`elastic`) and along (`tangential`), and negative in what attracts (`cohesive`)."""
    a, b = _of(spheres, pairs.first), _of(spheres, pairs.second)
    real = pairs.first != pairs.second
    contacts = [(effective(a.radius, b.radius), _met(a, b, ~real)[1])]
    away = (jax.vmap(wall.distance, in_axes=1)(spheres.position) for wall in walls)
    contacts += [(spheres.radius, spheres.radius - gap) for gap in away]
    # Room in the list is told as a grain with itself, which an attraction of a long range would count.
    counted = real, *(True for _ in walls)
    held = (
        jnp.sum(jax.vmap(c.energy)(-depth), where=at)
        for c in law.cohesion
        for (_, depth), at in zip(contacts, counted, strict=True)
    )
    along = (
        jnp.sum(safe.divide(0.5 * jnp.sum(m.force**2, axis=0), m.stiffness)) for m in (pairs.memory, *memories)
    )
    return {
        "elastic": sum(jnp.sum(jax.vmap(law.stored)(*contact)) for contact in contacts),
        "tangential": sum(along),
        "cohesive": sum(held, jnp.zeros_like(law.friction)),
    }


def remembered(pairs: Touching, near: Near) -> Touching:
    """The pairs of a list, and what these remember of the `pairs` that there were."""
    found = near.pairs.carried(pairs.first, pairs.second)
    memory = jax.tree.map(lambda x: jnp.where(found >= 0, x[..., found], 0.0), pairs.memory)
    return Touching(near.pairs.first, near.pairs.second, memory)


_at_wall = jax.vmap(at_wall, in_axes=(None, -1, -1, -1, -1, None), out_axes=-1)
_met = jax.vmap(met, in_axes=-1, out_axes=-1)


def _of(many: Any, who: Int[Array, " q"]) -> Any:
    # Room that is left in a list names grain n.
    return jax.tree.map(lambda x: x.at[..., who].get(mode="clip"), many)


def _told(walls: tuple[Shear, ...], at_walls: tuple[Int[Array, " _"], ...], now: Shear) -> tuple[Shear, ...]:
    """What walls remember, with what those at them remember `now`, one wall after the other."""
    ends = np.cumsum([who.size for who in at_walls])[:-1]
    parts = zip(*(jnp.split(x, ends, axis=-1) for x in (now.force, now.stiffness)), strict=True)
    return tuple(
        Shear(old.force.at[:, who].set(force), old.stiffness.at[who].set(stiffness))
        for old, who, (force, stiffness) in zip(walls, at_walls, parts, strict=True)
    )
