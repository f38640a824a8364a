"""The series of a contact: low pass, delay, range and their derivatives; and readings that are bounds."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import norm

from difsim.contact import Poncelet, Regolith
from experiments.contact.cubics import Cubics
from experiments.contact.sensor import Sensor
from experiments.contact.shapes import PLATE, SPHERE
from experiments.contact.world import Plunge
from inversion.noise import Censored, Normal

CLOCK = jnp.linspace(-0.01, 0.1, 37)
AT = {
    "speed": 4.0,
    "hardening": 1.4e5,
    "drag": 1570.0,
    "delay": 4.13e-3,
    "bandwidth": 400.0,
    "gain": 1.02,
    "bias": 0.3,
}


def read(shape, x):
    speed, hardening, drag, *sensor = x
    motion = Plunge(Poncelet(0.0, hardening, drag), 0.0692, 0.0127, speed, 9.81, shape).fall()
    delay, bandwidth, gain, bias = sensor
    seen = Sensor(delay, bandwidth, 1.0, gain, bias, 100.0)
    readings = seen.sense(motion, CLOCK)
    return readings, seen.clip(readings), jnp.stack([motion.depth[-1], motion.time[-1], motion.peak_deceleration])


@pytest.mark.parametrize("shape", [SPHERE, PLATE], ids=["sphere", "plate"])
def test_derivatives_of_readings_agree_with_differences(shape):
    f, x = jax.jit(partial(read, shape)), jnp.array(list(AT.values()))
    open_end, clipped, _ = f(x)
    beyond = np.asarray(open_end > 100.0)
    assert beyond.any() and not beyond.all() and jnp.max(clipped) == 100.0
    slopes = jax.jit(jax.jacfwd(partial(read, shape)))(x)
    assert np.all(np.asarray(slopes[1])[beyond] == 0.0)  # what is clipped does not change
    for i in range(x.size):
        h = 1e-5 * x[i]
        up, down = f(x.at[i].add(h)), f(x.at[i].add(-h))
        for a, b, slope in zip(up, down, slopes, strict=True):
            difference = (a - b) / (2 * h)
            scale = jnp.max(jnp.abs(difference))
            np.testing.assert_allclose(slope[..., i], difference, rtol=1e-6, atol=1e-5 * scale)


@pytest.mark.parametrize("lag", [3e-4, 5e-2])
def test_the_low_pass_is_that_of_first_order(lag):
    motion = jax.jit(lambda v: Plunge(Poncelet(0.0, 1.4e5, 1570.0), 0.0692, 0.0127, v, 9.81, SPHERE).fall())(4.0)
    force = Cubics.through(motion.time, motion.specific_force, motion.specific_force_rate)
    end = float(motion.time[-1])
    time = np.linspace(0.0, 0.1, 200_001)
    u = np.where(time < end, jax.vmap(force)(jnp.asarray(time)), 9.81)
    stays = np.exp(-time[1] / lag)
    slow = np.append(0.0, lfilter([1 - stays], [1, -stays], 0.5 * (u[1:] + u[:-1])))
    at = np.linspace(0.0, 0.1, 57)
    found = Sensor(0.0, 1 / (2 * np.pi * lag)).sense(motion, jnp.asarray(at))
    np.testing.assert_allclose(found, np.interp(at, time, slow), atol=3e-4 * u.max())


def test_a_sensor_feels_nothing_before_and_gravity_after():
    motion = Plunge(Poncelet(0.0, 1.4e5, 1570.0), 0.0692, 0.0127, 2.0, 9.81, PLATE).fall()
    readings = Sensor(0.01, 1e4).sense(motion, jnp.array([0.0, 0.0099, 0.2]))
    np.testing.assert_allclose(readings, [0.0, 0.0, 9.81], atol=1e-9)


def test_the_law_of_a_footpad_is_a_ground_too():
    ground = Regolith(0.5, 1e-2, 2000.0, 1e7, 0.5, gravity=9.81)
    motion = jax.jit(lambda v: Plunge(ground, 10.0, 0.1, v, 9.81, SPHERE).fall())(1.0)
    assert motion.has_stopped and 0.0 < motion.depth[-1] < 0.5
    # Work of the force along the way is the energy that there was.
    force = np.asarray(motion.specific_force)
    work = np.trapezoid(force, np.asarray(motion.depth))
    assert work == pytest.approx(0.5 * 1.0**2 + 9.81 * float(motion.depth[-1]), rel=2e-3)


def test_a_body_that_never_stops_says_so():
    assert not Plunge(Poncelet(0.0, 1e-6), 1.0, 0.1, 1.0, 9.81, PLATE).fall().has_stopped


def test_bounds_have_the_probability_beyond_them():
    d, sigma, beyond = jnp.array([0.3, 1.0, -2.0]), jnp.array([1.0, 2.0, 0.5]), jnp.array([0.0, 1.0, -1.0])
    found = Censored(beyond, "size").compare(d, sigma, {"size": jnp.array(1.5)})
    r = np.asarray(d / sigma) / 1.5
    expected = r[0] ** 2 + 2 * np.log(1.5) - 2 * norm.logcdf(r[1]) - 2 * norm.logcdf(-r[2])
    assert found.misfit == pytest.approx(expected, rel=1e-12)


def test_rows_of_bounds_have_the_gradient_of_the_misfit():
    sigma, beyond = jnp.array([1.0, 2.0, 0.5, 1.0]), jnp.array([0.0, 1.0, -1.0, 1.0])

    def compare(x):
        return Censored(beyond, "size").compare(x[:4], sigma, {"size": x[4]})

    x = jnp.array([0.3, 1.0, -2.0, 60.0, 1.5])  # a prediction far beyond a bound, too
    rows, slopes = compare(x).residual, jax.jacfwd(lambda x: compare(x).residual)(x)
    np.testing.assert_allclose(slopes.T @ rows, 0.5 * jax.grad(lambda x: compare(x).misfit)(x), atol=1e-12)
    assert np.isfinite(rows).all() and np.isfinite(slopes).all()


def test_without_bounds_the_law_is_the_normal_one():
    d, sigma, p = jnp.array([0.3, -1.0]), jnp.array([1.0, 2.0]), {"size": jnp.array(1.5)}
    for a, b in zip(
        Censored(jnp.zeros(2), "size").compare(d, sigma, p), Normal("size").compare(d, sigma, p), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_scores_of_bounds_are_unit_normal():
    rng, true = np.random.default_rng(0), 0.4
    reading = true + rng.standard_normal(4000)
    beyond = np.where(reading > 0.5, 1.0, np.where(reading < -0.5, -1.0, 0.0))
    law = Censored(beyond)
    scores = np.asarray(law.scores(jnp.asarray(true - np.clip(reading, -0.5, 0.5)), jnp.ones(4000), {}))
    assert np.mean(scores) == pytest.approx(0.0, abs=0.06) and np.std(scores) == pytest.approx(1.0, abs=0.04)
