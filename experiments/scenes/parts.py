"""What several scenes are made of: vectors, level ground, times, and what is observed and conserved of a motion."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import safe
from difsim.shape import Plane

EARTH = 9.81  # m/s²
ZERO, IDENTITY = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
LEVEL = Plane(ZERO, (0.0, 0.0, 1.0))
CORNERS = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3, indexing="ij"), axis=-1).reshape(8, 3)  # of the unit cube
SAVED = 5  # times of a scene


def until_time(end: Any, saved: int = SAVED) -> Float[Array, " T"]:
    """Return the saved times of a scene that ends at `end` s."""
    return jnp.linspace(0.0, 1.0, saved) * end


def vector(x: Any = 0.0, y: Any = 0.0, z: Any = 0.0) -> Float[Array, "3"]:
    """Return (x, y, z)."""
    return jnp.array([x, y, z])


def motion_of_point(state):
    """Return position and velocity of a point, or of particles."""
    return state.position, state.velocity


def motion_of_body(state):
    """Return the motion of a rigid body, without its phase of contact."""
    return state.body


def momenta(mass, position, velocity, spin) -> list[tuple[Array, Array]]:
    """Return momentum and angular momentum about the origin at each time, each with the size of its parts.

    **Arguments:** `mass` [b] kg; `position` m and `velocity` m/s [T, b, 3]; `spin`, the angular momentum of each about
    its own centre [T, b, 3].
    """
    each = mass[None, :, None] * velocity
    push = jnp.max(jnp.sum(safe.norm(each), axis=1))
    angular = jnp.sum(jnp.cross(position, each) + spin, axis=1)
    return [(jnp.sum(each, axis=1), push), (angular, push * jnp.max(safe.norm(position)))]
