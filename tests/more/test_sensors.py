"""Sensors: what they read at rest, in an impact and in a spin, their errors, and derivatives."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import FixedSteps, simulate
from difsim.body import RigidBody, RigidState
from difsim.dynamics import Hopper
from difsim.gravity import PointMass, Uniform
from difsim.sensors import Accelerometer, Errors, Gyro
from tests.helpers import check_gradients
from tests.hoppers import BALL, FLOOR

UPRIGHT, STILL = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
PLACE = (0.1, -0.2, 0.05)
TIMES = jnp.linspace(0.0, 1.5, 4)


def fall(pull):
    """A ball that falls on a floor without spin: its velocity, and what it feels, at `TIMES`."""
    model = Hopper(RigidBody(2.0, 0.07 * np.eye(3)), BALL, FLOOR, Uniform(pull), resolution=1e-2)
    start = model.start(RigidState((0.0, 0.0, 0.35), (0.0, 0.0, -0.2), UPRIGHT, STILL))
    felt = Accelerometer(PLACE)
    found = simulate(
        model, start, TIMES, solver=FixedSteps(300), integrals=lambda *x: {"felt": felt.sense(*x)}, throw=False
    )
    return found.states.body.velocity, felt.errors.read(TIMES, found.integrals["felt"])


def test_readings_in_an_impact_are_the_change_of_velocity():
    """None of it is lost between the readings, 0.5 s apart; derivatives by the pull against differences."""
    pull = jnp.array([0.0, 0.0, -1.0])
    velocity, seen = jax.jit(fall)(pull)
    assert float(velocity[1, 2]) > 0 > float(velocity[0, 2])
    expected = np.diff(np.asarray(velocity), axis=0) / 0.5 - np.asarray(pull)
    np.testing.assert_allclose(seen, expected, atol=1e-9)
    along = lambda pull: fall(pull)[1]  # noqa: E731
    slope = jax.jit(lambda pull: jax.jvp(along, (pull,), (jnp.array([0.0, 0.0, 1.0]),))[1])(pull)
    step = jnp.array([0.0, 0.0, 1e-5])
    difference = (jax.jit(along)(pull + step) - jax.jit(along)(pull - step)) / 2e-5
    np.testing.assert_allclose(slope, difference, atol=1e-5 * np.abs(slope).max())


def test_rest_on_the_ground_reads_gravity():
    model = Hopper(RigidBody(2.0, 0.07 * np.eye(3)), BALL, FLOOR, Uniform((0.0, 0.0, -1.0)))
    lie = lambda z: model.start(RigidState(z * jnp.array([0.0, 0.0, 1.0]), STILL, UPRIGHT, STILL))  # noqa: E731
    push = jax.jit(lambda z: model.wrench(0.0, lie(z)).force[2])
    low, high = 0.29, 0.31
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if push(jnp.asarray(middle)) > 2.0 else (low, middle)
    sensed = Accelerometer(PLACE).sense(
        model, 0.0, model.start(RigidState((0.0, 0.0, low), STILL, UPRIGHT, STILL))
    )
    np.testing.assert_allclose(sensed, (0.0, 0.0, 1.0), atol=1e-9)


def test_spin_with_a_lever_arm_is_seen_from_any_frame():
    """A top about its axis far from everything, in a frame that turns: ω × (ω × r), and the spin itself."""
    turning, spin = np.array([0.1, -0.2, 0.4]), np.array([0.0, 0.0, 1.2])
    model = Hopper(
        RigidBody(2.0, np.diag([0.05, 0.05, 0.09])), BALL, FLOOR, PointMass(0.0, (0.0, 0.0, -9.0)), turning
    )
    state = model.start(RigidState((1.0, 2.0, 50.0), (0.3, 0.1, -0.2), UPRIGHT, spin - turning))
    felt = Accelerometer(PLACE).sense(model, 0.0, state)
    np.testing.assert_allclose(felt, np.cross(spin, np.cross(spin, PLACE)), atol=1e-13)
    np.testing.assert_allclose(Gyro().sense(model, 0.0, state), spin, atol=1e-15)


def test_errors_are_those_that_are_declared():
    """A step of 1 at the second interval: means, low pass, bias, limit and noise."""
    times = jnp.array([0.0, 0.1, 0.3, 0.6, 0.6])
    integral = jnp.zeros((5, 3)).at[2:, 0].set(jnp.array([0.2, 0.5, 0.5]))
    np.testing.assert_allclose(Errors().read(times, integral)[:, 0], [0, 1, 1, 0], atol=1e-15)
    slow = Errors((0.5, 0.0, 0.0), time_constant=0.4, limit=1.1).read(times, integral)
    rise = 1 - np.exp(-np.array([0.2, 0.5]) / 0.4)
    np.testing.assert_allclose(slow[1:3, 0], np.minimum(rise + 0.5, 1.1), rtol=1e-14)
    assert slow[2, 0] == 1.1 and not slow[:, 1:].any()
    many = jnp.linspace(0.0, 1.0, 5001)
    noise = Errors(sigma=0.3).read(many, jnp.zeros((5001, 3)), jax.random.key(1))
    np.testing.assert_allclose([noise.std(), noise.mean()], [0.3, 0.0], atol=0.01)


def test_derivatives_of_readings():
    errors = Errors((0.1, -0.2, 0.3), 0.2, 2.0, 0.4)
    times, integral = jnp.array([0.0, 0.1, 0.3, 0.6]), jnp.asarray(np.random.default_rng(0).normal(size=(4, 3)))
    seen = errors.read(times, integral, jax.random.key(2))
    assert 0 < int(jnp.sum(jnp.abs(seen) == 2.0)) < seen.size
    check_gradients(lambda errors, x: errors.read(times, x, jax.random.key(2)), errors, integral)
