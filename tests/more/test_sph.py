"""Kernels, soil and the sums over pairs, each against closed forms."""

import equinox as eqx
import jax.numpy as jnp
import pytest

from difsim.particles.neighbours import Neighbours
from difsim.sph import Continuum, CubicSpline
from difsim.sph.kernel import WendlandC2
from tests.core.test_sph import SOIL, block, field, grid


def strain_error(d, kernel, support):
    """The relative error of a uniform expansion's stress rate in the middle of a lattice, whatever the support."""
    cells = {2: 11, 3: 9}[d]
    model, state, _ = block(grid(d, 1.0, cells) - (cells - 1) / 2, 1.0)
    model = eqx.tree_at(lambda m: m.kernel, model, kernel(support))
    state = eqx.tree_at(lambda s: s.velocity, state, state.position)
    near = Neighbours.allocate(state.position, 3.0, 0.0)  # of the widest support: one program for all of them
    rate = field(model, state, near).stress[0, 0, state.density.size // 2]
    expansion = jnp.diag(jnp.array([1.0, 1.0, float(d == 3)]))
    return float(rate / SOIL.rate(jnp.zeros((3, 3)), expansion)[0, 0]) - 1


@pytest.mark.parametrize("kernel", [CubicSpline, WendlandC2])
@pytest.mark.parametrize("d", [2, 3])
def test_a_support_of_too_few_spacings_is_refused(d, kernel):
    """One of 1.5 spacings made stresses 29 % too large, and nothing said so."""
    assert -0.35 < strain_error(d, kernel, 1.5) < -0.25
    assert all(abs(strain_error(d, kernel, support)) < 0.035 for support in (2.0, 2.2, 2.5, 3.0))
    model, _, _ = block(grid(d))
    given = model.material, model.viscosity, model.gravity, model.mass
    for support in (2.0, 2.5):
        Continuum(given[0], kernel(support * 0.1), *given[1:])
    with pytest.raises(ValueError, match=r"h = 0\.15 m is too short .*: give 2 spacings"):
        Continuum(given[0], kernel(0.15), *given[1:])
    heavier = model.mass.at[3].multiply(2.0**d)
    with pytest.raises(ValueError, match=r"h = 0\.25 m is too short"):
        Continuum(given[0], kernel(0.25), *given[1:3], heavier)
    with pytest.raises(ValueError, match=r"gravity has shape \(1,\)"):
        Continuum(given[0], kernel(0.25), given[1], jnp.zeros(1), model.mass)
