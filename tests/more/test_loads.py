"""Loads in flight: the libration of a rod, the torque by parts, and balances that close."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import FixedSteps, simulate
from difsim.body import RigidBody, RigidState
from difsim.dynamics import GravityGradient, Hopper, LightPressure
from difsim.dynamics.surroundings import Surroundings
from difsim.gravity import Mascons, PointMass
from difsim.rotation import Rotation
from difsim.shape import Sphere
from tests.hoppers import BALL

ORIGIN = (0.0, 0.0, 0.0)
FINE = FixedSteps(400)


def test_rod_in_orbit_librates_at_its_period():
    """Along the radius of a circular orbit of rate n: angle δ cos(w t), w² = 3 n² (b - a)/c."""
    n, r, tilt = 0.4, 3e5, 1e-3
    rod = RigidBody(2.0, np.diag([1e-6, 0.5, 0.5]))
    field = PointMass(n**2 * r**3, ORIGIN)
    model = Hopper(rod, BALL, Sphere(ORIGIN, 1.0), field, (0.0, 0.0, n), loads=(GravityGradient(),))
    turn = Rotation.from_rotation_vector(jnp.array([0.0, 0.0, tilt]))
    start = model.start(RigidState((r, 0.0, 0.0), ORIGIN, turn.quaternion, ORIGIN))
    times = jnp.linspace(0.0, 9.0, 7)
    flown = simulate(model, start, times, solver=FINE)
    angle = jax.vmap(lambda q: Rotation(q).as_rotation_vector()[2])(flown.states.body.attitude)
    np.testing.assert_allclose(angle, tilt * np.cos(np.sqrt(3 * (0.5 - 1e-6) / 0.5) * n * times), atol=2e-6 * tilt)


def test_gradient_is_that_of_a_body_of_points():
    """Six masses: force and torque on each, less the force of all at the centre; to the cube of their distance."""
    field = Mascons([3.0, 1.5], [[0.2, 0.1, 0.0], [-0.5, 0.1, 0.2]])
    arms = 1e-3 * np.random.default_rng(1).normal(size=(6, 3))
    arms -= arms.mean(axis=0)
    inertia = sum((a @ a) * np.eye(3) - np.outer(a, a) for a in arms)
    model = Hopper(RigidBody(6.0, inertia), BALL, Sphere(ORIGIN, 0.1), field, loads=(GravityGradient(),))
    place = jnp.array([1.5, -0.7, 0.9])
    body = model.free(0.0, RigidState(place, ORIGIN, (1.0, 0.0, 0.0, 0.0), ORIGIN))
    force, torque = model.loads[0].wrench(Surroundings.at(model, 0.0), body)
    pulls = np.asarray(jax.vmap(field.acceleration)(place[None] + arms))
    np.testing.assert_allclose(torque, np.cross(arms, pulls).sum(axis=0), atol=1e-8)
    np.testing.assert_allclose(force, (pulls - np.asarray(field.acceleration(place))).sum(axis=0), atol=1e-8)
    assert np.linalg.norm(torque) > 1e-6 and np.linalg.norm(force) > 1e-6


def test_energy_of_both_loads_closes():
    """A long body in an eccentric flight in a frame that turns, in strong light."""
    body = RigidBody(2.0, np.diag([0.02, 0.5, 0.5]))
    field = Mascons([3.0, 1.5], [[0.2, 0.1, 0.0], [-0.5, 0.1, 0.2]])
    light = LightPressure(0.05, 1.0, direction=(0.6, 0.0, 0.8))
    model = Hopper(body, BALL, Sphere(ORIGIN, 0.1), field, (0.1, 0.0, 0.3), loads=(GravityGradient(), light))
    start = model.start(RigidState((2.0, 0.3, -0.4), (0.1, 0.9, 0.5), (1.0, 0.0, 0.0, 0.0), (0.4, 1.1, -0.6)))
    flown = simulate(model, start, jnp.linspace(0.0, 6.0, 4), solver=FINE)
    energy = {key: np.asarray(part) for key, part in flown.energy.items()}
    assert np.ptp(energy["light"]) > 0.01
    np.testing.assert_allclose(sum(energy.values()), sum(energy.values())[0], atol=1e-8)
    free = Hopper(body, BALL, Sphere(ORIGIN, 0.1), field, (0.1, 0.0, 0.3), loads=(light,))
    still = simulate(free, start, jnp.linspace(0.0, 6.0, 4), solver=FINE)
    assert np.abs(np.asarray(still.last.body.spin - flown.last.body.spin)).max() > 0.01
