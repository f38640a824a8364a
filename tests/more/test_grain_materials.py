"""Contacts of grains with walls and clumps of other materials: each pair has its own law."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import Courant, Status, simulate
from difsim.body import RigidState
from difsim.dem import Grains
from tests.core.test_grain_materials import BALL, FLOOR, FLOOR_LAW, RHO, SOIL, STEEL, R

SPEED = 0.3

# One grain on its way to the floor, aslant; two that meet; and one that a clump runs into.
PLACES = R * np.array([[0.0, 40.0, 42.02, 80.0], [0.0, 0, 0, 0], [1.02, 50, 50, 50]])

VELOCITIES = np.array([[0.6, SPEED, 0.0, 0.0], [0.0, 0, 0, 0], [-SPEED, 0, 0, 0]])

RUNNING = RigidState((77.98 * R, 0.0, 50 * R), (SPEED, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def end_with(**laws):
    model = Grains(SOIL, np.full(4, R), RHO, walls=(FLOOR,), clumps=(BALL,), **laws)
    state = eqx.tree_at(lambda s: s.velocity, model.at_rest(PLACES, (RUNNING,)), jnp.asarray(VELOCITIES))
    run = simulate(model, state, [0.0, 6e-4, 4e-3], solver=Courant(0.05))
    return model, run, jax.tree.map(lambda x: jnp.asarray(x[-1]), run.states)


def test_each_contact_has_the_material_of_its_pair():
    _, run, end = end_with(wall_laws=(FLOOR_LAW,), clump_laws=(STEEL,))
    assert run.status == Status.OK
    v = end.velocity
    np.testing.assert_allclose(v[2, 0] / SPEED, 0.9, atol=4e-3)
    np.testing.assert_allclose((0.6 - v[0, 0]) / (SPEED + v[2, 0]), 0.1, rtol=0.02)  # it slides throughout
    np.testing.assert_allclose((v[0, 2] - v[0, 1]) / SPEED, 0.6, atol=4e-3)
    np.testing.assert_allclose((v[0, 3] - end.clumps[0].velocity[0]) / SPEED, 0.3, atol=4e-3)
