"""All contacts of grains at once: what spheres remember of walls, and the room that is left in lists."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim.contact.friction import TangentialHistory
from difsim.dem import HertzMindlin
from difsim.dem.contacts import pair_forces
from difsim.dem.state import PairMemory
from difsim.dem.touching import Grain

R, RHO = 5e-3, 2500.0

MASS = 4 / 3 * np.pi * RHO * R**3

HERTZ = HertzMindlin(1e7, 0.25, restitution=0.6, friction=0.5)


def test_second_derivatives_do_not_see_the_room_of_a_list():
    shear = TangentialHistory(jnp.array([[0.0, 0.0], [1e-5, 0.0], [0.0, 0.0]]), jnp.array([3e3, 0.0]))
    roomy = PairMemory(jnp.array([0, 0], jnp.int32), jnp.array([1, 0], jnp.int32), shear)
    place = jnp.array([[0.0, 1.98 * R], [0.0, 0.0], [0.99 * R, 0.999 * R]])
    velocity = jnp.array([[0.3, -0.1], [0.05, 0.0], [-0.1, 0.02]])

    def push(size):
        spheres = Grain(size * place, velocity, 10 * velocity, jnp.full(2, R), jnp.full(2, MASS))
        force = pair_forces(HERTZ, spheres, roomy, None, jnp.asarray(1e-6), 1)[0].force
        return jnp.sum(force * jnp.arange(6.0).reshape(3, 2))

    slope, one = jax.jit(jax.grad(push)), jnp.ones(())
    curve = jax.jit(lambda x: jax.jvp(jax.grad(push), (x,), (one,))[1])(one)
    np.testing.assert_allclose(curve, (slope(one + 1e-6) - slope(one - 1e-6)) / 2e-6, rtol=1e-6)
