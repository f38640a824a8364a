"""Contacts of grains with walls and clumps of other materials: each pair has its own law."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import Courant, simulate
from difsim.body import RigidState
from difsim.dem import Grains
from tests.core.test_grain_materials import BALL, FLOOR, RHO, SOIL, R
from tests.more.test_grain_materials import SPEED, VELOCITIES

# One grain on its way to the floor, aslant; two that meet; and one that a clump runs into.
PLACES = R * np.array([[0.0, 40.0, 42.02, 80.0], [0.0, 0, 0, 0], [1.02, 50, 50, 50]])

RUNNING = RigidState((77.98 * R, 0.0, 50 * R), (SPEED, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def end_with(**laws):
    model = Grains(SOIL, np.full(4, R), RHO, walls=(FLOOR,), clumps=(BALL,), **laws)
    state = eqx.tree_at(lambda s: s.velocity, model.at_rest(PLACES, (RUNNING,)), jnp.asarray(VELOCITIES))
    run = simulate(model, state, [0.0, 6e-4, 4e-3], solver=Courant(0.05))
    return model, run, jax.tree.map(lambda x: jnp.asarray(x[-1]), run.states)


def test_several_laws_of_the_same_numbers_are_as_one():
    alone, first, end = end_with(clump_laws=(None,))
    several, second, other = end_with(wall_laws=(SOIL,), clump_laws=(SOIL,))
    np.testing.assert_allclose(other.velocity, end.velocity, rtol=0, atol=1e-11)
    early = [jax.tree.map(lambda x: jnp.asarray(x[1]), run.states) for run in (first, second)]
    energy = eqx.filter_jit(lambda model, state: model.energy(0.0, state))
    one, two = (energy(model, state) for model, state in zip((alone, several), early, strict=True))
    assert one["elastic"] > 0.01 * one["kinetic"]  # in the midst of an impact
    for name, energy in one.items():
        np.testing.assert_allclose(two[name], energy, rtol=1e-8, atol=1e-18, err_msg=name)
