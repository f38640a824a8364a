"""A bed at rest under one contact law, carried over to another one with the forces of its contacts. On the host."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import lsqr

from difsim.dem import AbstractGrainLaw, Grains
from difsim.dem.state import GrainsState
from difsim.dem.touching import effective
from difsim.typing import Scalar

ROUNDS = 3  # of Newton's method: the normals turn by an overlap over a diameter, 1e-3 or less
PRECISION = 1e-12  # of the linear equations


class _Contacts(eqx.Module):
    """Contacts [c] in order: the pairs of grains, then those at each wall.

    `first` and `second` grain, the same at a wall; effective `radius`, m; `depth`, m, negative without a contact, and
    -infinity for the room of a list; `normal` [3, c], out of the second grain or the wall.
    """

    first: Int[Array, " c"]
    second: Int[Array, " c"]
    radius: Float[Array, " c"]
    depth: Float[Array, " c"]
    normal: Float[Array, "3 c"]


def with_law(grains: Grains, state: GrainsState, law: AbstractGrainLaw) -> GrainsState:
    """The state of a bed in which contacts of another law carry the forces that they carry now.

    Each contact gets the depth at which `law` exerts its present elastic force, by the least displacement of the
    grains that does so. There is a solution where grains have fewer contacts than coordinates, as they have with
    friction; otherwise the depths are the nearest ones. Forces along the contacts stay, with the stiffness that
    springs of `law` have there. So the bed remains in equilibrium, and a stiffer law stores less elastic energy.

    **Arguments:** `grains`, with the law of the state and without clumps; `state`, at rest; `law`, the new one.
    **Returns:** the state.
    """
    before = _contacts(grains, state, state.position)
    wanted, stiffness = _carried(grains.law, law, before.radius, before.depth)
    touch, position = np.asarray(before.depth > 0), np.array(state.position)
    for _ in range(ROUNDS):
        now = _contacts(grains, state, jnp.asarray(position))
        matrix = _approaches(jax.tree.map(lambda x: np.asarray(x)[..., touch], now), position.shape[1])
        missing = np.asarray(wanted - now.depth)[touch]
        position += lsqr(matrix, missing, atol=PRECISION, btol=PRECISION)[0].reshape(position.shape)
    state = eqx.tree_at(lambda s: s.position, state, jnp.asarray(position))

    def springs(s):
        return [memory.stiffness for memory in (s.pairs.memory, *(at.memory for at in s.walls))]

    ends = np.cumsum([old.size for old in springs(state)])[:-1]
    parts = zip(springs(state), jnp.split(stiffness, ends), strict=True)
    # Contacts without a memory keep none: an entry that only fills up a list is no contact.
    return eqx.tree_at(springs, state, [jnp.where(old > 0, new, 0.0) for old, new in parts])


def _approaches(contacts: _Contacts, count: int) -> csr_matrix:
    """The change [c] of the depths by the displacements [3 count] of the grains, each axis after the other."""
    rows, axes = np.arange(contacts.first.size), range(3)
    pairs = contacts.first != contacts.second
    # A grain at a wall moves against what stays.
    values = [-contacts.normal[k] for k in axes] + [np.where(pairs, contacts.normal[k], 0.0) for k in axes]
    columns = [contacts.first + k * count for k in axes] + [contacts.second + k * count for k in axes]
    entries = np.concatenate(values), (np.tile(rows, 6), np.concatenate(columns))
    return csr_matrix(entries, shape=(rows.size, 3 * count))


@eqx.filter_jit
def _carried(
    old: AbstractGrainLaw, new: AbstractGrainLaw, radius: Float[Array, " c"], depth: Float[Array, " c"]
) -> tuple[Float[Array, " c"], Float[Array, " c"]]:
    """The depths m at which `new` exerts the elastic forces that `old` exerts, and the stiffness N/m along there."""

    def one(radius: Scalar, depth: Scalar) -> tuple[Scalar, Scalar]:
        elastic = new.elastic(radius)
        force = old.elastic(radius).force(jnp.maximum(depth, 0.0))
        wanted = (force / elastic.stiffness) ** (1 / elastic.exponent)
        return wanted, new.tangential(radius).stiffness(wanted)

    return jax.vmap(one)(radius, depth)


@eqx.filter_jit
def _contacts(grains: Grains, state: GrainsState, position: Float[Array, "3 n"]) -> _Contacts:
    first, second = state.pairs.first, state.pairs.second
    a, b = grains.radius[first], grains.radius[second]
    apart = position[:, first] - position[:, second]
    distance = jnp.sqrt(jnp.sum(apart**2, axis=0))
    groups = [_group(first, second, effective(a, b), a + b - distance, apart / distance[None], first != second)]
    for wall, at in zip(grains.walls, state.walls, strict=True):
        who = jnp.minimum(at.who, grains.radius.size - 1)
        radius, place = grains.radius[who], position[:, who]
        gap = jax.vmap(wall.distance, in_axes=1)(place)
        normal = jax.vmap(wall.normal, in_axes=1, out_axes=1)(place)
        groups.append(_group(who, who, radius, radius - gap, normal, at.who < grains.radius.size))
    return jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=-1), *groups)


def _group(first, second, radius, depth, normal, is_listed: Bool[Array, " c"]) -> _Contacts:
    return _Contacts(first, second, radius, jnp.where(is_listed, depth, -jnp.inf), normal)
