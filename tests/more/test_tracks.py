"""Inversion of contact coefficients from tracks: flights, arcs, weights, and what a fit finds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import least_squares

from difsim.body import RigidState
from experiments.hopper.track import GRAVITY_HERE, GRID, change, change_state, flights
from inversion import Bounded, Observation, Observations, Problem
from inversion.shooting import Chain, progressive

STATE = RigidState((0.1, -0.2, 1.5), (0.03, 0.01, 0.05), (0.8, 0.36, 0.48, 0.0), (0.2, -0.1, 0.3))


def test_arc_covariance_is_that_of_the_mismatches():
    """Against 200 000 draws of a chain of three arcs, the last of which is not used."""
    rng = np.random.default_rng(0)
    spreads, slopes = rng.normal(size=(4, 2, 2)), rng.normal(size=(3, 2, 2))
    slopes[2] = 0
    shifts, slack = rng.normal(size=(4, 2)), np.array([0.5, 0.1])
    chain = Chain(spreads, slopes, shifts, slack, np.array([True, True, False]))
    u, w = rng.normal(size=(200_000, 4, 2)), slack * rng.normal(size=(200_000, 3, 2))
    start, end = np.einsum("aij,naj->nai", slopes, shifts[:3] - u[:, :3]), np.einsum("aij,naj->nai", spreads, u)
    end[:, 3] = 0  # the unused arc misses nothing
    miss = (start + end[:, 1:] + w).reshape(-1, 6)
    np.testing.assert_allclose(chain.covariance, np.cov(miss.T), atol=0.03 * chain.covariance.max())
    np.testing.assert_allclose(chain.mean, miss.mean(axis=0), atol=5 * np.sqrt(chain.covariance.max() / len(miss)))
    # The most likely u are the regression of u on the misses.
    chosen = chain.mean + np.array([1.0, -2.0, 0.5, 1.0, 0.0, 0.0])
    flat = u.reshape(-1, 8)
    slope = np.linalg.solve(np.cov(miss.T), (miss - miss.mean(axis=0)).T @ flat / len(flat))
    np.testing.assert_allclose(chain.estimate(chosen).ravel(), (chosen - chain.mean) @ slope, atol=0.05)
    own = np.linalg.inv(chain.covariance[:2, :2])
    assert chain.chi_squared(chosen)[0] == pytest.approx(np.array([1.0, -2.0]) @ own @ np.array([1.0, -2.0]))


BENT, SIGMA, SLACK, ARCS = 0.5, 0.1, 1e-3, 30


def bend(p, x):
    """An arc's end, with its derivatives by the parameter and by the start."""
    return 1 + p * np.cos(2 * x), np.cos(2 * x), -2 * p * np.sin(2 * x)


def chain(seen, rounds):
    """p and its standard deviation from the estimated states of a chain, by so many rounds."""
    p, shifts = BENT, np.zeros((ARCS + 1, 1))
    for _ in range(rounds):
        end, by_p, by_start = bend(p, seen[:-1] + SIGMA * shifts[:-1, 0])
        spreads, slopes = np.full((ARCS + 1, 1, 1), SIGMA), SIGMA * by_start[:, None, None]
        chain = Chain(spreads, slopes, shifts, np.array([SLACK]), np.ones(ARCS, bool))
        weight = np.linalg.solve(chain.covariance, by_p)
        off = end - seen[1:]
        step = -(weight @ (off - chain.mean)) / (weight @ by_p)
        p, shifts = p + step, chain.estimate(off + by_p * step)
    return p, (weight @ by_p) ** -0.5


def test_rounds_end_at_most_likely_parameters_and_starts():
    """Against scipy's least squares of all unknowns at once; and over 100 chains without the bias of one round."""
    rng, z = np.random.default_rng(1), []
    for i in range(100):
        true = [rng.uniform(0, 1)]
        for _ in range(ARCS):
            true.append(bend(BENT, true[-1])[0] + SLACK * rng.normal())
        seen = np.array(true) + SIGMA * rng.normal(size=ARCS + 1)
        (p, sigma), (once, narrow) = chain(seen, 8), chain(seen, 1)
        z.append(((p - BENT) / sigma, (once - BENT) / narrow))
        if i < 3:

            def residual(x, seen=seen):
                state = seen + SIGMA * x[1:]
                return np.concatenate([x[1:], (bend(x[0], state[:-1])[0] - state[1:]) / SLACK])

            joint = least_squares(residual, np.concatenate([[BENT], np.zeros(ARCS + 1)]), xtol=1e-12).x[0]
            assert p == pytest.approx(joint, abs=1e-4 * sigma)
    told, one_round = np.array(z).T
    assert abs(told.mean()) < 4 / np.sqrt(100) and np.mean(told**2) == pytest.approx(1, abs=4 * np.sqrt(2 / 100))
    assert one_round.mean() < -0.6


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
    np.testing.assert_allclose(change(change_state(STATE, jnp.asarray(d)), STATE), d, atol=1e-12)


def test_flights_are_where_only_gravity_acts():
    t = GRID
    velocity = np.zeros((len(t), 3))
    velocity[:, 2] = -GRAVITY_HERE * t + np.select([t < 10, t < 10.5, t < 30], [0, 0.2 * (t - 10), 0.1], 0.17)
    body = RigidState(velocity, velocity, np.zeros((len(t), 4)), velocity)
    ends = [(GRID[a], GRID[b]) for a, b in flights(body)]
    np.testing.assert_allclose(ends, [(0, 9.9), (10.5, 29.9), (30.0, 240.0)], atol=0.11)
