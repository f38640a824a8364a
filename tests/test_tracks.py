"""Inversion of contact coefficients from tracks: flights, arcs, weights, and what a fit finds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.body import RigidState
from experiments.hopper import tracks
from experiments.hopper.track import (
    GRAVITY_HERE,
    GRID,
    NOISE,
    SAMPLES,
    Track,
    change,
    estimate,
    flights,
    flown,
    moved,
)
from inversion import Bounded, Observation, Observations, Problem
from inversion.shooting import expected_misses, progressive

STATE = RigidState((0.1, -0.2, 1.5), (0.03, 0.01, 0.05), (0.8, 0.36, 0.48, 0.0), (0.2, -0.1, 0.3))


def test_the_weights_of_arcs_are_the_covariance_of_what_they_miss():
    """Against 200 000 draws of a chain with bent arcs; neighbours share a state, so they are correlated."""
    rng = np.random.default_rng(0)
    spreads, slopes = rng.normal(size=(3, 2, 2)), rng.normal(size=(2, 2, 2))
    curvatures, slack = 0.3 * rng.normal(size=(2, 2, 2)), np.array([0.5, 0.1])
    z, w = rng.normal(size=(200_000, 3, 2)), slack * rng.normal(size=(200_000, 2, 2))
    bent = 0.5 * np.einsum("aij,naj->nai", curvatures, z[:, :2] ** 2)
    miss = (
        np.einsum("aij,naj->nai", slopes, z[:, :2]) + bent - np.einsum("aij,naj->nai", spreads[1:], z[:, 1:]) + w
    )
    miss = miss.reshape(-1, 4)
    mean, told = expected_misses(spreads, slopes, curvatures, slack)
    np.testing.assert_allclose(told, told.T)
    np.testing.assert_allclose(told, np.cov(miss.T), atol=0.03 * np.abs(told).max())
    np.testing.assert_allclose(mean, miss.mean(axis=0), atol=5 * np.sqrt(told.max() / len(miss)))


def test_a_growing_horizon_starts_from_the_fit_before():
    """Of sin(k x) with k = 1, 4, 16 the last has its nearest minimum at the truth only from the fit before it."""
    truth, unknown = 0.7, {"x": Bounded(0.0, 2.0)}

    def predict(p):
        return {"y": jnp.sin(p["k"] * p["x"])}, jnp.array(True)

    def problem(k):
        data = Observations({"y": Observation(np.sin(k * truth), 1e-3)})
        return Problem(unknown | {"k": Bounded(0.0, 20.0)}, predict, data).hold({"k": k})

    found = progressive(
        [problem(k) for k in (1.0, 4.0, 16.0)], key=jax.random.PRNGKey(0), guess={"x": 0.2, "k": 1.0}
    )
    assert found[-1].values["x"] == pytest.approx(truth, abs=1e-3)
    alone = progressive([problem(16.0)], key=jax.random.PRNGKey(0), guess={"x": 0.2, "k": 1.0})
    assert abs(alone[-1].values["x"] - truth) > 0.1


def test_a_change_of_state_and_its_inverse():
    d = 0.3 * np.random.default_rng(1).normal(size=12)
    np.testing.assert_allclose(change(moved(STATE, jnp.asarray(d)), STATE), d, atol=1e-12)


def test_flights_are_where_only_gravity_acts():
    t = GRID
    velocity = np.zeros((len(t), 3))
    velocity[:, 2] = -GRAVITY_HERE * t + np.select([t < 10, t < 10.5, t < 30], [0, 0.2 * (t - 10), 0.1], 0.17)
    body = RigidState(velocity, velocity, np.zeros((len(t), 4)), velocity)
    ends = [(GRID[a], GRID[b]) for a, b in flights(body)]
    np.testing.assert_allclose(ends, [(0, 9.9), (10.5, 29.9), (30.0, 240.0)], atol=0.11)


@pytest.mark.slow
def test_the_state_of_a_flight_has_the_errors_that_it_states():
    """120 flights at once: the misses, in the estimate's own spread, are independent unit normals."""
    rng, n = np.random.default_rng(2), 120
    times = jnp.tile(jnp.linspace(3.0, 15.0, SAMPLES), (n, 1))
    true = jax.vmap(lambda t: flown(STATE, t - 9.0))(times[0])
    noise = {k: jnp.asarray(s * rng.standard_normal((n, SAMPLES, 12 // 4))) for k, s in NOISE.items()}

    def seen(dx, turn, dw):
        d = jnp.concatenate([dx, jnp.zeros_like(dx), turn, dw], axis=1)
        return jax.vmap(moved)(true, d)

    told = estimate(Track(STATE, times, jax.vmap(seen)(*noise.values())))
    misses = jax.vmap(lambda s: change(s, STATE))(told.states)
    z = np.linalg.solve(np.asarray(told.spreads), np.asarray(misses)[..., None])[..., 0]
    assert np.sum(z**2) == pytest.approx(12 * n, rel=4 * np.sqrt(2 / (12 * n)))
    assert np.abs(z.mean(axis=0)).max() < 4 / np.sqrt(n)


def test_coverage_counts_only_intervals_inside_the_prior():
    rows = {
        "truth": np.array([[0.6, 0.3, 1e-3]] * 4),
        "value": np.array([[0.61, 0.3, 1e-3], [0.63, 0.3, 1e-3], [0.6, 0.3, 1e-3], [0.9, 0.3, 1e-3]]),
        "sigma": np.array([[0.02, 1.0, 1e-4], [0.02, 0.01, 1e-4], [0.02, 0.01, 1e-4], [0.1, 0.01, 1e-4]]),
    }
    table = tracks.coverage(rows)
    assert table["restitution"]["stated"] == 3 and table["friction"]["stated"] == 3
    assert table["restitution"]["within_0.68"] == pytest.approx(2 / 3)
    assert table["restitution"]["within_0.95"] == 1.0


@pytest.mark.slow
def test_multiple_shooting_finds_the_ground_from_a_random_start():
    for seed in (1000, 1001):
        assert tracks.attempt("multiple shooting", 3, seed)["found"]
