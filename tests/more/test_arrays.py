"""Arrays of unknowns are one parameter: held, fitted, identified and printed like numbers, by one program."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import inversion
from inversion import Bounded, Discrete, Fixed, Gaussian, Log, Observation, Observations, Problem
from tests import toys

RNG = np.random.default_rng(0)
DESIGN = RNG.normal(size=(12, 5))
TRUE = np.array([[0.2, 0.8], [0.5, 0.4]])


def predict_both(p):
    field = jnp.concatenate([jnp.ravel(p["field"]), p["a"][None]])
    return {"y": jnp.asarray(DESIGN) @ field}, toys.always_problem()


def problem(**parameters):
    y = DESIGN @ [*TRUE.ravel(), 0.3] + 0.01 * RNG.normal(size=12)
    every = {"field": Bounded(-1.0, 2.0, shape=(2, 2)), "a": Gaussian(0.0, 1.0)} | parameters
    return Problem(every, predict_both, Observations({"y": Observation(y, 0.01)}))


@pytest.fixture(scope="module")
def fit():
    posed = problem()
    return posed, inversion.fit(posed, key=jax.random.PRNGKey(0), starts=8, keep=2)


def test_an_array_is_fitted_as_its_numbers_would_be(fit):
    posed, found = fit
    w = np.vstack([DESIGN / 0.01, [0, 0, 0, 0, 1.0]])
    covariance = np.linalg.inv(w.T @ w)
    y = np.append(posed.data["y"].value, 0.0) / np.append(np.full(12, 0.01), 1.0)
    best = covariance @ w.T @ y
    np.testing.assert_allclose(found.values["field"], best[:4].reshape(2, 2), rtol=1e-6)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-6)
    np.testing.assert_allclose(found.sigma["field"], np.sqrt(np.diag(covariance))[:4].reshape(2, 2), rtol=1e-6)
    np.testing.assert_allclose(found.sigma["a"], np.sqrt(covariance[4, 4]), rtol=1e-6)
    assert found.names == ("field", "a")
    assert found.labels == ("field[0,0]", "field[0,1]", "field[1,0]", "field[1,1]", "a")
    assert found.ok and "field  [2, 2] from 0.1" in str(found)


def test_each_number_of_an_array_has_a_verdict(fit):
    told = inversion.identify(*fit)
    assert told.rank == 5 and told.verdicts["field[1,0]"] == "fixed by the data"


def test_arrays_and_their_numbers_are_held():
    posed = problem()
    whole = posed.hold({"field": TRUE})
    assert whole.free == ("a",) and whole.free_labels == ("a",)
    np.testing.assert_array_equal(whole.values(jnp.zeros(5))["field"], TRUE)
    part = posed.hold({"field[0,1]": 0.8})
    assert part.free == ("field", "a") and "field[0,1]" not in part.free_labels
    found = inversion.fit(part, key=jax.random.PRNGKey(0), starts=4, keep=1)
    assert found.values["field"][0, 1] == 0.8 and np.isnan(found.sigma["field"][0, 1])
    assert found.covariance.shape == (4, 4) and np.isfinite(found.sigma["field"][1, 1])


def test_a_tree_carries_arrays_along(key):
    y = {"y": Observation(DESIGN @ [*TRUE.ravel(), 0.3], 0.01)}
    parameters = {
        "field": Bounded(-1.0, 2.0, shape=(2, 2)),
        "a": Discrete((0.1, 0.3, 0.5)),
        "c": Fixed([1.0, 2.0]),
    }
    posed = Problem(parameters, predict_both, Observations(y))

    best = inversion.branch_and_bound(posed, key=key).incumbent
    assert best.assignment == {"a": 0.3}
    np.testing.assert_allclose(best.values["field"], TRUE, atol=1e-6)
    np.testing.assert_array_equal(best.values["c"], [1.0, 2.0])


def test_two_hundred_unknowns_are_one_program():
    """The traced program has as many operations for 200 numbers as for two."""

    def operations(count):
        made = {"a": Bounded(0.0, 1.0, shape=(count,)), "b": Log(1.0, np.full(count, 9.0))}
        data = Observations({"y": Observation(np.zeros(count), 1.0)})
        posed = Problem(made, lambda p: ({"y": p["a"] * p["b"]}, toys.always_problem()), data)
        return len(jax.make_jaxpr(posed.linearise)(jnp.zeros(2 * count)).eqns)

    assert operations(200) == operations(2)
