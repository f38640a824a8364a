"""All contacts of grains at once: what spheres remember of walls, and the room that is left in lists."""

import jax.numpy as jnp
import numpy as np

from difsim.contact.friction import TangentialHistory
from difsim.dem.contacts import remap_walls
from difsim.dem.state import PADDING, WallMemory


def test_each_sphere_finds_what_it_remembers_of_a_wall():
    """Sphere 2 and 0 were there, the rest of the list filled up; now 0, 1 and 2 are."""
    force = jnp.array([[2.0, 4.0, 0.0, 0.0]]) * jnp.ones((3, 1))
    old = WallMemory(jnp.array([2, 0, PADDING, 0]), TangentialHistory(force, force[0]))
    (now,) = remap_walls((old,), (jnp.array([0, 1, 2, PADDING]),), 3)
    np.testing.assert_array_equal(now.who, [0, 1, 2, PADDING])
    np.testing.assert_array_equal(now.memory.force, np.ones((3, 1)) * [4.0, 0.0, 2.0, 0.0])
    np.testing.assert_array_equal(now.memory.stiffness, [4.0, 0.0, 2.0, 0.0])
