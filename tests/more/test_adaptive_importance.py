"""Adaptive importance sampling: kernels along a curve, weights of several densities, and particles of all stages."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from inversion import Bounded, Observation, Observations, Problem, Tempered, sample
from inversion.cube import Cube
from inversion.kernels import Mixture, uniform
from inversion.particles import Particles, pool_stages
from inversion.placing import place
from inversion.tails import evidence_of, share_of
from inversion.weighted import WeightedDraws
from tests import random_posteriors, toys


def plane_problem():
    unknowns = {"x": Bounded(0.0, 1.0), "y": Bounded(0.0, 1.0)}
    predict = lambda p: ({"r": p["x"] + p["y"]}, jnp.array(True))  # noqa: E731
    return Cube(Problem(unknowns, predict, Observations({"r": Observation(0.0, 1.0)})))


def arc(rng, count):
    """Draws of a thin parabola in z, with the logarithm of their density by the prior's."""
    z = rng.standard_normal(count)
    off = 0.02 * rng.standard_normal(count)
    z = np.stack([z, 0.5 * (z**2 - 1.0) + off], axis=1)
    return uniform(z), -0.5 * (off / 0.02) ** 2 - np.log(0.02) + 0.5 * z[:, 1] ** 2


def test_kernels_of_a_window_lie_along_a_curve():
    rng, cube = np.random.default_rng(0), plane_problem()
    u, log_density = arc(rng, 4000)
    equal = np.full(2000, 1.0 / 2000)
    # 1 / share = E[density of the arc / density of the kernels] over the arc.
    shares = {
        window: 1.0
        / np.mean(np.exp(log_density[2000:] - place(cube, u[:2000], equal, window, 0.1).log_density(u[2000:])))
        for window in (0.2, np.inf)
    }
    assert shares[0.2] > 0.3 and shares[np.inf] < 0.1


def test_an_infinite_window_is_one_gaussian():
    rng, cube = np.random.default_rng(1), plane_problem()
    z = np.array([0.3, -0.2]) + rng.standard_normal((2000, 2)) @ np.array([[0.2, 0.1], [0.0, 0.3]])
    kernels = place(cube, uniform(z), np.full(2000, 1.0 / 2000), np.inf, 0.1)
    np.testing.assert_allclose(kernels.centres, np.broadcast_to(z.mean(axis=0), kernels.centres.shape), atol=1e-9)
    spread = kernels.factors @ kernels.factors.transpose(0, 2, 1)
    np.testing.assert_allclose(spread, np.broadcast_to(np.cov(z.T, bias=True), spread.shape), rtol=2e-3)


def test_draws_of_a_poor_and_a_good_density_count_together():
    """The integral of a Gaussian: nearly no draw of the poor density counts, of both together about a half."""
    cube, drawn, rng = plane_problem(), WeightedDraws(2), np.random.default_rng(2)
    equal = np.full(4000, 1.0 / 4000)
    poor, good = (place(cube, uniform(s * rng.standard_normal((4000, 2))), equal, np.inf, 0.1) for s in (1.0, 0.1))
    for density, least, largest in ((poor, 0.0, 0.1), (good, 0.4, 0.6)):
        drawn.change(Mixture(density))
        u = density.sample(rng, 2000)
        drawn.add(u, good.log_density(u))
        assert least < share_of(drawn.log_ratio) < largest
        value, error = evidence_of(drawn.log_ratio)
        assert abs(value) < 4.0 * error < 1.0


def test_a_density_without_draws_is_forgotten():
    cube, drawn, rng = plane_problem(), WeightedDraws(2), np.random.default_rng(3)
    broad, narrow = (
        Mixture(place(cube, uniform(s * rng.standard_normal((400, 2))), np.full(400, 1.0 / 400), np.inf, 0.1))
        for s in (1.0, 0.3)
    )
    drawn.change(broad)
    drawn.change(narrow)
    assert drawn.densities == [narrow] and drawn.counts == [0]


def test_particles_of_all_stages_represent_the_posterior():
    tempered, cube, key = Tempered(800, 8), Cube(toys.linear(), 200), jax.random.PRNGKey(0)
    stages = tempered.stages(cube, key, None, False)
    particles = pool_stages(stages)
    last = stages[-1]["u"].reshape(-1, 2)
    assert particles.size > 800
    np.testing.assert_allclose(
        particles.weights(1.0) @ particles.u, last.mean(axis=0), atol=0.3 * last.std(axis=0).min()
    )


def test_the_square_root_of_the_likelihood_is_wider():
    rng = np.random.default_rng(4)
    z = 3.0 * rng.standard_normal(20_000)
    log_likelihood = np.where(z > 12.0, -np.inf, -0.5 * z**2)
    particles = Particles(uniform(z)[:, None], log_likelihood, log_likelihood + 0.5 * (z / 3.0) ** 2)
    for power, variance in ((1.0, 1.0), (0.5, 2.0)):
        assert particles.weights(power) @ z**2 == pytest.approx(variance, rel=0.05)


def test_kernels_that_change_at_few_families_are_a_fault():
    found = sample(toys.linear(), key=jax.random.PRNGKey(0), effective_size=200, batch_size=200)
    assert found.fault is None and found.sampled.is_settled
    changing = replace(found.sampled, is_settled=False, other=(found.log_evidence, 0.5))
    assert "have not settled" in replace(found, sampled=changing).fault
    many = replace(changing, other=(found.log_evidence, 0.2))
    assert replace(found, sampled=many).fault is None


@pytest.mark.parametrize("seed", [0, 1])
def test_ends_of_a_thin_parabola_are_not_missed(seed):
    case = random_posteriors.curved_problem(np.random.default_rng([0, 68]))
    verdict, off, found = random_posteriors.judge(case, jax.random.PRNGKey(seed))
    assert verdict == "right", (off, found.verdict)
