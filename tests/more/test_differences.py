"""A fit compares its derivative with differences over the prior, and says why simulations failed."""

import jax.numpy as jnp
import numpy as np
import pytest

import inversion
from difsim import Status
from inversion import Bounded, Gaussian, Importance, Log, Observation, Observations, Problem, map_batched, sweep
from inversion.prior_runs import PriorRuns
from tests import toys

LONG, SHORT = 40, 1


def stretch(steps):
    """A phase that each step stretches by r, as a bed of grains does its tangents: sin(0.3 rⁿ)."""

    def predict(p):
        return {"y": jnp.sin(0.3 * p["r"] ** steps)}, True

    return Problem({"r": Bounded(2.0, 3.0)}, predict, Observations({"y": Observation(0.7, 0.01)}))


def test_a_derivative_whose_tangents_have_blown_up_is_in_doubt(key):
    with pytest.warns(UserWarning, match=r"fit: the derivative disagrees with differences.*Along \['r'\]"):
        fit = inversion.fit(stretch(LONG), key=key, starts=4, keep=1)
    assert fit.doubt and not fit.ok and "DOUBT: the derivative disagrees" in str(fit)
    assert float(fit.sigma["r"]) < 1e-9  # what it would have claimed


def test_the_same_simulator_is_fitted_where_it_is_short(key):
    fit = inversion.fit(stretch(SHORT), key=key, starts=8, keep=2)
    assert not fit.doubt and fit.ok
    assert float(fit.values["r"]) == pytest.approx(np.arcsin(0.7) / 0.3, rel=1e-6)


SMOOTH = {
    "a wave of sixteen periods": (Bounded(0.0, 100.0), lambda x: jnp.sin(x)),
    "nine orders of magnitude": (Log(1e-6, 1e3), lambda x: x),
    "a power of a Gaussian": (Gaussian(2.0, 0.5), lambda x: x**8),
    "a kink": (Bounded(-1.0, 1.0), lambda x: jnp.abs(x - 0.3)),
    "a jump": (Bounded(-1.0, 1.0), lambda x: x + 100.0 * (x > 0.9)),
    "a part of the prior that fails": (Bounded(-1.0, 1.0), lambda x: jnp.sqrt(x)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_a_right_derivative_is_not_in_doubt(key, name):
    prior, of = SMOOTH[name]
    problem = Problem(
        {"x": prior}, lambda p: ({"y": of(p["x"])}, True), Observations({"y": Observation(0.5, 1e-3)})
    )
    fit = inversion.fit(problem, key=key, starts=16, keep=4)
    assert not fit.doubt and fit.status.is_converged


def test_a_start_on_a_bound_is_compared_too(key):
    with pytest.warns(UserWarning, match="the derivative disagrees"):
        inversion.fit(stretch(LONG), key=key, starts=0, keep=1, guesses=[{"r": 3.0}])


def failing(p):
    """A third fails as ENERGY, a sixth as LEFT, and a sixth is not finite."""
    x = p["x"]
    ended = jnp.select([x < 1 / 3, x < 1 / 2], [int(Status.ENERGY), int(Status.LEFT)], int(Status.OK))
    return {"y": jnp.where(x > 5 / 6, jnp.nan, x)}, ended


def pose(predict=failing):
    return Problem({"x": Bounded(0.0, 1.0)}, predict, Observations({"y": Observation(0.6, 0.01)}))


def test_a_fit_says_how_many_simulations_failed_and_why(key):
    fit = inversion.fit(pose(), key=key, starts=24, keep=1)  # a Latin hypercube: 8, 4 and 4 of 24
    assert fit.ok and float(fit.values["x"]) == pytest.approx(0.6)
    assert (fit.statuses[Status.ENERGY], fit.statuses[Status.LEFT], fit.statuses[Status.NOT_FINITE]) >= (8, 4, 4)
    assert sum(fit.statuses.values()) == fit.calls.forward
    assert sum(fit.statuses.values()) - fit.statuses[Status.OK] == fit.calls.failed
    said = str(fit)
    assert f"{fit.calls.failed} of {fit.calls.forward} runs failed" in said
    assert f"{fit.statuses[Status.ENERGY]} ENERGY: the energy balance does not close" in said
    assert "runs failed" not in str(inversion.fit(toys.linear(), key=key, starts=4, keep=1))


def test_a_failure_without_a_reason_says_how_to_get_one(key):
    fit = inversion.fit(pose(lambda p: ({"y": p["x"]}, p["x"] > 0.5)), key=key, starts=8, keep=1)
    assert fit.statuses[Status.UNEXPLAINED] >= 4 and "return `solution.status`" in str(fit)


@pytest.mark.parametrize("batch_size", [None, 64])
def test_a_posterior_says_how_many_simulations_failed_and_why(key, batch_size):
    found = inversion.sample(
        pose(), key=key, method=Importance(), effective_size=100, limit=2000, batch_size=batch_size
    )
    assert sum(found.statuses.values()) == found.calls.forward > 0
    assert f"of {found.calls.forward} runs failed" in str(found) and "ENERGY: the energy balance" in str(found)


def test_ensembles_say_how_many_runs_failed_and_why(key):
    x = np.linspace(0.01, 0.81, 30)
    runs = lambda case: {"y": failing(case)[0]["y"], "status": failing(case)[1]}  # noqa: E731
    table = sweep(runs, {"x": x}, chunk=16)
    counts = {Status.ENERGY: np.sum(x < 1 / 3), Status.LEFT: np.sum((x >= 1 / 3) & (x < 1 / 2))}
    for said in (table.attrs["runs"], Status.summary(map_batched(runs, {"x": jnp.asarray(x)})["status"])):
        assert said.splitlines()[0] == f"{sum(counts.values())} of 30 runs failed"
        for status, count in counts.items():
            assert f"  {count} {status}" in said.splitlines()
    assert Status.summary([0, 0]) == "0 of 2 runs failed"
    prior = PriorRuns.simulate(pose(), key, 60)
    assert "of 60 runs failed" in str(prior) and "ENERGY" in str(prior)
