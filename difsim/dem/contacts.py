"""All contacts of grains at once, between spheres and at walls: forces, memories and stored energy."""

from functools import reduce
from operator import add
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim import safe
from difsim.contact.friction import TangentialHistory
from difsim.dem.losses import ContactLosses
from difsim.dem.materials import DampedLaw, choose_law
from difsim.dem.near import wall_mask
from difsim.dem.state import PADDING, PairMemory, WallMemory
from difsim.dem.touching import Grain, closest_point, effective, pair_force, wall_force
from difsim.particles.entries import Rows, gather, totals
from difsim.particles.mapped import pair_map
from difsim.particles.pairs import Pairs
from difsim.shape import AbstractSDF
from difsim.typing import Scalar

TOO_DEEP = 0.5  # of the smaller radius: far past the small strains of any contact's law


class ContactForces(eqx.Module):
    """The contact forces on m spheres.

    `wrench` [6, m]: the force, N, and the moment, N m; `depth` of the deepest contact, m; `too_deep`, the index of a
    sphere whose contact is too deep for any law, -1 where there is none; `lost`, the energies of
    `ContactLosses`, if they are counted.
    """

    wrench: Float[Array, "6 m"]
    depth: Scalar
    too_deep: Int[Array, ""]
    lost: dict[str, Scalar]

    @property
    def force(self) -> Float[Array, "3 m"]:
        """N."""
        return self.wrench[:3]

    @property
    def moment(self) -> Float[Array, "3 m"]:
        """N m."""
        return self.wrench[3:]


def pair_forces(
    laws: DampedLaw,
    losses: ContactLosses | None,
    spheres: Grain,
    memory: TangentialHistory,
    ends: tuple[Rows, Rows],
    which: Int[Array, " p"] | None,
    dt: Scalar,
) -> tuple[ContactForces, TangentialHistory]:
    """The forces of spheres on each other, and the memory of their pairs `dt` s later.

    **Arguments:** `laws`; `losses`, the account of them; `spheres`; `memory` of the pairs; `ends`, their first and
    second spheres; `which` law of a table each pair has; `dt`, s. **Returns:** both.
    """
    first, second = (s.who for s in ends)

    def contact(a, b, own):
        memory, itself, index = own
        return pair_force(choose_law(laws, index), losses, a, b, memory, dt, itself)

    made = pair_map(contact, spheres, (memory, first == second, which), ends)
    wrench = totals(ends, (made.on_first, made.on_second))
    depth = jnp.max(made.depth, initial=0.0)
    return ContactForces(
        wrench, depth, _find_too_deep(made.overlap, first), jax.tree.map(jnp.sum, made.lost)
    ), made.memory


def wall_forces(
    laws: DampedLaw,
    losses: ContactLosses | None,
    spheres: Grain,
    walls: tuple[AbstractSDF, ...],
    touched: tuple[WallMemory, ...],
    rows: Rows,
    which: tuple[int, ...] | None,
    dt: Scalar,
    others: ContactForces,
) -> tuple[ContactForces, tuple[WallMemory, ...]]:
    """The forces of walls on spheres, and the memory of each contact: all near any wall together, as one program.

    **Arguments:** `laws`; `losses`; `spheres`; `walls`; `touched`, who is near each, and `rows`, the same of all walls
    one after the other; `which` law of a table each wall has; `dt`, s; `others`, the forces of other contacts.
    **Returns:** all forces, and the memories.
    """
    (near,) = gather((rows,), spheres)
    ends = np.cumsum([at.who.size for at in touched])[:-1]
    those = []
    for wall, at, place in zip(walls, touched, jnp.split(near.position, ends, axis=-1), strict=True):
        distance = jax.vmap(wall.distance, in_axes=1)(place)
        those.append((distance, jax.vmap(wall.normal, in_axes=1, out_axes=1)(place), at.memory))
    distance, normal, memory = jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=-1), *those)
    depth, normal = (x.astype(spheres.radius.dtype) for x in (near.radius - distance, normal))
    index = None if which is None else np.repeat(which, [at.who.size for at in touched])
    made = _at_wall(laws, losses, index, near, depth, normal, memory, dt)
    who, inside = rows.who, rows.who != PADDING
    depth = jnp.max(made.depth, initial=0.0, where=inside)
    too_deep = _find_too_deep(jnp.where(inside, made.overlap, 0.0), who)
    forces = ContactForces(
        totals((rows,), (made.on_first,), others=others.wrench),
        jnp.maximum(others.depth, depth),
        jnp.maximum(others.too_deep, too_deep),
        jax.tree.map(lambda other, x: other + jnp.sum(x, where=inside), others.lost, made.lost),
    )
    known = (jnp.where(inside, x, 0.0) for x in (made.memory.force, made.memory.stiffness))
    parts = zip(*(jnp.split(x, ends, axis=-1) for x in known), strict=True)
    return forces, tuple(
        WallMemory(at.who, TangentialHistory(*part)) for at, part in zip(touched, parts, strict=True)
    )


