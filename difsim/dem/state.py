"""The motion of grains, the memory of their contacts, and the rates of both."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim.contact.friction import TangentialHistory
from difsim.typing import Scalar

PADDING = np.iinfo(np.int32).max  # room in a list of spheres: beyond all that there may be


class PairMemory(eqx.Module):
    """The memory of pairs: pair p is of the grains `first` [p] and `second` [p]; one grain with itself is none."""

    first: Int[Array, " p"]
    second: Int[Array, " p"]
    memory: TangentialHistory

    @classmethod
    def empty(cls, dtype: Any) -> "PairMemory":
        """The memory of grains that have not touched."""
        nobody = jnp.zeros(1, jnp.int32)
        return cls(nobody, nobody, TangentialHistory.zeros(1, dtype=dtype))


class WallMemory(eqx.Module):
    """The memory of spheres near a wall: entry q is of the sphere `who` [q]; `PADDING` is none."""

    who: Int[Array, " q"]
    memory: TangentialHistory

    @classmethod
    def empty(cls, dtype: Any) -> "WallMemory":
        """The memory of a wall that none has touched."""
        return cls(jnp.full(1, PADDING, jnp.int32), TangentialHistory.zeros(1, dtype=dtype))


class GrainsState(eqx.Module):
    """The state of n grains, of their contacts and of the clumps.

    `position`, m, `velocity`, m/s, and `spin`, rad/s, of the grains; the memory of `pairs` of spheres, and of each of
    the `walls`; the states of the `clumps`. Pebbles of clumps count as spheres after the grains.
    """

    position: Float[Array, "3 n"]
    velocity: Float[Array, "3 n"]
    spin: Float[Array, "3 n"]
    pairs: PairMemory
    walls: tuple[WallMemory, ...]
    clumps: tuple[Any, ...] = ()


class Rates(eqx.Module):
    """The rates of the velocities and spins of n grains, and the loads of the clumps.

    `velocity`, the acceleration, m/s²; `spin`, its rate, rad/s²; `clumps`, their loads; `depth` of the deepest
    contact, m; `too_deep`, the index of a sphere whose contact is too deep for any law, -1 where there is none; `late`,
    the power of dampers that the next step counts, W by name.
    """

    velocity: Float[Array, "3 n"]
    spin: Float[Array, "3 n"]
    clumps: tuple[Any, ...]
    depth: Scalar
    too_deep: Int[Array, ""]
    late: dict[str, Scalar]


class GrainsMotion(eqx.Module):
    """A state at a time s, its rates there, and the energies that have left it since the beginning, J by name."""

    time: Scalar
    state: GrainsState
    rates: Rates
    lost: dict[str, Scalar]
