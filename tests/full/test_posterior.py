"""Posteriors: exact ones come back, what cannot be trusted is refused, and a killed run goes on."""

import jax
import numpy as np

from inversion import Importance, Tempered, sample
from tests import toys
from tests.toys import PRIOR, exact, posterior


def test_gaussian_posterior_is_exact():
    mean, covariance, evidence = exact()
    large = Importance(Tempered(800, 8), generation=20_000)
    found = sample(
        toys.linear(**PRIOR), key=jax.random.PRNGKey(0), method=large, batch_size=1000, effective_size=200_000
    )
    draws, sigma = np.stack([found.draws["a"], found.draws["b"]]), np.sqrt(np.diag(covariance))
    off = draws - (draws @ found.weights)[:, None]
    np.testing.assert_allclose(draws @ found.weights, mean, atol=0.01 * sigma.min())
    np.testing.assert_allclose((found.weights * off) @ off.T, covariance, atol=0.01 * sigma.min() ** 2)
    assert abs(found.log_evidence - evidence) < 0.01  # 1 % of the evidence
    assert found.ok and found.k_hat < 0.5 and found.effective_size > 100_000


def test_bounds_of_a_tree_drop_leaves():
    problem = toys.mixed_problem()[0]
    dropped = posterior(problem, bound=toys.bounding_tree().bound)
    assert "12 of 18 leaves dropped by their bounds" in str(dropped)
    without = posterior(problem)
    for name in ("h", "m"):
        (mean, error), (other, its_error) = (p.estimate(p.draws[name]) for p in (dropped, without))
        assert abs(mean - other) < 5 * np.hypot(error, its_error)
