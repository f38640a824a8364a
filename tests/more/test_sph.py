"""Kernels, soil and the sums over pairs, each against closed forms."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.particles.neighbours import Neighbours
from difsim.sph import Continuum, CubicSpline, DruckerPrager, Viscosity
from difsim.sph.kernel import WendlandC2

SOIL = DruckerPrager(0.84e6, 0.3, np.radians(19.8), cohesion=100.0, density=2650.0)


def grid(d, spacing=0.1, cells=9):
    return np.stack(np.meshgrid(*d * [np.arange(cells)], indexing="ij")).reshape(d, -1) * spacing


def block(position, spacing=0.1):
    """Particles without gravity or tools, their neighbours, and a state at rest."""
    d, n = position.shape
    viscosity = Viscosity(0.3, 0.7, SOIL.sound)
    model = Continuum(SOIL, CubicSpline(2.5 * spacing), viscosity, jnp.zeros(d), jnp.full(n, 2650 * spacing**d))
    return model, model.at_rest(jnp.asarray(position)), Neighbours.allocate(position, 2.5 * spacing, 0.0)


field = eqx.filter_jit(lambda model, state, neighbours: model.field(jnp.zeros(()), state, neighbours)[0])


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
