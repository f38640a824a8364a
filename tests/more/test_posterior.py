"""Posteriors: exact ones come back, what cannot be trusted is refused, and a killed run goes on."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from inversion import (
    Bounded,
    Checkpoint,
    Discrete,
    Gaussian,
    Importance,
    Log,
    Observation,
    Observations,
    Problem,
    Tempered,
    sample,
)
from inversion.cube import Cube
from inversion.dropping import weigh_leaves
from inversion.noise import Correlated, Normal
from inversion.prior_runs import PriorRuns
from tests import toys
from tests.toys import PRIOR, QUICK, exact, posterior

METHODS = {"importance": QUICK, "tempered": Tempered(800, 8)}


@pytest.mark.parametrize("method", METHODS)
def test_errors_are_those_that_repetitions_show(method):
    mean, _, evidence = exact()
    found = [posterior(toys.linear(**PRIOR), METHODS[method], seed, effective_size=300) for seed in range(8)]
    off = [(p.estimate(p.draws["a"])[0] - mean[0]) / p.estimate(p.draws["a"])[1] for p in found]
    assert 0.4 < np.sqrt(np.mean(np.square(off))) < 1.8
    off = [(p.log_evidence - evidence) / p.log_evidence_error for p in found]
    assert 0.4 < np.sqrt(np.mean(np.square(off))) < 1.8


ONE, APART = np.eye(40), np.abs(np.subtract.outer(np.arange(40), np.arange(40)))


@pytest.mark.parametrize(
    "noise, covariance",
    [
        (Normal(3.0), 9.0 * ONE),
        (Normal(0.5), 0.25 * ONE),
        (Correlated(2.0, 5.0, np.arange(40.0)), ONE + 4.0 * np.exp(-APART / 5.0)),
    ],
)
def test_known_errors_are_judged_as_by_their_covariance(noise, covariance):
    """Their misfit has a constant beside the sum of squares, which may be negative."""
    seen = np.linalg.cholesky(covariance) @ np.random.default_rng(0).normal(size=40)
    made = [Observation(seen, 1.0, noise=noise), Observation(seen, covariance=covariance)]
    unknowns = {"x": Bounded(-5.0, 5.0), "n": Discrete((0.0, 1.0))}
    problems = [Problem(unknowns, repeat, Observations({"y": one})) for one in made]
    of_law, of_covariance = (posterior(problem, QUICK, effective_size=300) for problem in problems)
    assert of_law.p_value == pytest.approx(of_covariance.p_value, rel=0.1)
    least = float(problems[0].data.compare({"y": seen}, {}).misfit)
    assert weigh_leaves(Cube(problems[0], batch_size=100), lambda leaf: least, jax.random.key(0))["kept"].all()


def repeat(p):
    return {"y": jnp.full(40, p["x"] + 0.1 * p["n"])}, toys.always_problem()


def test_a_prior_that_the_data_contradict_is_followed():
    """A datum 5.5 sigma from the mean of the prior: exact is 5.446 +- 0.0995."""
    data = Observations({"y": Observation(5.5, 0.1)})
    found = posterior(Problem({"x": Gaussian(0.0, 1.0)}, repeat_one, data), QUICK, effective_size=1000)
    assert found.mean["x"] == pytest.approx(5.5 / 1.01, abs=0.02)
    assert found.log_evidence == pytest.approx(-0.5 * 5.5**2 / 1.01 + 0.5 * np.log(0.01 / 1.01), abs=0.1)


def repeat_one(p):
    return {"y": p["x"]}, toys.always_problem()


def branched_problem(p):
    return {"y": jnp.where(p["x"] < 0.0, -3.0 * p["x"], p["x"])}, toys.always_problem()


@pytest.mark.parametrize("method", METHODS)
def test_two_modes_have_their_weights(method):
    # y = 2 at x = -2/3 and x = 2, where its slopes are -3 and 1: weights of 1/4 and 3/4.
    data = Observations({"y": Observation(2.0, 0.1)})
    found = posterior(
        Problem({"x": Bounded(-4.0, 4.0)}, branched_problem, data), METHODS[method], effective_size=2000
    )
    share, error = found.estimate(found.draws["x"] < 0.0)
    assert abs(share - 0.25) < 0.02 and error < 0.02
    # The integral of the likelihood over the prior, which has the density 1/8.
    assert abs(found.log_evidence - np.log(0.1 * np.sqrt(2 * np.pi) * (4 / 3) / 8)) < 4 * found.log_evidence_error


@pytest.mark.parametrize("method", METHODS)
def test_flat_likelihood_returns_the_prior(method):
    from scipy.stats import kstest

    unknowns = {
        "x": Bounded(2.0, 4.0),
        "y": Log(1.0, 1e4),
        "z": Gaussian(1.0, 3.0),
        "w": Discrete((1.0, 2.0, 4.0)),
    }
    data = Observations({"s": Observation(0.0, 1e9)})
    found = posterior(Problem(unknowns, added_problem, data), METHODS[method], effective_size=2000)
    rows = found.resample(jax.random.PRNGKey(1), 1000)
    assert kstest((rows["x"] - 2.0) / 2.0, "uniform").pvalue > 0.01
    assert kstest(np.log10(rows["y"]) / 4.0, "uniform").pvalue > 0.01
    assert kstest((rows["z"] - 1.0) / 3.0, "norm").pvalue > 0.01
    for probability, error in found.probabilities["w"].values():
        assert abs(probability - 1 / 3) < 4 * error < 0.06
    assert abs(found.log_evidence) < 4 * found.log_evidence_error + 1e-6


def added_problem(p):
    return {"s": p["x"] + p["y"] + p["z"] + p["w"]}, toys.always_problem()


def chosen_problem(p):
    return {"y": p["x"] + p["shift"]}, toys.always_problem()


@pytest.mark.parametrize("method", METHODS)
def test_leaves_have_their_evidence(method):
    data = Observations({"y": Observation(0.0, 1.0)})
    unknowns = {"x": Gaussian(0.0, 1.0), "shift": Discrete((0.0, 1.0, 3.0))}
    found = posterior(Problem(unknowns, chosen_problem, data), METHODS[method], effective_size=4000)
    evidence = -0.25 * np.array([0.0, 1.0, 9.0]) - 0.5 * np.log(2.0)  # y ~ N(shift, 2), by the density at its peak
    shares = np.exp(evidence) / np.exp(evidence).sum()
    for shift, value, share in zip((0.0, 1.0, 3.0), evidence, shares, strict=True):
        (leaf,) = (leaf for leaf in found.leaves if leaf.assignment == {"shift": shift})
        assert abs(leaf.probability - share) < 4 * leaf.error < 0.06
        assert abs(leaf.log_evidence - value) < 4 * found.log_evidence_error + 4 * leaf.error / share


VALUES = tuple(0.1 * i for i in range(20))


def shifted_problem(p):
    return {"y": p["x"] + p["left"] + p["right"], "tell": p["left"] - p["right"]}, toys.always_problem()


def test_leaves_with_hardly_any_weight_are_dropped():
    """400 leaves: y ~ N(left + right, 1 + 0.5^2), tell ~ N(left - right, 0.1^2)."""
    unknowns = {"x": Gaussian(0.0, 1.0), "left": Discrete(VALUES), "right": Discrete(VALUES)}
    data = Observations({"y": Observation(1.0, 0.5), "tell": Observation(0.32, 0.1)})
    problem = Problem(unknowns, shifted_problem, data)

    def bound(p):  # the misfit at the best x
        return (p["left"] + p["right"] - 1.0) ** 2 / 1.25 + ((p["left"] - p["right"] - 0.32) / 0.1) ** 2

    log_evidence = np.array([[-0.5 * bound({"left": a, "right": b}) for b in VALUES] for a in VALUES])
    log_evidence -= 0.5 * np.log(1.25 / 0.25)
    total = np.exp(log_evidence).sum()
    weight = np.exp(log_evidence) / total
    cube = Cube(problem, 200)
    weighed = weigh_leaves(cube, bound, jax.random.PRNGKey(0))
    assert (weighed["ceiling"] >= log_evidence).all()
    assert weight[~weighed["kept"]].max() < 1e-4 and np.sum(~weighed["kept"]) > 200
    cube.kept, before = weighed["kept"], cube.calls.forward
    u = np.random.default_rng(0).random((1000, 3))
    here = weighed["kept"][tuple((20 * u[:, 1:]).astype(int).T)]
    assert (np.isneginf(cube.log_likelihood(u)) == ~here).all() and cube.calls.forward - before == here.sum()

    found = posterior(problem, effective_size=2000, bound=bound)
    count, together = re.search(r"(\d+) of 400 leaves dropped .* at most (\S+) of", found.sampled.method).groups()
    assert found.ok and int(count) > 200 and float(together) < 0.04 and count in str(found)
    assert abs(found.log_evidence - np.log(total / 400)) < 4 * found.log_evidence_error + 0.02
    x = np.array([[(1.0 - a - b) / 1.25 for b in VALUES] for a in VALUES])
    assert abs(found.mean["x"] - np.sum(weight * x)) < 0.1
    assert len({*found.prior["left"]}) == 20, "the prior is that of all leaves"


def test_held_unknowns_stay():
    problem = toys.mixed_problem()[0].hold({"E": 1e8, "c": 0.6, "h": 0.5})
    found = posterior(problem)
    assert set(found.draws) == {"m", "s"} and found.median["s"] == 2.0
    assert abs(found.mean["m"] - 1.2) < 0.05
    rows = found.resample(jax.random.PRNGKey(0), 3)
    assert (rows["E"] == 1e8).all() and set(rows) == set(problem.parameters)


def field(p):
    return {"y": jnp.cumsum(p["step"]) + p["offset"]}, toys.always_problem()


def test_arrays_have_one_label_for_each_number():
    unknowns = {"step": Gaussian(0.0, 1.0, shape=(3,)), "offset": Bounded(-1.0, 1.0)}
    data = Observations({"y": Observation(np.array([1.0, 2.0, 3.0]), 0.5)})
    problem = Problem(unknowns, field, data)
    found = posterior(problem.hold({"step[1]": 1.0}))
    assert set(found.draws) == {"step[0]", "step[2]", "offset"}
    rows = found.resample(jax.random.PRNGKey(0), 5)
    assert rows["step"].shape == (5, 3) and (rows["step"][:, 1] == 1.0).all()
    assert found.interval("step[2]")[0] < 1.0 < found.interval("step[2]")[1]


def rotated_problem(p):
    return {"y": p["x"] @ jnp.asarray(SLOPES)}, toys.always_problem()


SLOPES = np.linalg.qr(np.random.default_rng(0).normal(size=(26, 26)))[0] / np.logspace(-2, 0, 26)


def test_run_that_cannot_follow_26_dimensions_says_so():
    """Widths from 0.01 to 1: particles end beside the posterior, and chains are far from each other all the same."""
    data = Observations({"y": Observation(np.zeros(26), 1.0)})
    problem = Problem({"x": Gaussian(0.0, 1.0, shape=(26,))}, rotated_problem, data)
    found = posterior(problem, Tempered(800, 8), limit=2000)
    sigma = np.sqrt(np.diag(np.linalg.inv(np.eye(26) + SLOPES @ SLOPES.T)))
    assert np.min(np.array(list(found.sigma.values())) / sigma) < 0.5
    assert "particles of the prior" in found.fault
    with pytest.raises(ValueError, match="descend from"):
        found.interval("x[0]")


def test_many_data_sets_share_simulations_of_the_prior(tmp_path):
    kept, key = Checkpoint(tmp_path, "prior"), jax.random.PRNGKey(3)
    runs = PriorRuns.simulate(toys.linear(**PRIOR), key, 1500, kept)
    again = PriorRuns.simulate(toys.linear(**PRIOR), key, 1500, kept)
    np.testing.assert_array_equal(runs.predictions["y"], again.predictions["y"])
    cube = Cube(toys.linear(**PRIOR), 200)
    np.testing.assert_allclose(runs.log_likelihood(cube), cube.log_likelihood(runs.u), rtol=1e-9)
    mean, _, evidence = exact()
    found = posterior(toys.linear(**PRIOR), Tempered(800, 8, start=runs), effective_size=300)
    value, error = found.estimate(found.draws["a"])
    assert found.ok and abs(value - mean[0]) < 4 * error
    assert abs(found.log_evidence - evidence) < 2 * found.log_evidence_error < 0.6
    few, usual = (
        posterior(toys.linear(**PRIOR), Tempered(160, 8, start=start), effective_size=2) for start in (runs, None)
    )
    assert few.calls.forward < usual.calls.forward


def test_threads_and_batches_agree():
    problem = toys.linear(**PRIOR)
    small = Importance(Tempered(160, 8), generation=100)
    one = sample(problem, key=jax.random.PRNGKey(0), method=small, effective_size=100)
    other = sample(problem, key=jax.random.PRNGKey(0), method=small, effective_size=100, batch_size=64)
    np.testing.assert_allclose(one.draws["a"], other.draws["a"], rtol=1e-6)
    assert one.calls == other.calls


def test_predictions_are_of_the_draws():
    found = posterior(toys.linear(**PRIOR), effective_size=2000)
    predicted = found.predict(lambda p: toys.line(p)[0]["y"], key=jax.random.PRNGKey(0), count=400)
    mean, covariance, _ = exact()
    assert predicted.shape == (400, 3)
    sigma = np.sqrt(np.diag(toys.DESIGN @ covariance @ toys.DESIGN.T))
    assert (np.abs(predicted.mean(axis=0) - toys.DESIGN @ mean) < 0.2 * sigma).all()


def test_result_has_the_groups_of_arviz(tmp_path):
    found = posterior(toys.mixed_problem()[0])
    tree = found.to_xarray()
    groups = {"posterior", "prior", "sample_stats", "observed_data", "leaves", "weighted_posterior", "weights"}
    assert set(tree.children) == groups
    assert tree["posterior"]["h"].dims == ("chain", "draw") and tree["posterior"].attrs["log_evidence"] < 0.0
    assert tree["sample_stats"].sizes == tree["posterior"].sizes
    assert tree["weights"]["weight"].sum() == pytest.approx(1.0)
    tree.to_netcdf(tmp_path / "result.nc", engine="h5netcdf")
    assert tree["leaves"].sizes["leaf_by_probability"] == 18


@pytest.mark.parametrize("method", METHODS)
def test_group_posterior_has_equally_weighted_draws(method):
    """What ArviZ makes of it: 1 +- 0.1 in a prior to 10, of which the draws without weights are far away."""
    data = Observations({"y": Observation(1.0, 0.1)})
    found = posterior(
        Problem({"y": Bounded(-10.0, 10.0)}, lambda p: (p, toys.always_problem()), data), METHODS[method]
    )
    group = found.to_xarray()["posterior"]["y"]
    assert group.sizes["draw"] * group.sizes["chain"] > 500
    assert abs(float(group.mean()) - 1.0) < 0.02 and abs(float(group.std()) - 0.1) < 0.015
    weighted, weight = (found.to_xarray()[k] for k in ("weighted_posterior/y", "weights/weight"))
    assert abs(float((weighted * weight).sum()) - 1.0) < 0.02 and weighted.sizes == weight.sizes


def named_problem(p):
    return {"y": p["x"] + jnp.where(p["where"] == 1.0, 1.0, 0.0)}, toys.always_problem()


def test_choices_with_names_are_no_numbers():
    unknowns = {"x": Gaussian(0.0, 1.0), "where": Discrete((0.0, 1.0), labels=("on rock", "sand"))}
    found = posterior(Problem(unknowns, named_problem, Observations({"y": Observation(1.0, 0.5)})))
    assert found.numbers == ("x",) and set(found.mean) == set(found.sigma) == set(found.median) == {"x"}
    for refused in (found.interval, lambda name: found.quantile(name, 0.5)):
        with pytest.raises(ValueError, match=r"a choice among .*on rock.*sand"):
            refused("where")
    assert set(found.probabilities["where"]) == {0.0, 1.0} and "sand" in str(found)
    assert found.to_xarray()["posterior"]["where"].attrs["flag_meanings"] == "on_rock sand"
