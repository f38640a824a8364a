"""Fisher information against closed forms, and verdicts on what cannot be known."""

import jax.numpy as jnp
import numpy as np
import pytest

import inversion
from difsim import Status
from inversion import Bounded, Gaussian, Observation, Observations, Problem, Stops
from inversion.identifiability import FIXED, MISSED, NOT_FIXED, ONE_SIDED, UNENDED
from tests import toys


def test_fisher_information_of_a_linear_problem(key):
    problem = toys.linear()
    fit = inversion.fit(problem, key=key, starts=4, keep=1)
    found = inversion.identify(problem, fit)
    w = 7.0 * toys.DESIGN / toys.SIGMA[:, None]  # the interval is 7 long
    np.testing.assert_allclose(found.fisher, w.T @ w, rtol=1e-9)
    np.testing.assert_allclose(found.condition, np.linalg.cond(w), rtol=1e-9)
    assert found.rank == found.informed == 2
    posterior = np.linalg.inv(w.T @ w + 12.0 * np.eye(2))
    np.testing.assert_allclose(found.shrinkage["a"], np.sqrt(12.0 * posterior[0, 0]), rtol=1e-9)
    np.testing.assert_allclose(
        found.correlations[0, 1], posterior[0, 1] / np.sqrt(np.linalg.det(posterior) + posterior[0, 1] ** 2)
    )
    assert set(found.verdicts.values()) == {FIXED}


def rank_deficient():
    """Only a * b and c are seen, c near to its bound, d not at all; e less than its prior says."""

    def predict(p):
        return {"ab": p["a"] * p["b"], "c": p["c"], "e": p["e"]}, jnp.array(True)

    data = Observations({"ab": Observation(1.0, 0.05), "c": Observation(0.55, 0.1), "e": Observation(0.3, 2.0)})
    parameters = {
        "a": Bounded(0.2, 5.0),
        "b": Bounded(0.2, 5.0),
        "c": Bounded(0.0, 0.7),
        "d": Bounded(0.0, 1.0),
        "e": Gaussian(0.0, 0.5),
    }
    return Problem(parameters, predict, data)


def test_verdicts_where_the_data_do_not_suffice(key):
    problem = rank_deficient()
    with pytest.warns(UserWarning, match=r"no prediction depends on \['d'\]"):
        fit = inversion.fit(problem, key=key, starts=16, keep=2)
    assert fit.sigma["a"] == fit.sigma["b"] == fit.sigma["d"] == np.inf
    np.testing.assert_allclose(fit.sigma["c"], 0.1, rtol=1e-6)
    found = inversion.identify(problem, fit)
    assert found.rank == 3 and found.condition == np.inf
    # a and b trade off: the direction without information has one up and the other down.
    np.testing.assert_allclose(found.fisher @ found.directions[:, -1], 0.0, atol=1e-6)
    assert found.correlations[0, 1] < -0.5
    assert found.verdicts == {"a": NOT_FIXED, "b": NOT_FIXED, "c": ONE_SIDED, "d": NOT_FIXED, "e": NOT_FIXED}


def test_no_verdict_where_the_model_misses_the_data(key):
    fit = inversion.fit(toys.linear(), key=key, starts=4, keep=1)
    assert fit.explains_data
    # Three data for two parameters, 0.2 apart from what any of them can give, at sigma 0.01.
    data = Observations({"y": Observation(toys.MEASURED + np.array([0.0, 0.0, 0.2]), 0.01)})
    far = Problem(toys.linear().parameters, toys.line, data)
    fit = inversion.fit(far, key=key, starts=4, keep=1)
    assert not fit.explains_data
    assert set(inversion.identify(far, fit).verdicts.values()) == {MISSED}


def test_no_verdict_where_the_search_did_not_converge(key):
    """The slopes at a place where a search was cut off say nothing of the minimum."""
    problem = toys.rosenbrock()
    cut = inversion.fit(
        problem, key=key, starts=0, keep=1, guesses=[{"x": 0.6, "y": 0.3}], stops=Stops(iterations=2)
    )
    assert cut.status == Status.LIMIT and cut.explains_data and not cut.ok
    assert set(inversion.identify(problem, cut).verdicts.values()) == {UNENDED}
