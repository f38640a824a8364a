"""All contacts of grains at once: between spheres, and at walls; how they push, and what they store."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim import safe
from difsim.dem.laws import AbstractGrainLaw
from difsim.dem.near import felt
from difsim.dem.state import PairMemory, WallMemory
from difsim.dem.touching import Grain, Shear, at_wall, between, effective, met
from difsim.particles import Pairs, pair_map
from difsim.shape import AbstractSDF
from difsim.typing import Scalar

TOO_DEEP = 0.5  # of the smaller radius: far past the small strains of any contact's law


class ContactForces(eqx.Module):
    """Force N and moment N m on each of m spheres; `depth` m of the deepest contact, and a sphere whose contact is
    `too_deep` for any law, -1 where there is none."""

    force: Float[Array, "3 m"]
    moment: Float[Array, "3 m"]
    depth: Scalar
    too_deep: Int[Array, ""]

    def __add__(self, other: "ContactForces") -> "Pushes":
        return ContactForces(
            self.force + other.force,
            self.moment + other.moment,
            jnp.maximum(self.depth, other.depth),
            jnp.maximum(self.too_deep, other.too_deep),
        )


def by_pairs(law: AbstractGrainLaw, spheres: Grain, pairs: PairMemory, dt: Scalar) -> tuple[ContactForces, Shear]:
    """How spheres push each other, and what their pairs remember `dt` s later."""
    first, second = pairs.first, pairs.second

    def push(a, b, own):
        memory, itself = own
        return between(law, a, b, memory, dt, itself)

    push = pair_map(push, spheres, (pairs.memory, first == second), first, second)
    none = jnp.zeros_like(spheres.position)
    force = none.at[:, first].add(push.force).at[:, second].add(-push.force)
    moment = none.at[:, first].add(push.moment).at[:, second].add(push.other_moment)
    depth = jnp.max(push.depth, initial=0.0)
    return ContactForces(force, moment, depth, _too_deep(push.overlap, first)), push.memory


def by_walls(
    law: AbstractGrainLaw,
    spheres: Grain,
    walls: tuple[AbstractSDF, ...],
    touched: tuple[WallMemory, ...],
    dt: Scalar,
) -> tuple[ContactForces, tuple[WallMemory, ...]]:
    """How walls push spheres, and what these remember of each: all near any wall together, as one program."""
    those = []
    for wall, at in zip(walls, touched, strict=True):
        place = _of(spheres.position, at.who)
        away = jax.vmap(wall.distance, in_axes=1)(place), jax.vmap(wall.normal, in_axes=1, out_axes=1)(place)
        those.append((at.who, *away, at.memory))
    who, gap, normal, memory = jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=-1), *those)
    push = _at_wall(law, _of(spheres, who), gap, normal, memory, dt)
    none, inside = jnp.zeros_like(spheres.position), who < spheres.radius.shape[0]
    depth = jnp.max(push.depth, initial=0.0, where=inside)
    too_deep = _too_deep(jnp.where(inside, push.overlap, 0.0), who)
    pushes = ContactForces(none.at[:, who].add(push.force), none.at[:, who].add(push.moment), depth, too_deep)
    ends = np.cumsum([at.who.size for at in touched])[:-1]
    told = (jnp.where(inside, x, 0.0) for x in (push.memory.force, push.memory.stiffness))
    parts = zip(*(jnp.split(x, ends, axis=-1) for x in told), strict=True)
    return pushes, tuple(WallMemory(at.who, Shear(*part)) for at, part in zip(touched, parts, strict=True))


def stored(
    law: AbstractGrainLaw,
    spheres: Grain,
    pairs: PairMemory,
    walls: tuple[AbstractSDF, ...],
    touched: tuple[WallMemory, ...],
    bodies: int,
) -> dict[str, Scalar]:
    """J, in contacts across (`elastic`) and along (`tangential`), and negative in what attracts (`cohesive`); the
    last `bodies` spheres are parts of bodies."""
    a, b = _of(spheres, pairs.first), _of(spheres, pairs.second)
    real = pairs.first != pairs.second
    contacts = [(effective(a.radius, b.radius), _met(a, b, ~real)[1])]
    away = (jax.vmap(wall.distance, in_axes=1)(spheres.position) for wall in walls)
    contacts += [(spheres.radius, spheres.radius - gap) for gap in away]
    # Room in the list is told as a grain with itself, which an attraction of a long range would count.
    counted = real, *(felt(wall, spheres.radius.size, bodies) for wall in walls)
    held = (
        jnp.sum(jax.vmap(c.energy)(-depth), where=at)
        for c in law.cohesion
        for (_, depth), at in zip(contacts, counted, strict=True)
    )
    memories = (at.memory for at in (pairs, *touched))
    along = (jnp.sum(safe.divide(0.5 * jnp.sum(m.force**2, axis=0), m.stiffness)) for m in memories)
    each = zip(contacts, counted, strict=True)
    across = (jnp.sum(jax.vmap(law.stored)(*contact), where=at) for contact, at in each)
    return {
        "elastic": sum(across),
        "tangential": sum(along),
        "cohesive": sum(held, jnp.zeros_like(law.friction)),
    }


def remembered_by_pairs(pairs: PairMemory, listed: Pairs) -> PairMemory:
    """The pairs of a list, and what these remember of the `pairs` that there were."""
    found = listed.carried(pairs.first, pairs.second)
    memory = jax.tree.map(lambda x: jnp.where(found >= 0, x[..., found], 0.0), pairs.memory)
    return PairMemory(listed.first, listed.second, memory)


def remembered_by_walls(
    walls: tuple[WallMemory, ...], listed: tuple[Int[Array, " _"], ...], count: int
) -> tuple[WallMemory, ...]:
    """Who of `count` spheres is listed at each wall, and what these remember of it from when there were others."""

    def at(old, who):
        def carried(x):
            # Added, not set: states of a run are filled up with entries of sphere 0 that remember nothing.
            every = jnp.zeros((*x.shape[:-1], count), x.dtype).at[..., old.who].add(x)
            return every.at[..., who].get(mode="fill", fill_value=0.0)

        return WallMemory(who, jax.tree.map(carried, old.memory))

    return tuple(at(old, who) for old, who in zip(walls, listed, strict=True))


_at_wall = jax.vmap(at_wall, in_axes=(None, -1, -1, -1, -1, None), out_axes=-1)
_met = jax.vmap(met, in_axes=-1, out_axes=-1)


def _too_deep(overlap: Float[Array, " p"], who: Int[Array, " p"]) -> Int[Array, ""]:
    """Whose contact is deepest, if by more than any law is for; -1 otherwise."""
    # To look for it takes ten times as long as for the maximum, and a sound run asks for none.
    found = jnp.max(overlap) > TOO_DEEP
    return jax.lax.cond(found, lambda: who[jnp.argmax(overlap)], lambda: jnp.full_like(who[0], -1))


def _of(many: Any, who: Int[Array, " q"]) -> Any:
    return jax.tree.map(lambda x: x.at[..., who].get(mode="clip"), many)
