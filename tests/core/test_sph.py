"""Kernels, soil and the sums over pairs, each against closed forms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.sph import Continuum, CubicSpline, DruckerPrager, Viscosity
from difsim.sph.kernel import WendlandC2
from difsim.sph.soil import Compression, PlaneStrain
from tests.helpers import check_gradients, list_neighbours

KERNELS = [CubicSpline(0.7), WendlandC2(0.7)]

SOIL = DruckerPrager(0.84e6, 0.3, np.radians(19.8), cohesion=100.0, density=2650.0)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [2, 3])
def test_a_kernel_is_a_density(kernel, d):
    r = np.linspace(0, 0.7, 4001)
    offset = np.zeros((r.size, d))
    offset[:, 0] = r
    w = np.asarray(jax.vmap(kernel.value)(jnp.asarray(offset)))
    shell = 2 * np.pi * r if d == 2 else 4 * np.pi * r**2
    assert np.trapezoid(w * shell, r) == pytest.approx(1.0, abs=1e-6)
    assert (np.diff(w) <= 0).all() and w[-1] == 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernels_gradient_is_its_values(kernel):
    offsets = jnp.array([[0.1, 0.2], [-0.3, 0.4], [0.5, 0.49], [0.6, -0.5]])

    @jax.jit
    def differentiate(offsets, centre):
        derived = jax.vmap(jax.grad(kernel.value))(offsets)
        at_centre = kernel.gradient(centre), jax.jacfwd(kernel.gradient)(centre)
        return jax.vmap(kernel.gradient)(offsets), derived, at_centre

    written, derived, (slope, bend) = differentiate(offsets, jnp.zeros(3))
    np.testing.assert_allclose(np.stack(written, axis=1), derived, rtol=1e-12, atol=1e-12)
    assert (np.asarray(slope) == 0).all() and np.isfinite(np.stack(bend)).all()


@pytest.mark.parametrize("cone", [PlaneStrain(), Compression()])
@pytest.mark.parametrize("dilatancy", [0.0, 0.2])
def test_a_returned_stress_is_on_the_cone(cone, dilatancy):
    soil = eqx.tree_at(lambda s: (s.cone, s.dilatancy), SOIL, (cone, jnp.asarray(dilatancy)))
    rng = np.random.default_rng(0)
    stress = rng.normal(size=(500, 3, 3)) * 300
    stress = jnp.asarray(stress + stress.transpose(0, 2, 1) - rng.random((500, 1, 1)) * 2000 * np.eye(3))

    @jax.jit
    def return_all(stress):
        returned = jax.vmap(soil.admissible, in_axes=(0, None))(stress, soil.density)
        return jax.vmap(soil.excess)(stress), returned, jax.vmap(soil.excess)(returned)

    before, returned, after = map(np.asarray, return_all(stress))
    assert 50 < (before > 0).sum() < 450
    np.testing.assert_allclose(after[before > 0], 0, atol=1e-9)
    np.testing.assert_array_equal(np.asarray(returned)[before < 0], np.asarray(stress)[before < 0])


def test_the_flow_is_the_papers_multiplier():
    """One short elastic step and its return against the rate with the multiplier of Eq 20."""
    soil = eqx.tree_at(lambda s: s.dilatancy, SOIL, jnp.asarray(0.1))
    stress = soil.admissible(
        jnp.array([[-900.0, 400.0, 0.0], [400.0, -500.0, 0.0], [0.0, 0.0, -600.0]]), soil.density
    )
    gradient = jnp.array([[0.01, 0.05, 0.0], [0.03, -0.01, 0.0], [0.0, 0.0, 0.0]])
    a, _ = soil.cone.match(soil.friction, soil.cohesion)
    deviator = stress - jnp.trace(stress) / 3 * jnp.eye(3)
    direction = deviator / jnp.sqrt(0.5 * jnp.sum(deviator**2))
    strain = 0.5 * (gradient + gradient.T)
    growth = 3 * soil.bulk * a * jnp.trace(strain) + soil.shear * jnp.sum(direction * strain)
    multiplier = growth / (27 * soil.bulk * a * jnp.sin(soil.dilatancy) + soil.shear)
    assert multiplier > 0
    plastic = multiplier * (9 * soil.bulk * jnp.sin(soil.dilatancy) * jnp.eye(3) + soil.shear * direction)
    rate = soil.rate(stress, gradient)
    dt = 1e-7
    step = (soil.admissible(stress + dt * rate, soil.density) - stress) / dt
    np.testing.assert_allclose(step, rate - plastic, atol=1e-5 * float(jnp.max(jnp.abs(rate))))


def test_no_tension_beyond_the_apex_and_derivatives_there():
    a, k = SOIL.cone.match(SOIL.friction, SOIL.cohesion)
    np.testing.assert_allclose(
        SOIL.admissible(5000.0 * jnp.eye(3), SOIL.density), k / (3 * a) * jnp.eye(3), rtol=1e-12
    )
    loose = eqx.tree_at(lambda s: s.cohesion, SOIL, jnp.asarray(0.0))
    np.testing.assert_array_equal(loose.admissible(jnp.zeros((3, 3)), loose.density), jnp.zeros((3, 3)))
    slope = jax.jit(jax.jacfwd(loose.admissible))
    for stress in (jnp.zeros((3, 3)), 10.0 * jnp.eye(3), -10.0 * jnp.eye(3)):
        assert np.isfinite(slope(stress, loose.density)).all()
    yielding = jnp.array([[-900.0, 900.0, 0.0], [900.0, -500.0, 0.0], [0.0, 0.0, -600.0]])
    check_gradients(lambda soil, stress: soil.admissible(stress, soil.density), SOIL, yielding)


def test_strength_begins_at_zero_friction_and_cohesion():
    """√J₂ = k - a I₁ under pressure: of no strength the deviator is 0, and grows in its own direction by both."""
    stress = jnp.array([[-900.0, 500.0, 0.0], [500.0, -500.0, 0.0], [0.0, 0.0, -600.0]])
    deviator = stress - jnp.trace(stress) / 3 * jnp.eye(3)
    direction = deviator / jnp.sqrt(0.5 * jnp.sum(deviator**2))

    def keep(strength):
        soil = eqx.tree_at(lambda s: (s.friction, s.cohesion), SOIL, (strength[0], strength[1]))
        return soil.admissible(stress, SOIL.density)

    none = jnp.zeros(2)
    a, k = jax.jacfwd(lambda x: jnp.stack(SOIL.cone.match(x[0], x[1])))(none)
    exact = jnp.multiply.outer(direction, k - a * jnp.trace(stress))
    kept, *slopes = jax.jit(lambda x: (keep(x), jax.jacfwd(keep)(x), jax.jacrev(keep)(x)))(none)
    np.testing.assert_allclose(kept, jnp.trace(stress) / 3 * jnp.eye(3), atol=1e-9)
    for slope in slopes:
        np.testing.assert_allclose(slope, exact, atol=1e-9 * jnp.abs(exact).max())


def grid(d, spacing=0.1, cells=9):
    return np.stack(np.meshgrid(*d * [np.arange(cells)], indexing="ij")).reshape(d, -1) * spacing


def block(position, spacing=0.1):
    """Particles without gravity or tools, their neighbours, and a state at rest."""
    d, n = position.shape
    viscosity = Viscosity(0.3, 0.7, SOIL.sound)
    model = Continuum(SOIL, CubicSpline(2.5 * spacing), viscosity, jnp.zeros(d), jnp.full(n, 2650 * spacing**d))
    return model, model.at_rest(jnp.asarray(position)), list_neighbours(position, 2.5 * spacing, 0.0)


field = eqx.filter_jit(lambda model, state, neighbours: model.field(jnp.zeros(()), state, neighbours)[0])


@pytest.mark.parametrize("d", [2, 3])
def test_pairs_keep_momentum_and_angular_momentum(d):
    rng = np.random.default_rng(1)
    regular = grid(d, cells=9 if d == 2 else 6)
    model, state, neighbours = block(regular + rng.normal(size=regular.shape) * 0.01)
    n = state.density.size
    pressure = -jnp.asarray(rng.random((1, 1, n))) * 1e3 * jnp.eye(3)[:, :, None]
    state = eqx.tree_at(lambda s: (s.velocity, s.stress), state, (jnp.asarray(rng.normal(size=(d, n))), pressure))
    force = np.asarray(field(model, state, neighbours).velocity) * np.asarray(model.mass)
    x = np.asarray(state.position)
    assert np.abs(force).max() > 1
    np.testing.assert_allclose(force.sum(axis=1), 0, atol=1e-10 * np.abs(force).sum())
    torque = x[0] * force[1] - x[1] * force[0]
    np.testing.assert_allclose(torque.sum(), 0, atol=1e-10 * np.abs(torque).sum())


def test_the_velocity_gradient_of_a_regular_grid():
    """Simple shear and swelling of a regular grid, away from its border: within the error of the kernel's sums."""
    cells = 11
    model, state, neighbours = block(grid(2, cells=cells))
    gradient = jnp.array([[0.2, 0.5], [-0.1, 0.3]])
    rate = field(model, eqx.tree_at(lambda s: s.velocity, state, gradient @ state.position), neighbours)
    middle = cells**2 // 2
    np.testing.assert_allclose(rate.density[middle], -2650 * 0.5, rtol=0.01)
    np.testing.assert_allclose(rate.stress[0, 1, middle], SOIL.shear * 0.4, rtol=0.01)
