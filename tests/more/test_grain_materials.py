"""Contacts of grains with walls and clumps of other materials: each pair has its own law."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import Courant, Status, simulate
from difsim.body import RigidBody, RigidState
from difsim.dem import Clump, Grains, HertzMindlin
from difsim.shape import Plane

R, RHO, SPEED = 5e-3, 2500.0, 0.3
MASS = 4 / 3 * np.pi * RHO * R**3
SOIL = HertzMindlin(1e7, 0.25, restitution=0.6, friction=0.5)
FLOOR_LAW = HertzMindlin(2e7, 0.3, restitution=0.9, friction=0.1)
STEEL = HertzMindlin(3e7, 0.2, restitution=0.3, friction=0.05)
FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
BALL = Clump(RigidBody(MASS, 0.4 * MASS * R**2 * np.eye(3)), np.zeros((1, 3)), np.array([R]))

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
