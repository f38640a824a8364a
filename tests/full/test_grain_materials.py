"""Contacts of grains with walls and clumps of other materials: each pair has its own law."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tests.core.test_grain_materials import SOIL
from tests.more.test_grain_materials import end_with

# One grain on its way to the floor, aslant; two that meet; and one that a clump runs into.


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
