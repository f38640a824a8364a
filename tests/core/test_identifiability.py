"""Fisher information and profiles against closed forms, and verdicts on what cannot be known."""

import jax.numpy as jnp
import numpy as np
import pytest

import inversion
from difsim import Status
from inversion import Bounded, Observation, Observations, Problem, Stops
from inversion.identifiability import FIXED, MISSED, UNENDED
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


def test_profile_of_a_linear_problem(key):
    problem = toys.linear()
    fit = inversion.fit(problem, key=key, starts=4, keep=1)
    best, covariance, misfit = toys.closed_form()
    for i, name in enumerate(("a", "b")):
        found = inversion.profile(problem, fit, name)
        parabola = misfit + (found.grid - best[i]) ** 2 / covariance[i, i]
        np.testing.assert_allclose(found.misfit, parabola, rtol=1e-6)
        half = np.sqrt(3.84 * covariance[i, i])
        np.testing.assert_allclose(found.interval, [best[i] - half, best[i] + half], rtol=1e-5)
        assert found.calls.forward > 0


def test_profile_ends_where_the_simulator_does(key):
    problem = toys.truncated_problem()
    fit = inversion.fit(problem, key=key, starts=8, keep=2)
    found = inversion.profile(problem, fit, "p", [0.5, 0.7, 0.9, 0.999, 1.1, 1.2])
    assert np.isinf(found.misfit[-2:]).all() and np.isfinite(found.misfit[:-2]).all()
    np.testing.assert_allclose(found.interval, [0.8 - 0.1 * np.sqrt(3.84), 0.8 + 0.1 * np.sqrt(3.84)], rtol=1e-6)


def test_a_profile_begins_from_candidates_where_they_are_better(key):
    # Two valleys along q, with a ridge between: at q = 0 the misfit is (3 p)^2, at q = 1 it is 0.
    def predict(p):
        return {"ridge": 40 * p["q"] * (1 - p["q"]), "slope": 3 * p["p"] * (1 - p["q"])}, jnp.asarray(True)

    zero = {name: Observation(0.0, 1.0) for name in ("ridge", "slope")}
    bounds = {"p": Bounded(0.0, 1.0), "q": Bounded(-0.5, 1.5)}
    problem = Problem(bounds, predict, Observations(zero))
    fit = inversion.fit(problem, key=key, starts=0, keep=1, guesses=[{"p": 0.1, "q": 0.01}])
    grid = np.linspace(0.05, 0.95, 10)
    alone = inversion.profile(problem, fit, "p", grid)
    np.testing.assert_allclose(alone.misfit, (3 * grid) ** 2, atol=0.1)
    there = inversion.profile(problem, fit, "p", grid, candidates=[{"p": 0.1, "q": 0.99}])
    np.testing.assert_allclose(there.misfit[5:], 0, atol=1e-6)
    assert alone.interval[1] < 0.75 and there.interval[1] is None
    with pytest.raises(ValueError, match=r"a candidate names \['z'\]"):
        inversion.profile(problem, fit, "p", grid, candidates=[{"p": 0.1, "q": 0.99, "z": 0.0}])


def test_an_interval_holds_every_valley_of_its_profile(key):
    """Values beyond a ridge that the data do not exclude are not excluded by the ridge."""

    def predict(p):
        valleys = jnp.abs(p["c"] - 0.25) / 0.05, jnp.sqrt(((p["c"] - 0.75) / 0.05) ** 2 + 1.0)
        return {"y": jnp.minimum(*valleys), "a": p["a"]}, toys.always_problem()

    data = Observations({"y": Observation(0.0, 1.0), "a": Observation(0.5, 0.1)})
    problem = Problem({"a": Bounded(0.0, 1.0), "c": Bounded(0.0, 1.0)}, predict, data)
    fit = inversion.fit(problem, key=key, starts=0, keep=1, guesses=[{"a": 0.5, "c": 0.26}])
    found = inversion.profile(problem, fit, "c", np.linspace(0.0, 1.0, 101))
    ends = [0.25 - 0.05 * np.sqrt(3.84), 0.75 + 0.05 * np.sqrt(2.84)]
    np.testing.assert_allclose(found.interval, ends, rtol=1e-3)


def test_profiles_do_not_compile_again(key):
    traces = []

    def predict(p):
        traces.append(1)
        return toys.line(p)

    data = Observations({"y": Observation(toys.MEASURED, toys.SIGMA)})
    problem = Problem({"a": Bounded(-3.0, 4.0), "b": Bounded(-3.0, 4.0)}, predict, data)
    fit = inversion.fit(problem, key=key, starts=4, keep=1)
    inversion.profile(problem, fit, "a")
    first = len(traces)
    inversion.profile(problem, fit, "b")
    assert len(traces) == first


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
    fit = inversion.fit(problem, key=key)
    walked = inversion.profile(problem, fit, "x", np.linspace(-1.0, 1.5, 9), stops=Stops(iterations=1))
    assert (
        not walked.converged.all()
        and inversion.profile(problem, fit, "x", np.linspace(0.8, 1.2, 5)).converged.all()
    )