def stored_energies(
    laws: DampedLaw,
    spheres: Grain,
    pairs: PairMemory,
    walls: tuple[AbstractSDF, ...],
    touched: tuple[WallMemory, ...],
    bodies: int,
    which: tuple[Int[Array, " p"] | None, tuple[int, ...] | None],
) -> dict[str, Scalar]:
    """Energy J in contacts across (`elastic`) and along (`tangential`), negative in attractions (`cohesive`).

    **Arguments:** `laws`; `spheres`, of which the last `bodies` are parts of bodies; `pairs`; `walls`; `touched`;
    `which` law of a table each pair has, and each wall. **Returns:** the three.
    """
    a, b = _select(spheres, pairs.first), _select(spheres, pairs.second)
    real = pairs.first != pairs.second
    by_pair, by_wall = which
    across = _across(laws, by_pair, effective(a.radius, b.radius), _met(a, b, ~real)[1])
    each = [jax.tree.map(lambda x: jnp.sum(x, where=real), across)]
    for i, wall in enumerate(walls):
        depth = spheres.radius - jax.vmap(wall.distance, in_axes=1)(spheres.position)
        index = None if by_wall is None else np.full(depth.size, by_wall[i])
        across, at = _across(laws, index, spheres.radius, depth), wall_mask(wall, depth.size, bodies)
        each.append(jax.tree.map(lambda x: jnp.sum(x, where=at), across))  # noqa: B023
    elastic, cohesive = (reduce(add, part) for part in zip(*each, strict=True))
    memories = (at.memory for at in (pairs, *touched))
    along = (jnp.sum(safe.divide(0.5 * jnp.sum(m.force**2, axis=0), m.stiffness)) for m in memories)
    return {"elastic": elastic, "tangential": reduce(add, along), "cohesive": cohesive}


def _normal_energy(laws, index, radius, depth):
    """Energy J of one contact: elastic, and of its attractions."""
    law = choose_law(laws, index)
    return law.stored_energy(radius, depth), sum((c.energy(-depth) for c in law.cohesion), jnp.zeros_like(depth))


_across = jax.vmap(_normal_energy, in_axes=(None, 0, 0, 0))


def remap_pairs(pairs: PairMemory, listed: Pairs) -> PairMemory:
    """The pairs of a list, with the memories of the `pairs` that there were."""
    found = listed.match(pairs.first, pairs.second)
    memory = jax.tree.map(lambda x: jnp.where(found >= 0, x[..., found], 0.0), pairs.memory)
    return PairMemory(listed.first, listed.second, memory)


def remap_walls(
    walls: tuple[WallMemory, ...], listed: tuple[Int[Array, " _"], ...], count: int
) -> tuple[WallMemory, ...]:
    """The spheres (of `count`) listed at each wall, with the memories from when there were others."""

    def look_up(old, who):
        def carry(x):
            # Added, not set: states of a run are filled up with entries of sphere 0 that remember nothing.
            every = jnp.zeros((*x.shape[:-1], count), x.dtype).at[..., old.who].add(x)
            return every.at[..., who].get(mode="fill", fill_value=0.0)

        return WallMemory(who, jax.tree.map(carry, old.memory))

    return tuple(look_up(old, who) for old, who in zip(walls, listed, strict=True))


def _wall_force(laws, losses, index, *contact):
    return wall_force(choose_law(laws, index), losses, *contact)


_at_wall = jax.vmap(_wall_force, in_axes=(None, None, -1, -1, -1, -1, -1, None), out_axes=-1)
_met = jax.vmap(closest_point, in_axes=-1, out_axes=-1)


def _find_too_deep(overlap: Float[Array, " p"], who: Int[Array, " p"]) -> Int[Array, ""]:
    """A sphere whose contact is too deep for any law; -1 where there is none."""
    return jnp.max(jnp.where(overlap > TOO_DEEP, who, -1))


def _select(many: Any, who: Int[Array, " q"]) -> Any:
    return jax.tree.map(lambda x: x.at[..., who].get(mode="clip"), many)
