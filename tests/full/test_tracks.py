"""Inversion of contact coefficients from tracks: flights, arcs, weights, and what a fit finds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

from difsim.body import RigidState
from experiments.hopper import tracks
from experiments.hopper.losses import LOSSES
from experiments.hopper.track import NOISE, SAMPLES, Track, change, change_state, estimate, fly, track

STATE = RigidState((0.1, -0.2, 1.5), (0.03, 0.01, 0.05), (0.8, 0.36, 0.48, 0.0), (0.2, -0.1, 0.3))


def test_the_state_of_a_flight_has_the_errors_that_it_states():
    """120 flights at once: the misses, in the estimate's own spread, are independent unit normals."""
    rng, n = np.random.default_rng(2), 120
    times = jnp.tile(jnp.linspace(3.0, 15.0, SAMPLES), (n, 1))
    true = jax.vmap(lambda t: fly(STATE, t - 9.0))(times[0])
    noise = {k: jnp.asarray(s * rng.standard_normal((n, SAMPLES, 12 // 4))) for k, s in NOISE.items()}

    def see(dx, turn, dw):
        d = jnp.concatenate([dx, jnp.zeros_like(dx), turn, dw], axis=1)
        return jax.vmap(change_state)(true, d)

    told = estimate(Track(STATE, times, jax.vmap(see)(*noise.values())))
    misses = jax.vmap(lambda s: change(s, STATE))(told.states)
    z = np.linalg.solve(np.asarray(told.spreads), np.asarray(misses)[..., None])[..., 0]
    assert np.sum(z**2) == pytest.approx(12 * n, rel=4 * np.sqrt(2 / (12 * n)))
    assert np.abs(z.mean(axis=0)).max() < 4 / np.sqrt(n)


def test_multiple_shooting_finds_the_ground_from_a_random_start():
    for seed in (1000, 1001):
        assert tracks.attempt("multiple shooting", 3, seed)["found"]


@pytest.mark.parametrize("loss", ["final state", "whole track", "progressive horizon"])
def test_over_one_bounce_any_loss_finds_the_ground(loss):
    assert tracks.attempt(loss, 1, 0)["found"]


class Silent:
    """A generator of noise that makes none."""

    def standard_normal(self, shape):
        return np.zeros(shape)


def test_without_noise_multiple_shooting_finds_the_truth():
    """The arcs are the motion that made the track: what is left are the errors of a solver at 1e-7."""
    rng, made = np.random.default_rng(5), None
    while made is None:
        truth = tracks.draw(tracks.TRUTHS, rng)
        made = track(truth, rng.standard_normal(9), Silent())
    found = LOSSES["multiple shooting"](made, 5, tracks.draw(tracks.GUESSES, rng), jax.random.PRNGKey(0))
    assert found.misfit < 1
    for name in tracks.NAMES:
        assert found.values[name] == pytest.approx(truth[name], abs=0.1 * found.sigma[name])


def test_multiple_shooting_states_its_errors():
    """Eight tracks over 5 bounces: χ² of the fits, and of their errors in the stated intervals."""
    rows = tracks.stack([tracks.attempt("multiple shooting", 5, seed) for seed in range(1000, 1008)])
    assert rows["found"].all()
    assert rows["misfit"].sum() < chi2.isf(1e-3, 8 * (12 * 5 - 3))
    z = (rows["value"] - rows["truth"]) / rows["sigma"]
    assert (np.sum(z**2, axis=0) < chi2.isf(1e-3, 8)).all()
