"""What a posterior refuses or states: failed simulations, weights not to be trusted, interruption, bad settings."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from inversion import Bounded, Checkpoint, Importance, Observation, Observations, Problem, Tempered
from tests import toys
from tests.toys import PRIOR, posterior, ring


def test_failed_simulations_have_no_weight():
    found = posterior(
        toys.truncated_problem(), effective_size=2000
    )  # nothing beyond 1, prior to 4, datum 0.8 +- 0.1
    assert found.draws["p"][found.weights > 0.0].max() <= 1.0 and found.calls.failed > 0
    assert abs(found.quantile("p", 0.5) - 0.797) < 0.01 and found.interval("p", 0.95)[1] < 0.99


def test_tails_that_no_weights_can_carry_are_given_to_chains():
    # A thin ring in three dimensions, which no few kernels cover.
    unknowns = {name: Bounded(-1.0, 1.0) for name in "xyz"}
    data = Observations({"r": Observation(np.array([0.8, 0.0]), 0.01)})
    found = posterior(Problem(unknowns, ring, data), effective_size=200)
    assert found.k_hat is None or found.k_hat <= 0.7
    radius = np.hypot(found.draws["x"], found.draws["y"])
    assert abs(found.weights @ radius - 0.8) < 0.01


def test_killed_run_goes_on(tmp_path):
    checkpoint = Checkpoint(tmp_path, "linear")
    problem, small = toys.linear(**PRIOR), Importance(Tempered(160, 8), generation=100)
    whole = posterior(problem, small, effective_size=1200)
    part = posterior(problem, small, effective_size=150, checkpoint=checkpoint)
    again = posterior(problem, small, effective_size=150, checkpoint=checkpoint)
    assert again.calls.forward == 0 and again.log_evidence == part.log_evidence
    more = posterior(problem, small, effective_size=1200, checkpoint=checkpoint)
    assert 0 < more.calls.forward < whole.calls.forward and more.effective_size > part.effective_size


def test_a_killed_run_loses_one_generation_of_draws(tmp_path):
    checkpoint = Checkpoint(tmp_path, "linear")
    problem, small = toys.linear(**PRIOR), Importance(Tempered(160, 8), generation=100)
    whole = posterior(problem, small, effective_size=400, checkpoint=checkpoint)
    pieces = sorted(tmp_path.rglob("importance-*"))
    assert len(pieces) > 1
    pieces[-1].unlink()
    again = posterior(problem, small, effective_size=400, checkpoint=checkpoint)
    assert again.calls.forward == 100 and again.log_evidence == whole.log_evidence


def test_no_interval_without_good_draws():
    found = posterior(toys.linear(**PRIOR), Tempered(160, 8), effective_size=10)
    few = replace(found, sampled=replace(found.sampled, k_hat=0.9))
    with pytest.raises(ValueError, match="k-hat"):
        few.interval("a")
    assert "no interval" in str(few) and "k-hat 0.90" in str(few) and "nan" not in str(few)
    few = posterior(toys.mixed_problem()[0], Tempered(160, 8), effective_size=10, limit=200)
    with pytest.raises(ValueError, match="descend from"):
        few.interval("h")
    few = posterior(
        toys.linear(**PRIOR), Importance(Tempered(160, 8), generation=100), effective_size=2, limit=200
    )
    with pytest.raises(ValueError, match="effective size"):
        few.interval("a")
    with pytest.raises(ValueError, match="no unknown 'q'"):
        found.quantile("q", 0.5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        found.interval("a", 95.0)


def failing(p):
    return {"y": p["p"]}, jnp.array(False)


def test_no_valid_simulation_is_an_error():
    problem = Problem({"p": Bounded(0.0, 1.0)}, failing, Observations({"y": Observation(0.5, 0.1)}))
    with pytest.raises(RuntimeError, match="0 of 800 simulations of draws of the prior were valid"):
        posterior(problem)


def test_prior_that_excludes_the_data_is_stated():
    data = Observations({"y": Observation(np.full(3, 30.0), 0.1)})
    found = posterior(Problem({"a": Bounded(0.0, 1.0), "b": Bounded(0.0, 1.0)}, toys.line, data))
    assert not found.explains_data and not found.ok and "does NOT explain" in str(found)
    assert "nan" not in str(found).lower()
