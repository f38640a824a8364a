"""Wrong parameters and data are refused with what is wrong, the value and the remedy."""

import jax.numpy as jnp
import numpy as np
import pytest

from inversion import Bounded, Discrete, Fixed, Gaussian, Log, Observation, Observations, Problem
from tests import toys


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Bounded(1.0, 1.0), "not below"),
        (lambda: Bounded(np.nan, 1.0), "finite"),
        (lambda: Bounded([0.0, 1.0], [2.0, 3.0, 4.0]), "shape"),
        (lambda: Log(0.0, 1.0), "not positive"),
        (lambda: Log(2.0, 1.0), "not below"),
        (lambda: Gaussian(0.0, 0.0), "not positive"),
        (lambda: Gaussian(0.0, np.nan), "finite"),
        (lambda: Fixed(np.inf), "finite"),
        (lambda: Discrete(()), "two or more"),
        (lambda: Discrete((1.0, 1.0)), "two or more"),
        (lambda: Discrete((1.0, np.nan)), "finite"),
        (lambda: Discrete((1.0, 2.0), labels=("soft",)), "1 labels for 2"),
        (lambda: Discrete((0.0, 2.0), relaxed=Log), "not positive"),
        (lambda: Observation(1.0, 0.0), "positive"),
        (lambda: Observation(1.0, np.nan), "positive"),
        (lambda: Observation(np.nan, 1.0), "not finite"),
        (lambda: Observation(1.0), "either"),
        (lambda: Observation([1.0, 2.0], sigma=[1.0, 2.0, 3.0]), "shape"),
        (lambda: Observation([1.0, 2.0], covariance=np.eye(3)), "shape"),
        (lambda: Observation([1.0, 2.0], covariance=[[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (lambda: Observations({}), "nothing was observed"),
        (lambda: Problem({"m": Fixed(1.0)}, toys.line, Observations({"y": Observation(1.0, 1.0)})), "Fixed"),
        (lambda: toys.linear().hold({"q": 1.0}), "no parameter 'q'"),
        (lambda: toys.linear().hold({"a": 9.0}), "outside"),
        (lambda: toys.mixed_problem()[0].hold({"E": 2e8}), "not one of"),
    ],
)
def test_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_prediction_must_match_the_data():
    def problem(data):
        return Problem({"a": Bounded(0.0, 1.0), "b": Bounded(0.0, 1.0)}, toys.line, Observations(data))

    with pytest.raises(ValueError, match=r"observed but not predicted.*'z'"):
        problem({"z": Observation(1.0, 1.0)}).residual(jnp.zeros(2))
    with pytest.raises(ValueError, match=r"'y': predicted shape \(3,\), observed \(2,\)"):
        problem({"y": Observation([1.0, 2.0], 1.0)}).residual(jnp.zeros(2))


def test_discrete_relaxes_and_returns():
    discrete = Discrete((1e7, 1e8, 1e9), unit="Pa", relaxed=Log, labels=("soft", "medium", "hard"))
    assert isinstance(discrete.relax(), Log)
    assert float(discrete.fix(1).value) == 1e8
    assert discrete.nearest_first(3e7) == [1e7, 1e8, 1e9]  # on the log scale
    assert discrete.nearest_first(3.3e7) == [1e8, 1e7, 1e9]
    problem, _ = toys.mixed_problem()
    assert problem.free == ("h", "m") and problem.discrete == ("E", "c", "s")
    assert problem.relax().free == problem.names
    assert problem.hold({"c": 0.6}).relax().free == ("h", "m", "E", "s")


def test_undecided_values_are_never_simulated_silently():
    problem, _ = toys.mixed_problem()
    assert not problem.evaluate(jnp.full(5, 0.5)).ok
    assert np.isnan(problem.residual(jnp.zeros(5))).all()


def test_log_likelihood_is_of_the_data_alone():
    problem = toys.linear(a=Gaussian(0.0, 1.0))
    s = problem.to_prior_scale({"a": 2.0, "b": 1.0})
    residual = (toys.DESIGN @ [2.0, 1.0] - toys.MEASURED) / toys.SIGMA
    np.testing.assert_allclose(problem.log_likelihood(s), -0.5 * np.sum(residual**2), rtol=1e-12)
    failed = toys.truncated_problem()
    assert failed.log_likelihood(failed.to_prior_scale({"p": 2.0})) == -np.inf
