"""One fit through the impact: what is unknown, what is hidden, derivatives, and whether the intervals hold."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.cobbles import impact, paper
from experiments.cobbles.cameras import scenario
from experiments.cobbles.scene import release
from experiments.cobbles.stones import cobble, stone
from experiments.cobbles.through import TIMES, images, information, inverse, sensitivity, setup
from tests.collision_toy import ball, fly, motion_sensitivity, theta
from tests.more.test_cobbles_impact import (
    MARKERS,
    rig,  # noqa: F401  # of fixtures
)


def test_the_derivatives_are_those_of_the_pixels_and_priors(rig):
    """The chain rule in two parts, motion and view, against the derivative of the whole."""
    known = setup(ball(), rig, MARKERS, ("calibration", "markers"))
    times = jnp.linspace(0.0, 1.6, 4)
    n = len(known.loose)

    @jax.jit
    def differentiate(s):
        whole = jax.jacfwd(lambda s: images(known.perturb(s[26:]), fly(s[:26], times)[0]).ravel())(s)
        ours = information(known, motion_sensitivity(s[:26], times), jnp.ones((2, 4, 2, 2)), 2.0)
        prior = jnp.concatenate([1 / known.width**2, jnp.ones(n)])
        return ours, whole.T @ whole / 4 + jnp.diag(prior)

    ours, whole = differentiate(jnp.concatenate([theta(), jnp.zeros(n)]))
    scale = np.sqrt(np.diag(whole))
    np.testing.assert_allclose(ours / np.outer(scale, scale), whole / np.outer(scale, scale), atol=1e-12)
    # What is not known as well cannot make anything sharper.
    known_view = np.diag(inverse(ours[:26, :26]))
    assert (np.diag(inverse(ours))[:26] >= known_view * (1 - 1e-9)).all()


@pytest.fixture(scope="module")
def experiment():
    shape = cobble("generated", 5)
    return setup(stone(shape, 30), scenario(1), np.tile(shape.mesh.vertices[::300], (2, 1, 1)), ("calibration",))


def test_the_sensitivities_go_through_the_impact(experiment):
    at = lambda x: sensitivity(experiment.stone, experiment.law, x, jnp.asarray(TIMES))  # noqa: E731
    x = impact.theta_of(experiment, release(30.0))
    here = at(x)
    assert int(here.contacts) == 1
    for i, h in ((24, 1e-5), (3, 1e-6), (22, 1e-5)):
        step = jnp.zeros(26).at[i].set(h)
        up, down = at(x + step), at(x - step)
        for of in (lambda p: p.first.position[-1], lambda p: p.second.spin[-1]):
            slope = (of(up.path) - of(down.path)) / (2 * h)
            ours = of(jax.tree.map(lambda leaf, i=i: leaf[i], here.by_theta))
            np.testing.assert_allclose(ours, slope, atol=1e-4 * (1e-3 + np.abs(slope).max()))


def test_fits_hold_the_truth_with_the_calibration_unknown(experiment):
    x = impact.theta_of(experiment, release(paper.INCLINATION))
    case = impact.case_of(experiment, x, sensitivity(experiment.stone, experiment.law, x, jnp.asarray(TIMES)))
    told = impact.predict_errors(experiment, case, jnp.asarray(1.0))
    keys = jax.random.split(jax.random.PRNGKey(3), 10)
    made = impact.fits(experiment, case, told["start_covariance"], jnp.asarray(1.0), keys)
    best = np.arange(10), np.argmin(made["misfit"], axis=1)
    assert np.all(np.asarray(made["misfit"])[best] < 2 * int(case.seen.sum()) * 1.2)
    # Of friction only the prior is known.
    z = np.delete(np.asarray(made["error"] / made["fit_sigma"])[best], 25, axis=1)
    assert np.mean(np.abs(z[:, 24]) < 1.96) >= 0.8 and np.mean(np.abs(z) < 1.96) > 0.9
    assert float(told["restitution_sigma"]) == pytest.approx(
        float(np.median(np.asarray(made["fit_sigma"])[best][:, 24])), rel=0.1
    )
