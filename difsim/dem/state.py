"""How grains move, what their contacts remember, and what changes both."""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Int

from difsim.dem.touching import Shear
from difsim.typing import Scalar


class Touching(eqx.Module):
    """What pairs remember: pair p is of the grains `first` [p] and `second` [p]; one grain with itself is none."""

    first: Int[Array, " p"]
    second: Int[Array, " p"]
    memory: Shear


class GrainsState(eqx.Module):
    """Position m, velocity m/s and spin rad/s of n grains, what pairs of spheres remember, what they remember of
    each wall, and how the clumps move. Pebbles of clumps count as spheres after the grains."""

    position: Float[Array, "3 n"]
    velocity: Float[Array, "3 n"]
    spin: Float[Array, "3 n"]
    pairs: Touching
    walls: tuple[Shear, ...]
    clumps: tuple[Any, ...] = ()


class Rates(eqx.Module):
    """Acceleration m/s² and spin's rate rad/s² of n grains; what loads the clumps; `depth` m of the deepest
    contact, and the largest `overlap`: a contact's depth over the smaller radius, of the sphere `deepest`."""

    velocity: Float[Array, "3 n"]
    spin: Float[Array, "3 n"]
    clumps: tuple[Any, ...]
    depth: Scalar
    overlap: Scalar
    deepest: Int[Array, ""]


class GrainsMotion(eqx.Module):
    """A state at a time s, and its rates there."""

    time: Scalar
    state: GrainsState
    rates: Rates
