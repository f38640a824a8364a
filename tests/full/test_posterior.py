"""Posteriors: exact ones come back, what cannot be trusted is refused, and a killed run goes on."""

import jax
import jax.numpy as jnp
import numpy as np

from experiments import ranks
from inversion import (
    Bounded,
    Discrete,
    Fixed,
    Gaussian,
    Importance,
    Log,
    Observation,
    Observations,
    Problem,
    Tempered,
    sample,
)
from tests import random_posteriors, toys
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


def test_random_posteriors_are_right_or_say_that_they_are_not():
    counts, lines = random_posteriors.search(len(random_posteriors.KINDS), 3)
    assert not any(verdict == "wrong" for _, verdict in counts), lines
    assert sum(count for (_, verdict), count in counts.items() if verdict == "right") >= 5, lines


def bounce(p):
    """Rebound speed and time of contact of a damped spring."""
    speed = jnp.sqrt(2.0 * p["gravity"] * p["height"])
    contact = jnp.pi * jnp.sqrt(p["mass"] / p["stiffness"])
    return {"rebound": p["restitution"] * speed, "contact": contact}, p["stiffness"] > 0.0


def ball(truth, key):
    """A ball that bounces, with data of known truth."""
    parameters = {
        "height": Gaussian(1.0, 0.01, unit="m"),
        "restitution": Bounded(0.0, 1.0),
        "stiffness": Discrete((1e4, 1.3e4, 1.7e4), unit="N/m", relaxed=Log),
        "mass": Fixed(0.5, unit="kg"),
        "gravity": Fixed(9.81, unit="m/s2"),
    }
    made, _ = bounce(truth | {"mass": 0.5, "gravity": 9.81})
    noise = dict(zip(made, jax.random.normal(key, (2,)), strict=True))
    sigma = {"rebound": 0.5, "contact": 3e-3}
    data = {k: Observation(made[k] + sigma[k] * noise[k], sigma[k]) for k in made}
    return Problem(parameters, bounce, Observations(data))


def rank_truths(repetitions):
    """Ranks of the truth among draws of the posterior, which are uniform if priors and posteriors are consistent."""
    found, method = (
        {"height": [], "restitution": [], "stiffness": []},
        Importance(Tempered(400, 8), generation=400),
    )
    for i in range(repetitions):
        keys = jax.random.split(jax.random.PRNGKey(i), 4)
        truth = {
            "height": 1.0 + 0.01 * jax.random.normal(keys[0]),
            "restitution": jax.random.uniform(keys[1]),
            "stiffness": jax.random.choice(keys[2], jnp.array([1e4, 1.3e4, 1.7e4])),
        }
        drawn = posterior(ball(truth, keys[3]), method, seed=i, effective_size=300)
        for name, value in ranks.rank(drawn, {k: float(v) for k, v in truth.items()}, i).items():
            found[name].append(value)
    return found


def test_simulation_based_calibration_of_the_ball():
    found = rank_truths(200)
    assert all(ranks.p_value(values, 10) > 0.01 for values in found.values()), found
