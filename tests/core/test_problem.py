"""A problem: predictions that do not fit it are named, choices relax, and its likelihood is of the data alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from inversion import Bounded, Discrete, Gaussian, Log, Observation, Observations, Problem
from tests import toys


def test_prediction_must_match_the_data():
    def problem(data):
        return Problem({"a": Bounded(0.0, 1.0), "b": Bounded(0.0, 1.0)}, toys.line, Observations(data))

    with pytest.raises(ValueError, match=r"observed but not predicted.*'z'"):
        problem({"z": Observation(1.0, 1.0)}).evaluate(jnp.zeros(2))
    with pytest.raises(ValueError, match=r"'y': predicted shape \(3,\), observed \(2,\)"):
        problem({"y": Observation([1.0, 2.0], 1.0)}).evaluate(jnp.zeros(2))


PREDICTIONS = {
    "branches on a value": (lambda p: ({"y": p["a"] if p["a"] > 0 else p["b"]}, True), "jnp.where"),
    "uses numpy": (lambda p: ({"y": np.sin(p["a"])}, True), "jax.numpy"),
    "returns predictions alone": (lambda p: {"y": p["a"]}, "a pair"),
    "divides": (lambda p: 1 / 0, "predict raised ZeroDivisionError"),
}


@pytest.mark.parametrize("case", PREDICTIONS)
def test_a_wrong_prediction_is_named_where_it_is_traced(case):
    predict, word = PREDICTIONS[case]
    problem = Problem(
        {"a": Bounded(0.0, 1.0), "b": Bounded(0.0, 1.0)}, predict, Observations({"y": Observation(1.0, 1.0)})
    )
    with pytest.raises((ValueError, TypeError), match=word):
        jax.eval_shape(problem.evaluate, jnp.zeros(2))


def test_discrete_relaxes_and_returns():
    discrete = Discrete((1e7, 1e8, 1e9), unit="Pa", relaxed=Log, labels=("soft", "medium", "hard"))
    assert isinstance(discrete.relax(), Log)
    assert discrete.nearest_first(3e7) == [1e7, 1e8, 1e9]  # on the log scale
    assert discrete.nearest_first(3.3e7) == [1e8, 1e7, 1e9]
    problem, _ = toys.mixed_problem()
    assert problem.free == ("h", "m") and problem.discrete == ("E", "c", "s")
    assert problem.relax().free == problem.names
    assert problem.hold({"c": 0.6}).relax().free == ("h", "m", "E", "s")


@pytest.mark.parametrize(
    "discrete",
    [Discrete(range(11)), Discrete((0.1, 0.2, 0.3, 0.4, 0.5)), Discrete((1, 10, 100, 1000), relaxed=Log)],
)
def test_a_value_comes_back_with_all_digits(discrete):
    """A sampler's coordinate of a value is that value, which `predict` may compare or take the integer of."""
    s = jax.vmap(discrete.to_prior_scale)(discrete.values)
    turn = lambda s: discrete.physical(discrete.fold(discrete.unfold(s, 0.0)))  # noqa: E731
    for back in (jax.vmap(turn)(s), turn(s)):
        np.testing.assert_array_equal(back, discrete.values)
    slopes = (jax.vmap(jax.grad(of.physical))(s) for of in (discrete, discrete.hull))
    np.testing.assert_allclose(*slopes, rtol=1e-12)


def test_undecided_values_are_never_simulated_silently():
    problem, _ = toys.mixed_problem()
    found = problem.evaluate(jnp.full(5, 0.5))
    assert not found.ok and np.isnan(found.residual).all()


def test_log_likelihood_is_of_the_data_alone():
    problem = toys.linear(a=Gaussian(0.0, 1.0))
    s = problem.to_prior_scale({"a": 2.0, "b": 1.0})
    residual = (toys.DESIGN @ [2.0, 1.0] - toys.MEASURED) / toys.SIGMA
    np.testing.assert_allclose(problem.log_likelihood(s), -0.5 * np.sum(residual**2), rtol=1e-12)
    failed = toys.truncated_problem()
    assert failed.log_likelihood(failed.to_prior_scale({"p": 2.0})) == -np.inf
