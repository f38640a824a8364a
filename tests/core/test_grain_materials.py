"""Contacts of grains with walls and clumps of other materials: each pair has its own law."""

import jax.numpy as jnp
import numpy as np

from difsim.body import RigidBody
from difsim.contact.friction import TangentialHistory
from difsim.dem import Clump, Grains, HertzMindlin
from difsim.dem.state import PairMemory
from difsim.shape import Plane

R, RHO = 5e-3, 2500.0

MASS = 4 / 3 * np.pi * RHO * R**3

SOIL = HertzMindlin(1e7, 0.25, restitution=0.6, friction=0.5)

FLOOR_LAW = HertzMindlin(2e7, 0.3, restitution=0.9, friction=0.1)

STEEL = HertzMindlin(3e7, 0.2, restitution=0.3, friction=0.05)

FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))

BALL = Clump(RigidBody(MASS, 0.4 * MASS * R**2 * np.eye(3)), np.zeros((1, 3)), np.array([R]))


def test_none_is_the_material_of_the_grains():
    """Beside a wall of its own the clump keeps the law of the grains, and beside a clump of steel the wall does."""
    beside, steel = (
        Grains(SOIL, np.full(4, R), RHO, walls=(FLOOR,), clumps=(BALL,), **laws)
        for laws in (
            {"wall_laws": (FLOOR_LAW,), "clump_laws": (None,)},
            {"wall_laws": (None,), "clump_laws": (STEEL,)},
        )
    )
    pairs = PairMemory(jnp.array([0, 0]), jnp.array([1, 4]), TangentialHistory.zeros(2))  # sphere 4 is the clump's
    for model, body, wall in ((beside, [0, 0], (1,)), (steel, [0, 1], (0,))):
        which = model._law_indices(pairs)
        np.testing.assert_array_equal(which[0], body)
        assert which[1] == wall


def test_two_materials_act_as_one_of_the_same_effective_moduli():
    mixed = HertzMindlin.from_materials([7e7, 2e6], [0.33, 0.2], restitution=0.5, friction=0.4)
    np.testing.assert_allclose(mixed.effective_modulus, 1 / ((1 - 0.33**2) / 7e7 + (1 - 0.2**2) / 2e6), rtol=1e-12)
    shear = [E / (2 * (1 + nu) * (2 - nu)) for E, nu in ((7e7, 0.33), (2e6, 0.2))]
    np.testing.assert_allclose(mixed.effective_shear, 1 / sum(1 / g for g in shear), rtol=1e-12)
    alike = HertzMindlin.from_materials([1e7, 1e7], [0.25, 0.25], 0.6, 0.5)
    np.testing.assert_allclose([alike.modulus, alike.poisson], [1e7, 0.25], rtol=1e-12)
    rigid = HertzMindlin.from_materials([1e7, np.inf], [0.25, 0.25], 0.6, 0.5)
    np.testing.assert_allclose(rigid.effective_modulus, 2 * SOIL.effective_modulus, rtol=1e-12)
