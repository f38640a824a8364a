"""Touchdown and next contact in one posterior: the score of what is held out, the problems, the report."""

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from difsim import Status
from experiments.agilkia import joint, joint_cases, worlds
from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.predictive import Score, score
from experiments.agilkia.scenario import problem


@pytest.mark.parametrize("value", [0.0, 3.0, 5.0])
def test_score_of_a_normal_prediction_is_its_closed_form(value):
    """Draws of spread 2 and a sigma of 1: the predictive density is normal with a variance of 5."""
    count, spread = 2000, np.sqrt(5.0)
    draws = 2.0 * norm.ppf((np.arange(count) + 0.5) / count)[:, None]
    found = score(draws, np.array([value]), np.array([1.0]), np.full(count, 1 / count))
    assert found.log_score == pytest.approx(-0.5 * value**2 / 5.0 - np.log(spread), abs=0.01)
    assert found.p_value == pytest.approx(2 * norm.sf(value / spread), abs=0.03)


def test_score_counts_weights_and_predictions_of_nothing():
    value, sigma = np.zeros(1), np.ones(1)
    three = score(np.array([[0.0], [0.0], [5.0]]), value, sigma, np.full(3, 1 / 3))
    two = score(np.array([[0.0], [5.0]]), value, sigma, np.array([2 / 3, 1 / 3]))
    assert two.log_score == pytest.approx(three.log_score)
    lost = score(np.array([[0.0], [5.0], [np.nan]]), value, sigma, np.array([1 / 3, 1 / 6, 1 / 2]))
    assert lost.log_score == pytest.approx(two.log_score - np.log(2.0)) and lost.p_value == two.p_value
    assert score(np.full((4, 1), np.nan), value, sigma, np.full(4, 0.25)) == Score(-np.inf, 0.0)


@pytest.fixture(scope="module")
def both():
    lander, data = read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_bounce.toml")
    return joint.Joint(problem(lander, data, worlds.analogue()), joint.QUICK)


def test_the_touchdown_of_both_data_sets_is_one():
    bounce, published = (read_observations(DATA / f"philae_{name}.toml") for name in ("bounce", "published"))
    assert bounce.initial == published.initial
    for name, known in published.fitted.items():
        assert (bounce.fitted[name].value, bounce.fitted[name].sigma) == (known.value, known.sigma), name


def test_each_datum_is_fitted_once(both):
    contact = {name for name in both.whole.data.names if name.startswith("second_contact_")}
    touchdown, flight = both.data("touchdown"), both.data("rebound", "contact")
    assert flight.keys() == contact | {"rebound_speed"} and both.data("contact").keys() == contact
    assert touchdown.keys() | flight.keys() == set(both.whole.data.names)
    assert not touchdown.keys() & flight.keys()
    assert both.problem_of_ground("touchdown").names == both.whole.names


def test_a_flight_from_the_laws_rebound_is_that_of_the_touchdown(both):
    """The two halves of the joint problem are one simulation, cut at the rebound."""
    known = both.whole.predict
    p = {k: jnp.asarray(v) for k, v in OPTIMUM.items()}
    whole, status = jax.jit(lambda p: known(p))(p)
    _, solution = known.follow(p, known.times)
    last = solution.states.body
    flight = both.problem_of_flight(last.position[-1]).predict
    fly = jax.jit(lambda velocity: flight({"rebound": velocity})[0])
    found = fly(last.velocity[-1])
    assert status == Status.OK
    for name in both.data("rebound", "contact"):
        np.testing.assert_allclose(found[name], whole[name], rtol=1e-6)
    assert np.isnan(fly(last.velocity[-1] + jnp.array([0.0, 0.0, 2.0]))["second_contact_time"])  # it has left
    read = joint_cases.read_rebounds(known, np.asarray(last.velocity[-1:]))
    np.testing.assert_allclose(read["rebound_speed"][0], whole["rebound_speed"], rtol=1e-9)
    np.testing.assert_allclose(read["rebound_velocity"][0], whole["rebound_velocity"], rtol=1e-9)


class Known(NamedTuple):
    """A posterior in place of a sampled one: equally weighted draws, and the evidence."""

    draws: np.ndarray
    log_evidence: float
    problem: object = None
    log_evidence_error: float = 0.01
    effective_size: float = 1000.0

    def resample(self, key, count):
        return {"rebound": self.draws[:count]}


def test_pairs_have_the_evidence_of_their_closed_form(both, monkeypatch):
    """Law and flight know the rebound to 0.02 and 0.01 m/s, 0.1 m/s from each other: all sums are normal integrals."""
    n, sigmas, sizes = 1000, (0.02, 0.01), joint_cases.SIZES
    normal = np.random.default_rng(0).standard_normal((2, n, 3))
    law, real = (sigma * (x - x.mean(axis=0)) / x.std(axis=0) for sigma, x in zip(sigmas, normal, strict=True))
    real[:, 0] += 0.1
    other = replace(both, effort=replace(both.effort, draws=n, pairs=n))
    data = other.data("rebound", "contact")
    nothing = {name: np.zeros((n, *datum.value.shape)) for name, datum in data.items()}
    monkeypatch.setattr(joint_cases, "fly", lambda problem, rebounds: nothing)
    ground = joint.Ground(Known(law, -3.0), {}, {}, law)
    sampled = joint.Sampled(ground, ground, Known(real, -2.0))
    pairs = joint_cases.pair_rebounds(other, sampled)
    case = joint_cases.list_cases(other, sampled, pairs)[joint_cases.JOINT_ERROR]
    widths = np.sqrt(sizes**2 + sigmas[0] ** 2 + sigmas[1] ** 2)
    densities = norm.pdf(0.1, scale=widths) * norm.pdf(0.0, scale=widths) ** 2
    assert case.log_evidence == pytest.approx(-5.0 + np.log(densities.mean()), abs=0.05)
    wide = sizes > 0.04  # of smaller errors few pairs tell
    np.testing.assert_allclose(pairs.by_size[wide], densities[wide], rtol=0.1)
    error = case.rebounds - law[case.rows]
    expected = 0.1 * np.average((sizes / widths) ** 2, weights=densities)  # the rest is of law and flight
    assert error[:, 0].mean() == pytest.approx(expected, abs=0.004) and case.worth > 200
