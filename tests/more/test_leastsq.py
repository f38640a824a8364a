"""Least squares against closed forms, at bounds, through failures, and without compiling twice."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

import inversion
from inversion import Bounded, Gaussian, Observation, Observations, Problem
from tests import toys


def test_a_local_minimum_converges_but_does_not_explain_the_data(key):
    """A search that converged at a misfit of 400 for 25 data read as success."""
    t = np.linspace(0.0, 10.0, 25)

    def wave(p):
        return {"y": p["a"] * jnp.sin(p["w"] * t)}, jnp.array(True)

    noise = 0.3 * np.random.default_rng(0).normal(size=25)
    data = Observations({"y": Observation(2.0 * np.sin(3.0 * t) + noise, 0.3)})
    problem = Problem({"w": Bounded(0.5, 6.0), "a": Bounded(0.5, 3.0)}, wave, data)
    wrong = inversion.fit(problem, key=key, starts=0, keep=1, guesses=[{"w": 1.0, "a": 1.0}])
    right = inversion.fit(problem, key=key)
    assert wrong.status.is_converged and wrong.misfit > 394 and wrong.data == 25
    assert not wrong.explains_data and not wrong.ok and wrong.p_value < 1e-50
    assert "converged" in str(wrong) and "does NOT explain the data" in str(wrong) and "for 25 data" in str(wrong)
    assert right.ok and right.p_value == pytest.approx(chi2.sf(right.misfit, 23), rel=1e-3)
    assert "the model explains the data" in str(right) and "w  3.00" in str(right)
    stopped = inversion.fit(problem, key=key, stops=inversion.Stops(iterations=1))
    assert not stopped.ok and "did not converge" in stopped.verdict


@pytest.mark.parametrize("further", [0, 2])
def test_calls_are_those_that_reach_the_simulator(key, further):
    """A problem of two unknowns is linearised at every point by one program; one of four has two programs."""
    log = []

    def predict(p):
        # The callback has no derivative: it sees primal values, once a call.
        jax.debug.callback(lambda p: log.append(float(p)), jax.lax.stop_gradient(p["x"]))
        found, ok = toys.valley(p)
        return {"r": found["r"] + 1e-6 * sum(p[name] for name in more)}, ok

    data = Observations({"r": Observation(np.zeros(2), 1.0)})
    more = {f"more_{i}": Gaussian(0.0, 1.0) for i in range(further)}
    problem = Problem({"x": Bounded(-2.0, 2.0), "y": Bounded(-2.0, 3.0)} | more, predict, data)
    fit = inversion.fit(problem, key=key, starts=16, keep=3)
    jax.effects_barrier()
    assert len(log) == fit.calls.forward + (fit.calls.jacobian if further else 0)
    assert 0 < fit.calls.jacobian < fit.calls.forward


def test_one_compilation_serves_all_nodes_and_data(key):
    traces = []

    def predict(p):
        traces.append(1)
        return toys.mixture(p)

    problem, _ = toys.mixed_problem(predict)
    every = {"E": 1e9, "c": 0.2, "s": 1.0}
    inversion.fit(problem.hold(every), key=key, starts=8, keep=2)
    first = len(traces)
    for assignment in ({"E": 1e8}, {"E": 1e7, "c": 0.2}, {"E": 1e9, "c": 1.0, "s": 2.0}):
        held = problem.hold(assignment).relax()
        fit = inversion.fit(held, key=key, starts=8, keep=2, stops=inversion.Stops(target=1e-3))
        assert {k: fit.values[k] for k in assignment} == assignment
        assert set(fit.names) == set(held.free) == set(problem.names) - set(assignment)
    other, _ = toys.mixed_problem(predict)
    other = Problem(other.parameters | {"h": Bounded(0.2, 0.9)}, predict, other.data)
    inversion.fit(other.relax(), key=key, starts=8, keep=2)
    assert len(traces) == first
