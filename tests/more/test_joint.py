"""Touchdown and next contact in one posterior: the score of what is held out, the problems, the report."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from difsim import Status
from experiments.agilkia import joint, worlds
from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.bounce import next_contact, project_to_surface
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.predictive import Score, flatten, score
from experiments.agilkia.run import Agilkia
from experiments.agilkia.scenario import problem
from inversion import Observation, Observations
from tests.more.test_reports import text_of


@pytest.mark.parametrize("value", [0.0, 3.0, 5.0])
def test_score_of_a_normal_prediction_is_its_closed_form(value):
    """Draws of spread 2 and a sigma of 1: the predictive density is normal with a variance of 5."""
    count, spread = 2000, np.sqrt(5.0)
    draws = 2.0 * norm.ppf((np.arange(count) + 0.5) / count)[:, None]
    found = score(draws, np.full(count, 1 / count), np.array([value]), np.array([1.0]))
    assert found.log_score == pytest.approx(-0.5 * value**2 / 5.0 - np.log(spread), abs=0.01)
    assert found.p_value == pytest.approx(2 * norm.sf(value / spread), abs=0.03)


def test_score_counts_weights_and_predictions_of_nothing():
    value, sigma = np.zeros(1), np.ones(1)
    three = score(np.array([[0.0], [0.0], [5.0]]), np.full(3, 1 / 3), value, sigma)
    two = score(np.array([[0.0], [5.0]]), np.array([2 / 3, 1 / 3]), value, sigma)
    assert two.log_score == pytest.approx(three.log_score)
    lost = score(np.array([[0.0], [5.0], [np.nan]]), np.array([1 / 3, 1 / 6, 1 / 2]), value, sigma)
    assert lost.log_score == pytest.approx(two.log_score - np.log(2.0)) and lost.p_value == two.p_value
    assert score(np.full((4, 1), np.nan), np.full(4, 0.25), value, sigma) == Score(-np.inf, 0.0)


def test_columns_of_vectors_and_numbers_keep_their_order():
    data = Observations({"place": Observation(np.arange(3.0), 2.0), "time": Observation(9.0, 1.0)})
    predictions = {"time": np.ones(5), "place": np.zeros((5, 3)), "weights": np.full(5, 0.2)}
    predicted, weights, value, sigma = flatten(data, predictions)
    assert predicted.shape == (5, 4) and weights is predictions["weights"]
    assert value.tolist() == [0, 1, 2, 9] and sigma.tolist() == [2, 2, 2, 1] and predicted[0, 3] == 1.0


@pytest.fixture(scope="module")
def both():
    lander, data = read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_bounce.toml")
    return joint.Joint(problem(lander, data, worlds.analogue()), joint.QUICK)


def test_the_touchdown_of_both_data_sets_is_one():
    bounce, published = (read_observations(DATA / f"philae_{name}.toml") for name in ("bounce", "published"))
    assert bounce.initial == published.initial
    for name, known in published.fitted.items():
        assert (bounce.fitted[name].value, bounce.fitted[name].sigma) == (known.value, known.sigma), name


def test_each_case_fits_its_part_of_the_data(both):
    of = {case: set(both.problem(case).data.names) for case in joint.CASES}
    assert of[joint.TOUCHDOWN] == of[joint.TOUCHDOWN_ERROR] and not of[joint.TOUCHDOWN] & of[joint.CONTACT]
    assert of[joint.TOUCHDOWN] | of[joint.CONTACT] == of[joint.JOINT] == set(both.whole.data.names)
    assert all(name.startswith("second_contact_") for name in of[joint.CONTACT])
    assert of[joint.JOINT] | {"law_error"} == of[joint.JOINT_ERROR]
    assert both.problem(joint.JOINT_ERROR).size == both.problem(joint.TOUCHDOWN_ERROR).size
    assert both.problem(joint.JOINT).names == both.whole.names


def test_the_size_of_the_law_error_has_its_own_evidence(both):
    """Its density is normal: an error of 0.1 m/s has the highest at a size of 0.1 / sqrt(3) m/s for each component."""
    error = joint.LAW_ERROR
    misfit = lambda size: error.compare(jnp.array([0.1, 0.0, 0.0]), {"error_size": size}).misfit  # noqa: E731
    for size in (0.01, 0.1):
        expected = -2.0 * norm.logpdf([0.1, 0.0, 0.0], scale=size).sum() - 3 * np.log(2 * np.pi)
        assert misfit(jnp.asarray(size)) == pytest.approx(expected)
    box = joint.REAL["rebound"]
    assert np.prod(box.upper - box.lower) == 1.0


def test_a_data_set_without_a_contact_is_refused(both):
    with pytest.raises(ValueError, match="needs a touchdown and its next contact"):
        replace(both, whole=both.problem(joint.CONTACT))


def test_the_analogue_is_refused(tmp_path):
    with pytest.raises(ValueError, match="needs the real ground: --shape shap5"):
        Agilkia(stage="joint", out=tmp_path).run()


def test_the_contact_follows_from_the_real_rebound(both):
    """It is that of the flight with the real rebound, and the law's error is what the law's own lacks."""
    known = both.whole.predict
    p = {k: jnp.asarray(v) for k, v in OPTIMUM.items()}
    plain, status = jax.jit(lambda p: known(p))(p)
    law = known.frame.velocity(plain["rebound_velocity"])
    with_rebound = jax.jit(lambda more: known(p | {"rebound": law + jnp.array([0.0, 0.0, 1.0]) * more}))
    (moved, _), (lost, lost_status) = with_rebound(0.02), with_rebound(2.0)
    assert status == Status.OK == lost_status and np.isnan(lost["second_contact_time"])
    up = np.asarray(known.frame.comet_velocity(jnp.array([0.0, 0.0, 0.02])))
    np.testing.assert_allclose(moved["rebound_velocity"] - plain["rebound_velocity"], up, atol=1e-12)
    np.testing.assert_allclose(moved["law_error"], [0.0, 0.0, -0.02], atol=1e-12)
    assert not plain["law_error"].any()
    scaled = joint.WithError(known)(p | {"error_size": 0.01, "error_direction": jnp.array([0.0, 0.0, 2.0])})[0]
    np.testing.assert_allclose(scaled["rebound_velocity"], moved["rebound_velocity"], atol=1e-9)
    assert np.isfinite(lost["ground_energy"]), "a touchdown after which nothing comes down is one all the same"
    _, last = known.follow(p, jnp.array([0.0, float(known.horizon)]))
    start = project_to_surface(known.world[1], known.frame.origin)
    start = start + known.frame.comet_direction(last.states.body.position[-1])
    for found in (plain, moved):
        contact = next_contact(jnp.asarray(found["rebound_velocity"]), *known.world, position=start)
        assert found["second_contact_time"] == pytest.approx(float(known.horizon + contact.time), abs=0.1)
        np.testing.assert_allclose(found["second_contact_position"], contact.position, atol=0.1)


def test_the_report_says_whether_one_ground_explains_both():
    row = {"p_contact": 0.004, "contact_in_95": False, "is_good": True}
    comparison = dict.fromkeys(joint.CASES, row) | {joint.JOINT_ERROR: row | {"contact_in_95": True}}
    found = {"lander": "Philae", "data_set": "bounce", "comparison": comparison, "headlines": {}, "leaves": []}
    found |= {
        "explains_both": False,
        "p_value": 2e-4,
        "quality": {case: {"verdict": "good"} for case in joint.CASES},
    }
    found |= {"error": {"length_m_per_s": [0.02, 0.05, 0.08, 0.1, 0.2], "log_bayes_factor": 6.1}}
    text = text_of("agilkia", "joint", found)
    assert "outside the 95 % region" in text and "a probability of 0.02 %." in text and "\n>" not in text
    assert "No ground explains both" in text and "Its length is 0.08 m/s (95 %: 0.02 to 0.2 m/s)." in text
    assert "One ground explains both" in text_of("agilkia", "joint", found | {"explains_both": True})
    doubted = comparison | {joint.JOINT: row | {"is_good": False}}
    assert "> joint: no intervals, good." in text_of("agilkia", "joint", found | {"comparison": doubted})
