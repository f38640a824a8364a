"""Laws of two grains: against those of `difsim.contact`, friction that remembers, what is refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact import (
    Hooke,
    MindlinSpring,
    NormalForce,
    NoSmoothing,
    PowerLaw,
    TangentialSpring,
)
from difsim.contact.friction import TangentialHistory
from difsim.dem import HertzMindlin, LinearSprings
from difsim.dem.touching import tangential_force
from tests.helpers import to_single

GIVEN = {"modulus": 1e7, "poisson": 0.25, "restitution": 0.6, "friction": 0.5}
HERTZ = HertzMindlin(**GIVEN)
SPRINGS = LinearSprings(2e3, 0.8, restitution=0.6, friction=0.5)


@pytest.mark.parametrize("depth", [-1e-5, 1e-6, 2e-5])
def test_laws_are_those_of_contact(depth):
    radius, mass = jnp.asarray(2e-3), jnp.asarray(3e-4)
    depth, rates = jnp.asarray(depth), jnp.array([-0.2, 0.0, 0.1])
    power = PowerLaw(4 / 3 * HERTZ.effective_modulus * radius**0.5, 1.5)
    hertz = NormalForce.from_restitution(0.6, power, NoSmoothing(), mass=mass)
    linear = NormalForce.from_restitution(0.6, Hooke(2e3), NoSmoothing(), mass=mass)
    for mine, theirs in ((HERTZ, hertz), (SPRINGS, linear)):
        for rate in rates:
            np.testing.assert_allclose(
                mine.normal(radius, mass).force(depth, rate), theirs.force(depth, rate), rtol=1e-12
            )
        np.testing.assert_allclose(mine.stored_energy(radius, depth), theirs.elastic_energy(depth), rtol=1e-12)
    springs = MindlinSpring(0.5, HERTZ.effective_shear, radius), TangentialSpring(0.5, 0.8 * 2e3)
    for mine, theirs in zip((HERTZ, SPRINGS), springs, strict=True):
        for push in (1e-5, 1.0):  # it slides, and it holds
            old = TangentialHistory(jnp.array([1e-3, 2e-3, 1e-4]), jnp.asarray(3e3))
            normal, slip = jnp.array([0.6, 0.0, 0.8]), jnp.array([0.0, 0.2, 0.0])
            given = jnp.asarray(push), slip, normal
            elastic = eqx.tree_at(lambda m: m.restitution, mine, jnp.ones(()))  # no damper along the contact
            memory = TangentialHistory(old.force, old.stiffness)
            force, new = tangential_force(elastic, radius, mass, depth, *given, memory, jnp.asarray(1e-5))
            np.testing.assert_array_equal(force, new.force)
            expected = theirs.advance(old, depth, *given, 1e-5)
            np.testing.assert_allclose(new.force, expected.force, rtol=1e-12, atol=1e-18)
            np.testing.assert_allclose(new.stiffness, expected.stiffness, rtol=1e-12)


@jax.jit
def slopes_of_friction(friction, size, push, slip):
    """Forward and in reverse, of the force along a contact that remembers one of a `size`."""

    def new(friction, size, push):
        of = eqx.tree_at(lambda m: m.friction, HERTZ, friction)
        memory = TangentialHistory(size * jnp.array([0.8, 0.1, -0.6]), jnp.asarray(3e3))
        normal, depth, dt = jnp.array([0.6, 0.0, 0.8]), jnp.asarray(1e-6), jnp.asarray(1e-5)
        return tangential_force(of, jnp.asarray(2e-3), jnp.asarray(3e-4), depth, push, slip, normal, memory, dt)[0]

    return [jac(new, argnums=(0, 1, 2))(friction, size, push) for jac in (jax.jacfwd, jax.jacrev)]


@pytest.mark.parametrize("size", [0.0, 1e-160, 1e-140, 1e-80, 1e-70, 1e-3])
def test_derivatives_are_finite_for_tiny_remembered_forces(size):
    for push in (1.0, 0.0):  # it holds, and it slides
        forward, reverse = slopes_of_friction(0.5, size, push, jnp.array([0.0, 1e-3 * size, 0.0]))
        assert np.isfinite(forward).all() and np.isfinite(reverse).all()


@pytest.mark.parametrize("dtype, sizes", [(float, (1e-160, 1e-78, 1e-3)), (np.float32, (1e-21, 1e-10, 1e-3))])
def test_friction_is_bounded_and_zero_between_separated_grains(dtype, sizes):
    def force_along(size, push, depth, speed):
        """The force along a contact that remembers one of a `size`, N."""
        radius, mass, depth, push, stiffness, dt = (
            jnp.asarray(x, dtype) for x in (2e-3, 3e-4, depth, push, 3e3, 1e-5)
        )
        memory = TangentialHistory(jnp.asarray(size * np.array([0.8, 0.1, -0.6]), dtype), stiffness)
        slip, normal = jnp.asarray([0.0, speed, 0.0], dtype), jnp.asarray([0.6, 0.0, 0.8], dtype)
        of = HERTZ if dtype is float else to_single(HERTZ)
        return np.linalg.norm(
            np.float64(tangential_force(of, radius, mass, depth, push, slip, normal, memory, dt)[0])
        )

    for size in sizes:
        assert force_along(size, 1.0, 1e-6, 0.0) / size == pytest.approx(
            0.137, rel=0.01
        )  # the spring's, now softer
        assert force_along(size, 0.1 * size, 1e-6, 0.0) <= 0.05 * size * (1 + 1e-6)
        assert force_along(size, 0.0, -1e-6, 0.1) == 0
        assert force_along(0.0, size, 1e-6, 0.1) <= 0.5 * size * (1 + 1e-6)


def test_two_materials_act_as_one_of_the_same_effective_moduli():
    mixed = HertzMindlin.from_materials([7e7, 2e6], [0.33, 0.2], restitution=0.5, friction=0.4)
    np.testing.assert_allclose(mixed.effective_modulus, 1 / ((1 - 0.33**2) / 7e7 + (1 - 0.2**2) / 2e6), rtol=1e-12)
    shear = [E / (2 * (1 + nu) * (2 - nu)) for E, nu in ((7e7, 0.33), (2e6, 0.2))]
    np.testing.assert_allclose(mixed.effective_shear, 1 / sum(1 / g for g in shear), rtol=1e-12)
    alike = HertzMindlin.from_materials([1e7, 1e7], [0.25, 0.25], 0.6, 0.5)
    np.testing.assert_allclose([alike.modulus, alike.poisson], [1e7, 0.25], rtol=1e-12)
    rigid = HertzMindlin.from_materials([1e7, np.inf], [0.25, 0.25], 0.6, 0.5)
    np.testing.assert_allclose(rigid.effective_modulus, 2 * HERTZ.effective_modulus, rtol=1e-12)
