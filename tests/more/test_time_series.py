"""Series from files and tables, and what a sensor does to a signal: delay, gain, bias and bandwidth."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import inversion
from inversion import Bounded, Gaussian, Log, Observations, Problem, Series
from inversion.noise import Correlated
from inversion.signals import interpolate, low_pass
from tests import toys


def test_samples_between_times_are_of_third_order():
    at = jnp.linspace(0.3, 2.9, 37)
    errors = []
    for n in (21, 41):
        t = jnp.linspace(0.0, np.sqrt(3.2), n) ** 2  # unequal steps
        errors.append(float(jnp.max(jnp.abs(interpolate(at, t, jnp.sin(2.0 * t)) - jnp.sin(2.0 * at)))))
    assert errors[1] < errors[0] / 6
    line = interpolate(at, t, 1.0 + 2.0 * t)
    np.testing.assert_allclose(line, 1.0 + 2.0 * at, rtol=1e-12)
    assert np.isnan(interpolate(jnp.array([-0.01, 3.3]), t, t)).all()


def test_a_run_that_ended_early_is_read_until_its_end():
    """Its end fills the times that it did not reach."""
    t = jnp.minimum(jnp.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), 2.5)
    at = jnp.array([0.0, 0.5, 2.2, 2.5])
    np.testing.assert_allclose(interpolate(at, t, 1.0 + 2.0 * t), 1.0 + 2.0 * at, rtol=1e-12)
    np.testing.assert_allclose(interpolate(at, t, t**2), interpolate(at, t[:4], t[:4] ** 2), rtol=1e-12)
    assert np.isnan(interpolate(jnp.array([2.6]), t, t)).all()
    np.testing.assert_array_equal(*(low_pass(t[:n], t[:n] ** 2, jnp.asarray(0.3))[:4] for n in (6, 4)))
    slopes = jax.jacfwd(lambda end: interpolate(at[:3], jnp.minimum(t, end), 2.0 * jnp.minimum(t, end)))(2.5)
    assert np.isfinite(slopes).all()


def test_a_filter_has_half_the_power_at_its_bandwidth():
    t = jnp.linspace(0.0, 40.0, 8001)
    heard = np.asarray(low_pass(t, jnp.sin(2.0 * jnp.pi * 0.7 * t), jnp.asarray(0.7)))[4001:]
    np.testing.assert_allclose(2.0 * np.mean(heard**2), 0.5, rtol=2e-3)


def ball(p):
    """A damped oscillation of two frequencies, without which delay and bandwidth are one, at times of its own."""
    t = jnp.linspace(-1.0, 9.0, 401)
    return {
        "acc": (t, jnp.exp(-0.1 * t) * (jnp.cos(p["w"] * t) + jnp.sin(5.0 * p["w"] * t)))
    }, toys.always_problem()


SENSOR = {"delay": "lag", "gain": "gain", "bias": "bias", "bandwidth": "band"}

PRIORS = {
    "w": Bounded(1.5, 2.5, "rad/s"),
    "lag": Bounded(-0.3, 0.3, "s"),
    "gain": Bounded(0.5, 2.0),
    "bias": Gaussian(0.0, 1.0),
    "band": Log(0.2, 5.0, "Hz"),
}

TRUE = {"w": 2.0, "lag": 0.12, "gain": 1.3, "bias": -0.4, "band": 1.0}


def test_delay_gain_bias_and_bandwidth_are_ordinary_parameters(key):
    times = np.sort(np.random.default_rng(0).uniform(0.0, 8.5, 120))
    blank = Series(times, np.zeros(120), 0.01, **SENSOR)
    readings = blank.readings(ball({"w": jnp.asarray(2.0)})[0]["acc"], TRUE)
    values = np.asarray(readings) + 0.01 * np.random.default_rng(1).normal(size=120)
    values[40:60] = np.nan  # a gap
    problem = Problem(PRIORS, ball, Observations({"acc": Series(times, values, 0.01, **SENSOR)}))
    found = inversion.fit(problem, key=key, starts=32, keep=3)
    assert found.ok and found.data == 100
    for name, value in TRUE.items():
        assert abs(found.values[name] - value) < 3.5 * found.sigma[name] < 0.5, name


def test_a_series_that_the_solution_does_not_reach_fails(key):
    data = Observations({"acc": Series([0.0, 8.9], [1.0, 0.0], 0.1, delay="lag")})
    problem = Problem({"lag": Bounded(-0.3, 0.3)}, lambda p: ball({"w": 2.0}), data)
    assert problem.evaluate(problem.to_prior_scale({"lag": 0.0})).ok
    assert not problem.evaluate(problem.to_prior_scale({"lag": -0.2})).ok  # 9.1 s, after the end at 9.0
    late = Problem({"lag": Bounded(-3.0, -2.0)}, lambda p: ball({"w": 2.0}), data)
    with pytest.raises(RuntimeError, match="times of a Series"):
        inversion.fit(late, key=key, starts=4, keep=2)


def test_correlated_errors_take_the_times_of_the_series():
    series = Series([0.0, 1.0, 2.0, 3.0], [1.0, np.nan, 1.0, 1.0], 0.1, noise=Correlated(0.2, 1.5))
    np.testing.assert_allclose(series.noise.times, [0.0, 2.0, 3.0])
    assert series.rows == 3
