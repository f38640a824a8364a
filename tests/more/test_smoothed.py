"""Gradients of an expectation against closed forms, and their error bars against the scatter of many runs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from inversion import pathwise_gradient, smoothed_gradient

POINT, SPREAD = jnp.array([0.3, -0.2]), jnp.array([0.5, 0.1])
CURVED, STRAIGHT = jnp.array([[2.0, 0.5], [0.5, -1.0]]), jnp.array([1.0, 3.0])


def test_a_quadratic_is_exact():
    """d E[x'Ax + b'x]/dp = 2 A p + b, whatever the spread; pairs leave no noise."""

    def quadratic(x):
        return jnp.stack([x @ CURVED @ x + STRAIGHT @ x, 5.0 - x[0]])

    exact = [2 * CURVED @ POINT + STRAIGHT, [-1.0, 0.0]]
    found = smoothed_gradient(quadratic, POINT, SPREAD, 16, jax.random.PRNGKey(0))
    np.testing.assert_allclose(found.gradient, exact, atol=1e-12)
    assert found.error.max() < 1e-12 and found.ok.all()
    paths = pathwise_gradient(quadratic, POINT, SPREAD, 400, jax.random.PRNGKey(0))
    assert (np.abs(paths.gradient - jnp.asarray(exact)) < 5 * paths.error + 1e-12).all()


def step_and_wave(x):
    return jnp.stack([jnp.where(x[0] > 0, 1.0, 0.0), jnp.sin(3 * x[0])])


def closed_form(p, spread):
    """Gradients of E of a step and of sin 3x under a normal spread: φ(p/σ)/σ and 3 cos(3p) exp(-9σ²/2)."""
    bell = np.exp(-0.5 * (p / spread) ** 2) / np.sqrt(2 * np.pi) / spread
    return np.array([bell, 3 * np.cos(3 * p) * np.exp(-4.5 * spread**2)])


def test_error_bars_cover_the_truth():
    """Of 400 runs some 95 % have the truth within 1.96 errors, for a function that jumps too."""
    point, spread = jnp.array([0.3]), jnp.array([0.5])
    run = jax.jit(lambda key: smoothed_gradient(step_and_wave, point, spread, 200, key, batch_size=200))
    found = jax.lax.map(run, jax.random.split(jax.random.PRNGKey(1), 400))
    away = (np.asarray(found.gradient[..., 0]) - closed_form(0.3, 0.5)) / np.asarray(found.error[..., 0])
    covered = np.mean(np.abs(away) < 1.96, axis=0)
    assert (covered > 0.9).all() and (covered < 0.98).all(), covered
    assert (np.abs(away.mean(axis=0)) < 0.25).all()


def test_paths_miss_a_jump_and_their_error_bar_does_not_know():
    """Why both stand side by side: the pathwise mean of a step is 0 with error 0; of a wave it is right."""
    found = pathwise_gradient(step_and_wave, jnp.array([0.3]), jnp.array([0.5]), 400, jax.random.PRNGKey(2))
    assert found.gradient[0, 0] == 0 and found.error[0, 0] == 0
    assert abs(found.gradient[1, 0] - closed_form(0.3, 0.5)[1]) < 4 * found.error[1, 0]


def test_failed_samples_are_marked_and_left_out():
    def fails(x):
        return jnp.where(x[:1] > 1.0, jnp.nan, 2.0 * x[:1])

    for estimate in (smoothed_gradient, pathwise_gradient):
        found = estimate(fails, jnp.array([0.3]), jnp.array([0.5]), 200, jax.random.PRNGKey(3))
        assert 0 < (~found.ok).sum() < 60 and found.failed_share == pytest.approx(np.mean(~np.asarray(found.ok)))
        np.testing.assert_allclose(found.gradient, [[2.0]], rtol=1e-12)


def test_too_few_pairs_that_did_not_fail_are_no_gradient():
    """Two pairs fit two slopes without any scatter, and the error bar of that is none."""

    def fails(x):
        return jnp.where(jnp.abs(x[:1] - POINT[0]) > 0.07, jnp.nan, x[:1] ** 3 + x[1:])

    found = smoothed_gradient(fails, POINT, jnp.array([0.5, 0.5]), 40, jax.random.PRNGKey(0))
    assert found.failed_share > 0.8 and np.isnan(found.gradient).all() and np.isnan(found.error).all()
