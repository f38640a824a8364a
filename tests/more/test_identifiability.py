"""Fisher information and profiles against closed forms, and verdicts on what cannot be known."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import inversion
from inversion import Bounded, Gaussian, Observation, Observations, Problem
from inversion.identifiability import FIXED, LOCAL, NOT_FIXED, ONE_SIDED
from tests import toys


def rank_deficient():
    """Only a * b and c are seen, c up to a bound, d not at all; e less than its prior says."""

    def predict(p):
        softened = jnp.minimum(p["c"], 0.6)  # beyond 0.6 everything looks alike
        return {"ab": p["a"] * p["b"], "c": softened, "e": p["e"]}, jnp.array(True)

    data = Observations({"ab": Observation(1.0, 0.05), "c": Observation(0.55, 0.1), "e": Observation(0.3, 2.0)})
    unit = Bounded(0.0, 1.0)
    parameters = {
        "a": Bounded(0.2, 5.0),
        "b": Bounded(0.2, 5.0),
        "c": unit,
        "d": unit,
        "e": Gaussian(0.0, 0.5),
    }
    return Problem(parameters, predict, data)


def test_no_verdict_at_a_local_minimum_that_a_profile_shows(key):
    """Intervals about a minimum that is 3.84 or more above another one are those of no likelihood."""
    problem = toys.multimodal()
    local = inversion.fit(problem, key=key, starts=0, keep=1, guesses=[{"x": -0.4}])
    assert local.status.is_converged and local.explains_data and local.misfit > 0.3
    found = inversion.profile(problem, local, "x", np.linspace(-4.0, 5.0, 200))
    assert found.best < local.misfit - 0.3
    deeper = dataclasses.replace(found, best=local.misfit - 4.0)
    assert inversion.identify(problem, local, {"x": found}).verdicts["x"] != LOCAL
    assert inversion.identify(problem, local, {"x": deeper}).verdicts["x"] == LOCAL


def test_verdicts_where_the_data_do_not_suffice(key):
    problem = rank_deficient()
    with pytest.warns(UserWarning, match=r"no prediction depends on \['d'\]"):
        fit = inversion.fit(problem, key=key, starts=16, keep=2)
    assert fit.sigma["a"] == fit.sigma["b"] == fit.sigma["d"] == np.inf
    np.testing.assert_allclose(fit.sigma["c"], 0.1, rtol=1e-6)
    before = inversion.identify(problem, fit)
    assert before.rank == 3 and before.condition == np.inf
    # a and b trade off: the direction without information has one up and the other down.
    np.testing.assert_allclose(before.fisher @ before.directions[:, -1], 0.0, atol=1e-6)
    assert before.correlations[0, 1] < -0.5
    assert before.verdicts == {"a": NOT_FIXED, "b": NOT_FIXED, "c": FIXED, "d": NOT_FIXED, "e": NOT_FIXED}

    grids = {"c": np.linspace(0.0, 1.0, 21), "d": np.linspace(0.0, 1.0, 5), "a": np.linspace(0.2, 5.0, 13)}
    profiles = {name: inversion.profile(problem, fit, name, grid) for name, grid in grids.items()}
    after = inversion.identify(problem, fit, profiles)
    assert after.verdicts["c"] == ONE_SIDED  # what the linearised interval could not see
    np.testing.assert_allclose(profiles["c"].interval[0], 0.55 - np.sqrt(3.84) * 0.1, rtol=1e-3)
    assert profiles["c"].interval[1] is None
    assert profiles["d"].interval == (None, None) and after.verdicts["d"] == NOT_FIXED
    assert profiles["a"].interval == (None, None)
    np.testing.assert_allclose(profiles["a"].misfit, fit.misfit, atol=1e-6)
