"""The example of the README: a ball dropped on a floor of unknown material."""

import jax
import jax.numpy as jnp
import numpy as np

import inversion
from inversion import Bounded, Discrete, Fixed, Gaussian, Observation, Observations
from inversion.branch import enumerate_leaves


def bounce(p):
    """Rebound speed and time of contact of a damped spring."""
    speed = jnp.sqrt(2.0 * p["gravity"] * p["height"])
    observables = {
        "rebound": p["restitution"] * speed,
        "contact": jnp.pi * jnp.sqrt(p["mass"] / p["stiffness"]),
    }
    return observables, p["stiffness"] > 0.0


def test_usage():
    problem = inversion.Problem(
        parameters={
            "height": Gaussian(1.0, 0.01, unit="m"),
            "restitution": Bounded(0.0, 1.0),
            "stiffness": Discrete((1e4, 1e5, 1e6), unit="N/m", relaxed=inversion.Log),
            "mass": Fixed(0.5, unit="kg"),
            "gravity": Fixed(9.81, unit="m/s2"),
        },
        predict=bounce,
        data=Observations(
            {
                "rebound": Observation(2.2, 0.05, unit="m/s", source="camera"),
                "contact": Observation(7.1e-3, 2e-4, unit="s", source="microphone"),
            }
        ),
    )
    key = jax.random.PRNGKey(0)

    tree = inversion.branch_and_bound(problem, key=key)
    assert tree.incumbent.assignment == {"stiffness": 1e5}
    assert tree.bound_gap == 0.0
    assert tree.agrees(enumerate_leaves(problem, key=jax.random.PRNGKey(1)))

    problem = problem.hold(tree.incumbent.assignment)
    fit = inversion.fit(problem, key=key, starts=16, keep=4)
    np.testing.assert_allclose(fit.values["restitution"], 2.2 / np.sqrt(2 * 9.81), rtol=1e-3)
    np.testing.assert_allclose(fit.sigma["height"], 0.01, rtol=1e-3)
    interval = inversion.profile(problem, fit, "restitution").interval
    assert interval[0] < fit.values["restitution"] < interval[1]
    verdicts = inversion.identify(problem, fit).verdicts
    assert verdicts["height"] == "not fixed: the prior came back"
