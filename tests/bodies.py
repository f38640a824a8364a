"""Boxes that collide: what the tests of pairs, of their derivatives and of their statuses share."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim.body import RigidState, Stone
from difsim.contact import Newton
from difsim.dynamics import HardPair, Pair, PairState
from difsim.mesh import box
from difsim.rotation import Rotation
from difsim.shape import Box

SIDE = 0.1  # m
TIMES = np.linspace(0.0, 1.0, 11)  # s


def stone(side=SIDE) -> Stone:
    """A cube of 1 kg."""
    return Stone.from_mesh(box((side,) * 3), mass=1.0, shape=Box((side / 2,) * 3))


def boxes(restitution=0.6, friction=0.0) -> Pair:
    """Two cubes. Frictionless or not, along one line or not: the same shapes, and so one compilation."""
    return Pair(stone(), stone(), HardPair(Newton(restitution, friction, turns=0)))


def turned(*axis_angle) -> jax.Array:
    return Rotation.from_rotation_vector(jnp.array(axis_angle, float))


def ridge(along) -> jax.Array:
    """The attitude of a box with an edge on top, parallel to x or y."""
    return turned(np.pi / 4, 0, 0) if along == "x" else turned(0, np.pi / 4, 0)


def body(position, velocity, attitude=(1.0, 0, 0, 0), spin=(0.0, 0, 0)) -> RigidState:
    return RigidState(position, velocity, attitude, spin)


def crossed(height=0.3, speed=1.0, aside=(0.003, 0.004)) -> PairState:
    """The lower edge of the second box comes down across the upper edge of the first, far from all corners."""
    return PairState(
        body((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), ridge("x")),
        body((*aside, height), (0.0, 0.0, -speed), ridge("y")),
    )
