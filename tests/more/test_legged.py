"""A lander among grains: what its legs keep, how they give, that it is the lander it was made of."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.body import Flywheel, Lander, RigidBody
from difsim.dem import LeggedClump
from difsim.mesh import box
from tests.legged import FEET, GEAR, HIPS, STIFFNESS, STROKE, moving


@pytest.fixture(scope="module")
def lander():
    body = RigidBody(96.3, np.diag([21.6, 21.6, 31.7]))
    return Lander(body, FEET, HIPS, 0.1, STIFFNESS, GEAR, Flywheel(5.17, 1900.0))


@pytest.fixture(scope="module")
def philae(lander):
    return LeggedClump.from_lander(lander, box((1.0, 1.0, 0.8)), 1.0, 0.04, 0.4)


def test_it_is_the_lander_it_was_made_of(lander, philae):
    assert float(philae.mass) == pytest.approx(96.3)
    turning = np.eye(3)
    spins = [philae.total_motion(moving(philae, spin=w))[2] - np.array([0.0, 0.0, 5.17]) for w in turning]
    np.testing.assert_allclose(spins, np.diag([21.6, 21.6, 31.7]), atol=1e-9)
    centre, velocity, _ = philae.total_motion(moving(philae, (0.1, 0.2, 0.3)))
    np.testing.assert_allclose(centre, 0.0, atol=1e-12)
    np.testing.assert_allclose(velocity, (0.1, 0.2, 0.3), atol=1e-12)
    spheres = philae.spheres(moving(philae))
    low = np.asarray(spheres.position[2] - spheres.radius)
    assert low.min() == pytest.approx(-0.75, abs=2e-3)  # the soles, as deep as the feet of the reduced law
    there = np.abs(low - low.min()) < 0.01
    out = np.hypot(*np.asarray(spheres.position[:2])[:, there])
    assert (np.abs(out - 1.2) < 0.1).all() and there.sum() >= 9


def test_steps_resolve_springs_and_gear(philae):
    state = moving(philae)
    light = eqx.tree_at(lambda c: c.gear.damping, philae, jnp.array(5.0))
    rings, eases = float(philae.stable_time_step(state)), float(light.stable_time_step(state))
    assert eases == pytest.approx(5.0 / (5 * 3 * STIFFNESS)) and eases < rings
    # In the stop, which is stiff against so light a damper.
    deep = eqx.tree_at(lambda s: s.gear, state, jnp.array([STROKE + 0.01]))
    assert float(light.stable_time_step(deep)) == pytest.approx(1 / (5 * (3 * STIFFNESS + 2 * 1e7 * 0.01) / 5.0))
