"""How the answer follows what the files assume: alternatives of a file, draws of another posterior, the report."""

import jax.numpy as jnp
import numpy as np
import pytest

from experiments.agilkia import assumptions, assumptions_report
from experiments.agilkia.files import DATA
from experiments.agilkia.grains_draws import StoredDraws
from inversion import Bounded, Discrete, Observation, Observations, Problem

PHILAE, PUBLISHED = DATA / "philae.toml", DATA / "philae_published.toml"


def test_each_alternative_changes_its_key_alone():
    cases = assumptions.list_cases(PHILAE, PUBLISHED)
    base, *others = cases
    assert len({case.name for case in cases}) == len(cases) > 50
    for case in others:
        is_of_lander = not case.key.startswith("observables")
        table, last = case.key.rsplit(".", 1)
        if not is_of_lander:
            name = table.removeprefix("observables.")
            assert case.lander == base.lander and float(case.data.fitted[name].sigma) == case.value
            same = {k for k, v in case.data.fitted.items() if float(v.sigma) == float(base.data.fitted[k].sigma)}
            assert same == base.data.fitted.keys() - {name}
            continue
        assert case.data.fitted.keys() == base.data.fitted.keys()
        changed = {t: {k: v for k, v in of.items() if k != last or t != table} for t, of in case.lander.items()}
        assert changed == {
            t: {k: v for k, v in of.items() if k != last or t != table} for t, of in base.lander.items()
        }
        assert case.lander[table].get(last, False) == case.value


def _predict(p):
    return {"y": p["x"] + p["shift"]}, jnp.asarray(True)


def _line(sigma: float, low: float = -10.0) -> Problem:
    """y = x + shift with a shift of 0 or 1, each x being as probable before: y is read as 0."""
    free = {"x": Bounded(low, 10.0), "shift": Discrete([0.0, 1.0])}
    return Problem(free, _predict, Observations({"y": Observation(0.0, sigma)}))


@pytest.fixture(scope="module")
def sampler(tmp_path_factory):
    """From draws of the posterior for a sigma of 1."""
    rng, shift = np.random.default_rng(0), np.tile([0.0, 1.0], 200)
    off = rng.standard_normal(400)
    first = StoredDraws({"x": off - shift, "shift": shift}, np.full(400, 1 / 400), -0.5 * off**2)
    sizes = assumptions.Sizes(kernels=400, generation=1000, simulations=8000, enough=500, least=30, peaks=1)
    return assumptions.Sampler(first, sizes, 0, tmp_path_factory.mktemp("kept"))


@pytest.mark.parametrize(("sigma", "low"), [(1.0, -10.0), (0.3, -10.0), (3.0, -10.0), (1.0, -0.5), (0.05, -10.0)])
def test_another_posterior_has_its_closed_form(sampler, sigma, low):
    """Of errors 20 times as small, 3 times as large, and with a prior that leaves most of the first draws out."""
    found = sampler.draw(_line(sigma, low), None)
    x = np.linspace(low, 10.0, 200_001)
    densities = [np.exp(-0.5 * ((x + shift) / sigma) ** 2) for shift in (0.0, 1.0)]
    evidence = 0.5 * (densities[0].mean() + densities[1].mean())
    share = densities[1].sum() / (densities[0].sum() + densities[1].sum())
    mean = (x @ sum(densities)) / sum(densities).sum()
    assert found.k_hat < 0.7 and found.effective_size >= 500
    assert abs(found.log_evidence - np.log(evidence)) < 4 * found.log_evidence_error < 0.3
    probability, error = found.marginal("shift")[1.0]
    assert abs(probability - share) < 4 * error < 0.15
    assert found.mean["x"] == pytest.approx(mean, abs=5 * found.sigma["x"] / np.sqrt(500))


def test_a_choice_is_decided_by_more_than_two_errors(sampler):
    even, left = (sampler.draw(_line(1.0, low), None) for low in (-10.0, -0.5))
    assert assumptions_report.decide(even, "shift") is None
    assert assumptions_report.decide(left, "shift") == 0.0  # a shift of 1 needs an x of -1, which is excluded
    assert assumptions_report.list_changes(even, left) == ["shift undecided"]
    assert assumptions_report.list_changes(left, even) == [] == assumptions_report.list_changes(left, left)
