"""States fitted to the pixels of markers: exact Jacobians, gaps, wrong tracks, and honest covariances."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.body import RigidBody, RigidState
from difsim.rotation import Rotation
from experiments.cobbles.arcs import (
    ArcProblem,
    Known,
    Tracks,
    coast,
    fit_arc,
    images,
)
from experiments.cobbles.cameras import scenario
from experiments.cobbles.montecarlo import ENDED
from experiments.cobbles.paper import INERTIA, MASS
from experiments.cobbles.tracks import directions

STATE = np.array([-0.06, -0.15, 0.0, -0.08, -0.22, 0.01, 0.1, 0.2, -0.3, 0.9, 0.2, 0.8])

TIMES = np.linspace(1.05, 1.8, 6)

SCALE = np.full(12, 0.1)


@pytest.fixture(scope="module")
def body():
    return RigidBody(MASS, np.diag(INERTIA))


@pytest.fixture(scope="module")
def rig():
    return scenario(3)


@pytest.fixture(scope="module")
def problem(body, rig):
    """An arc with two cameras that see five markers now and then; noise-free."""
    markers = np.random.default_rng(0).uniform(-0.05, 0.05, (5, 3))
    known = Known(rig, body, markers)
    pixels = jax.jit(images)(known, jnp.asarray(STATE), jnp.asarray(TIMES))
    seen = np.random.default_rng(1).random(pixels.shape[:3]) < 0.6
    seen[3:, 1] = False  # the second camera loses the body
    tracks = Tracks(TIMES, np.where(seen[..., None], pixels, 0.0), jnp.asarray(seen))
    return ArcProblem(known, tracks, 2.0, jnp.inf, STATE, SCALE)


@pytest.fixture(scope="module")
def fitted_arc():
    return eqx.filter_jit(lambda problem, starts: fit_arc(problem, starts, jnp.array(5.0)))


def starts(seed):
    return jnp.asarray(np.random.default_rng(seed).uniform(-1, 1, (3, 12)))


def test_free_body_conserves_energy_and_momentum_and_converges(body):
    start = RigidState(
        np.zeros(3), np.array([0.1, 0.0, 0.0]), np.array([1.0, 0, 0, 0]), np.array([2.0, 3.0, -1.0])
    )
    run = jax.jit(lambda times: coast(body, start, times))

    def drift(steps):
        path = run(jnp.linspace(0.0, 1.5, steps + 1))
        momentum = jax.vmap(lambda q, w: Rotation(q) @ (body.inertia @ w))(path.attitude, path.spin)
        energy = path.spin**2 @ INERTIA
        return max(float(jnp.abs(v - v[:1]).max() / jnp.abs(v[0]).max()) for v in (momentum, energy))

    coarse, fine = drift(30), drift(60)
    assert coarse < 1e-4 and fine < coarse / 12


@pytest.mark.parametrize("robust", [np.inf, 3.0])
def test_the_jacobian_is_that_of_the_residual(problem, robust):
    problem = eqx.tree_at(lambda p: p.robust, problem, jnp.array(robust))
    s = jnp.asarray(np.random.default_rng(2).uniform(-0.3, 0.3, 12))
    ours, whole = LINEARISED(problem, s)
    np.testing.assert_allclose(ours, whole, atol=1e-12 * np.abs(whole).max())
    hidden = ~np.repeat(np.asarray(problem.tracks.seen).ravel(), 2)
    assert hidden.any() and not np.asarray(ours)[hidden].any()


LINEARISED = eqx.filter_jit(lambda p, s: (p.linearise(s), jax.jacfwd(lambda s: p.evaluate(s).residual)(s)))


def test_state_is_found_from_anywhere_in_the_box_despite_gaps(problem, fitted_arc):
    for seed in range(5):
        fit = fitted_arc(problem, starts(seed))
        assert int(fit.status) in ENDED and int(fit.starts) == 1
        np.testing.assert_allclose(fit.x, STATE, atol=1e-7)
    # What was not seen does not count, whatever stands there.
    seen = np.asarray(problem.tracks.seen)
    rubbish = eqx.tree_at(
        lambda p: p.tracks.pixels, problem, jnp.where(seen[..., None], problem.tracks.pixels, 1e6)
    )
    np.testing.assert_array_equal(fitted_arc(rubbish, starts(0)).x, fitted_arc(problem, starts(0)).x)


def test_the_covariance_is_that_of_the_estimates(problem, fitted_arc):
    rng, clean = np.random.default_rng(3), np.asarray(problem.tracks.pixels)
    found = []
    for seed in range(150):
        noisy = clean + 2.0 * rng.standard_normal(clean.shape)
        fit = fitted_arc(eqx.tree_at(lambda p: p.tracks.pixels, problem, jnp.asarray(noisy)), starts(seed))
        error = np.asarray(fit.x) - STATE
        found.append(error @ np.linalg.solve(np.asarray(fit.covariance), error))
    # χ² of 12: the mean of 150 has a standard deviation of 0.4.
    assert abs(np.mean(found) - 12) < 1.6


def test_tracks_that_no_motion_fits_are_not_passed_off_as_a_fit(problem, fitted_arc):
    shape = problem.tracks.pixels.shape
    wild = np.random.default_rng(4).uniform(0, 1000, shape)
    fit = fitted_arc(eqx.tree_at(lambda p: p.tracks.pixels, problem, jnp.asarray(wild)), starts(0))
    assert float(fit.rms) > 5 and int(fit.starts) == 3


def test_slipped_markers_hardly_move_a_robust_fit(problem, fitted_arc):
    slipped = np.array(problem.tracks.pixels)
    slipped[2, 0, np.flatnonzero(problem.tracks.seen[2, 0])[0]] += 60.0
    errors = {}
    for robust in (np.inf, 3.0):
        bad = eqx.tree_at(
            lambda p: (p.tracks.pixels, p.robust), problem, (jnp.asarray(slipped), jnp.array(robust))
        )
        errors[robust] = np.linalg.norm(np.asarray(fitted_arc(bad, starts(0)).x - STATE)[:3])
    assert errors[3.0] < errors[np.inf] / 4


def test_distortion_is_taken_out_again(rig):
    camera = jax.tree.map(lambda leaf: leaf[0], rig)
    places = np.random.default_rng(5).uniform(-0.3, 0.3, (20, 3))
    plane = directions(camera, np.asarray(jax.jit(lambda p: camera.project(p))(jnp.asarray(places))))
    inside = places @ np.asarray(camera.matrix).T + np.asarray(camera.translation)
    np.testing.assert_allclose(plane, inside[:, :2] / inside[:, 2:], atol=1e-12)
