"""What studies make of a posterior: rows, pictures, ranks of known truths, the soil's ridge, the contact of stones."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from experiments import posteriors, ranks
from experiments.cliff import posterior as soil
from experiments.cliff.inverse import STATIONS
from experiments.cliff.run import CliffStudy
from experiments.cobbles.posterior import Pixels, reflections
from experiments.harness import Found
from inversion import Importance, Tempered, corner, sample
from inversion.pairs import pairs_of
from tests import toys

SMALL = Importance(Tempered(160, 8), generation=200)


@pytest.fixture(scope="module")
def mixed_posterior():
    posed = toys.mixed_problem()[0]
    return sample(posed, key=jax.random.PRNGKey(0), method=SMALL, effective_size=150, batch_size=64)


def test_rows_tell_intervals_probabilities_and_verdicts(mixed_posterior):
    told = posteriors.rows(mixed_posterior, mixed_posterior.median)
    assert list(told) == list(mixed_posterior.draws)
    low, high = mixed_posterior.interval("h", 0.95)
    assert (told["h"]["lo95"], told["h"]["hi95"]) == (low, high) and low < told["h"]["median"] < high
    probabilities = told["s"]["probabilities"].values()
    assert sum(p for p, _ in probabilities) == pytest.approx(1.0)


def test_sample_that_cannot_be_trusted_tells_no_number(mixed_posterior):
    bad = replace(mixed_posterior, sampled=replace(mixed_posterior.sampled, k_hat=0.9))
    told = posteriors.rows(bad, mixed_posterior.median)
    assert all(row["median"] is None and "probabilities" not in row for row in told.values())
    assert "k-hat 0.90" in posteriors.quality(bad)["verdict"]


def test_corner_shows_choices_and_no_interval_of_a_bad_sample(mixed_posterior):
    figure = corner(mixed_posterior, title="toy")
    panels = {ax.get_title(loc="left"): ax for ax in figure.axes if ax.get_ylabel() == "probability"}
    for name, choices in mixed_posterior.probabilities.items():
        assert [bar.get_height() for bar in panels.pop(name).patches] == [share for share, _ in choices.values()]
    assert not panels
    bad = replace(mixed_posterior, sampled=replace(mixed_posterior.sampled, k_hat=0.9))
    assert "choice" not in pairs_of(bad, bad.median) and np.isnan(pairs_of(bad, bad.median)["lo95"]).all()


def test_ranks_of_uniform_truths_are_uniform_and_of_others_not():
    rng = np.random.default_rng(0)
    assert ranks.p_value(rng.integers(0, ranks.OF + 1, 200), 5) > 0.01
    assert ranks.p_value(np.clip(rng.normal(70, 10, 200), 0, ranks.OF).astype(int), 5) < 1e-6
    below = rng.random(4000)
    assert ranks.holds(below) == pytest.approx(0.95, abs=0.01) and ranks.holds(below, 0.5) < 0.55


def test_equal_draws_are_in_random_order_in_a_rank(mixed_posterior):
    low, high = (dict.fromkeys(mixed_posterior.draws, value) for value in (-1e300, 1e300))
    assert set(ranks.rank(mixed_posterior, low, 0).values()) == {0}
    assert set(ranks.rank(mixed_posterior, high, 0).values()) == {ranks.OF}
    assert min(ranks.probability_below(mixed_posterior, high).values()) == pytest.approx(1.0)
    likely = {"s": mixed_posterior.median["s"]}
    assert len({ranks.rank(mixed_posterior, likely, seed)["s"] for seed in range(8)}) > 1


def test_posterior_of_the_soil_needs_data_for_three(tmp_path):
    fitted = xr.Dataset({"exact_data": ("x", STATIONS)})
    with pytest.raises(ValueError, match="name one with --fits"):
        soil.add_posteriors(Found({}, {"result": fitted}), None, tmp_path, quick=True)
    with pytest.raises(ValueError, match="--posterior belongs to --stage inverse"):
        CliffStudy(posterior=True)


def test_states_are_integrated_out_of_the_pixels():
    """Changes along the columns leave what is told alone; the sum of squares of the rest is kept."""
    rng = np.random.default_rng(0)
    columns, pixels = rng.standard_normal((60, 24)) * np.logspace(-6, 6, 24), rng.standard_normal(60)
    told = Pixels(None, jnp.zeros(24), *reflections(columns), jnp.arange(60)).reduce
    turned = np.asarray(told(pixels))
    basis = np.linalg.qr(columns / np.linalg.norm(columns, axis=0))[0]
    assert turned.shape == (36,)
    assert turned @ turned == pytest.approx(pixels @ pixels - np.sum((basis.T @ pixels) ** 2))
    np.testing.assert_allclose(told(pixels + columns @ (rng.standard_normal(24) / np.logspace(-6, 6, 24))), turned)
