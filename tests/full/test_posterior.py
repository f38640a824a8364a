"""Posteriors: exact ones come back, what cannot be trusted is refused, and a killed run goes on."""

import jax
import jax.numpy as jnp

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
)
from tests import random_posteriors
from tests.toys import posterior


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
