"""Rigid bodies of sub-spheres: a free top, what a collision keeps, one sub-sphere as a grain, weight, derivatives."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import FixedSteps, simulate
from difsim.body import RigidBody
from difsim.dem import Clump, Grains, GrainWall
from difsim.rotation import Rotation
from difsim.shape import Plane
from difsim.stepping.marching import initialise
from tests.core.test_clump import CLUMP, MASS, RHO, TURNED, R, flying
from tests.more.test_clump import LAW, energy, take_steps

FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def test_one_sub_sphere_is_a_grain():
    """Against another grain and a wall at once, obliquely, spinning."""
    x = np.array([[0.0, 1.9 * R], [0.0, 0.3 * R], [1.001 * R, 1.5 * R]])
    v = np.array([[0.1, 0.0], [0.0, 0.1], [-0.3, 0.0]])
    spin = np.array([3.0, 20.0, 1.0])
    gravity = (0.0, 0.0, -9.81)
    two = Grains(LAW, np.full(2, R), RHO, gravity, (FLOOR,))
    given = v, np.stack([spin, 0 * spin], axis=1)
    state = eqx.tree_at(
        lambda s: (s.velocity, s.spin), two.at_rest(jnp.asarray(x)), tuple(map(jnp.asarray, given))
    )
    seen = take_steps(two, initialise(two, state), jnp.asarray(150))
    sub_sphere = Clump(RigidBody(MASS, 0.4 * MASS * R**2 * np.eye(3)), np.zeros((1, 3)), np.array([R]))
    one = Grains(LAW, np.array([R]), RHO, gravity, (FLOOR,), (sub_sphere,), clump_laws=(None,))
    turned = jnp.asarray(TURNED)
    at = flying(x[:, 0], v[:, 0], TURNED, Rotation(turned).inverse @ jnp.asarray(spin))
    state = eqx.tree_at(lambda s: s.velocity, one.at_rest(jnp.asarray(x[:, 1:]), (at,)), jnp.asarray(v[:, 1:]))
    mixed = one.spheres(take_steps(one, initialise(one, state), jnp.asarray(150)))
    for name in ("position", "velocity", "spin"):
        expected, found = np.asarray(getattr(seen, name)), np.asarray(getattr(mixed, name))[:, ::-1]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    assert np.abs(np.asarray(seen.velocity) - v).max(axis=0).min() > 1e-2


def test_sub_spheres_carry_a_body_together():
    """Four feet bear a quarter each: δ = (m g/(4 k))^(2/3); two at one place are twice as stiff as one."""
    feet = R * np.array([[2.0, 1, -1], [-2, 1, -1], [2, -1, -1], [-2, -1, -1]])
    body, k = RigidBody(10 * MASS, 90 * MASS * R**2 * np.eye(3)), float(4 / 3 * LAW.effective_modulus * R**0.5)
    for centre in (feet, feet[[0, 0, 3, 3]]):
        model = Grains(
            LAW,
            np.array([R]),
            RHO,
            (0.0, 0.0, -9.81),
            (FLOOR,),
            (Clump(body, centre, np.full(4, R)),),
            (),
            (None,),
        )
        depth = (10 * MASS * 9.81 / 4 / k) ** (2 / 3)
        state = model.at_rest(R * jnp.array([[9.0], [9], [9]]), (flying((0, 0, 2 * R - depth), (0, 0, 0)),))
        load = initialise(model, state).motion.rates.clumps[0]
        np.testing.assert_allclose(load.force, 0, atol=1e-12 * 10 * MASS * 9.81)
        np.testing.assert_allclose(load.torque, 0, atol=1e-12 * 10 * MASS * 9.81 * R)
        assert float(energy(model, state)["elastic"]) == pytest.approx(4 * 8 / 15 * 0.75 * k * depth**2.5)


def test_a_fence_is_felt_by_grains_alone():
    model = Grains(LAW, np.full(1, R), RHO, walls=(GrainWall(FLOOR),), clumps=(CLUMP,), clump_laws=(None,))
    clump = flying((9 * R, 0.0, 1.5 * R), (0.0, 0.0, -1.0), TURNED)
    state = model.at_rest(jnp.array([[0.0], [0.0], [1.01 * R]]), (clump,))
    state = eqx.tree_at(lambda s: s.velocity, state, jnp.array([[0.0], [0.0], [-0.3]]))
    end = simulate(model, state, np.linspace(0.0, 4e-3, 11), solver=FixedSteps(100))
    np.testing.assert_allclose(
        end.states.clumps[0].velocity[jnp.array([1, -1])], [[0.0, 0.0, -1.0]] * 2, atol=1e-12
    )
    assert end.states.clumps[0].position[-1, 2] < 1.5 * R - 3.9e-3
    bounced = end.last
    np.testing.assert_allclose(bounced.velocity[2], 0.6 * 0.3, rtol=0.02)
    assert float(energy(model, bounced)["elastic"]) == 0.0
