"""What studies make of a posterior: rows, pictures, ranks of known truths, the soil's ridge, the contact of stones."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import toys
import xarray as xr

from experiments import posteriors, ranks
from experiments.agilkia import coverage, solve
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.run import Agilkia
from experiments.agilkia.scenario import problem
from experiments.cliff import posterior as soil
from experiments.cliff.inverse import STATIONS, TRUTH, UNKNOWNS
from experiments.cliff.measured import RESOLUTION
from experiments.cliff.run import CliffStudy
from experiments.cobbles.posterior import Pixels, mirrored
from experiments.cobbles.run import Cobbles
from experiments.corner import corner
from experiments.harness import Found, write
from inversion import Checkpoint, Importance, Tempered, sample
from inversion.identifiability import NOT_FIXED, ONE_SIDED
from inversion.prior_runs import PriorRuns

SMALL = Importance(Tempered(160, 8), generation=200)


@pytest.fixture(scope="module")
def mixed():
    posed = toys.mixed()[0]
    return sample(posed, key=jax.random.PRNGKey(0), method=SMALL, effective_size=150, batch_size=64)


def test_rows_tell_intervals_probabilities_and_verdicts(mixed):
    told = posteriors.rows(mixed, mixed.median)
    assert list(told) == list(mixed.draws)
    low, high = mixed.interval("h", 0.95)
    assert (told["h"]["lo95"], told["h"]["hi95"]) == (low, high) and low < told["h"]["median"] < high
    probabilities = told["s"]["probabilities"].values()
    assert sum(p for p, _ in probabilities) == pytest.approx(1.0)


def test_sample_that_cannot_be_trusted_tells_no_number(mixed):
    bad = replace(mixed, sampled=replace(mixed.sampled, k_hat=0.9))
    told = posteriors.rows(bad, mixed.median)
    assert all(row["median"] is None and "probabilities" not in row for row in told.values())
    assert "k-hat 0.90" in posteriors.quality(bad)["verdict"]


def test_corner_is_drawn_from_its_dataset_alone(mixed, tmp_path):
    names = [name for name in mixed.draws if name not in mixed.probabilities]
    told = {name: row for name, row in posteriors.rows(mixed, mixed.median).items() if name in names}
    shown = posteriors.picture_data(mixed, told)
    shown.to_netcdf(tmp_path / "shown.nc", engine="h5netcdf")
    write(
        tmp_path, Found(figures={"corner": corner(xr.load_dataset(tmp_path / "shown.nc"), "toy")}), {}, CliffStudy
    )
    assert (tmp_path / "corner.png").stat().st_size > 10_000
    corner(xr.Dataset(), "nothing")


def test_ranks_of_uniform_truths_are_uniform_and_of_others_not():
    rng = np.random.default_rng(0)
    assert ranks.p_value(rng.integers(0, ranks.OF + 1, 200), 5) > 0.01
    assert ranks.p_value(np.clip(rng.normal(70, 10, 200), 0, ranks.OF).astype(int), 5) < 1e-6
    below = rng.random(4000)
    assert ranks.holds(below) == pytest.approx(0.95, abs=0.01) and ranks.holds(below, 0.5) < 0.55


def test_equal_draws_are_in_random_order_in_a_rank(mixed):
    low, high = (dict.fromkeys(mixed.draws, value) for value in (-1e300, 1e300))
    assert set(ranks.rank(mixed, low, 0).values()) == {0}
    assert set(ranks.rank(mixed, high, 0).values()) == {ranks.OF}
    assert min(ranks.below(mixed, high).values()) == pytest.approx(1.0)
    likely = {"s": mixed.median["s"]}
    assert len({ranks.rank(mixed, likely, seed)["s"] for seed in range(8)}) > 1


@pytest.mark.slow
def test_thorough_posterior_goes_on_until_its_evidence_is_good(tmp_path):
    kept = Checkpoint(tmp_path, "toy")
    usual = solve.drawn(toys.linear(), 0, 100, np.inf, kept, False)
    thorough = solve.drawn(toys.linear(), 0, 100, 0.5 * usual.log_evidence_error, kept, False)
    assert thorough.log_evidence_error <= 0.5 * usual.log_evidence_error
    assert thorough.weights.size > usual.weights.size and thorough.calls.forward < thorough.weights.size


def heap(soils):
    """A heap whose height tells friction and cohesion as one sum, and hardly the stiffness."""
    friction, cohesion, young = soils.T
    slope = 0.5 + (friction - 23.0) / 40.0 + (cohesion - 30.0) / 400.0 + 0.01 * np.log(young / TRUTH["young"])
    return 0.1 - 0.2 * np.outer(1.0 - 0.4 * slope, STATIONS)


@pytest.mark.slow
def test_posterior_of_the_soil_is_a_ridge_within_the_prior(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    soils = np.stack([q.lower + (q.upper - q.lower) * rng.random(40) for q in UNKNOWNS.values()], axis=1)
    monkeypatch.setattr(soil, "collapses", lambda *_: (soils, heap(soils) + 1e-4 * rng.standard_normal((40, 13))))
    seen = heap(np.array([list(TRUTH.values())]))[0] + RESOLUTION * rng.standard_normal(STATIONS.size)
    fitted = xr.Dataset({"three_data": ("x", seen, {"units": "m"})}, coords={"x": STATIONS})
    found = soil.with_posteriors(Found({"fits": {}}, {"result": fitted}), None, tmp_path, quick=True)
    told = found.summary["posteriors"]["three"]
    rows = told["unknowns"]
    assert told["correlations"]["friction, cohesion"] < -0.5 and told["posterior"]["is_good"]
    for name, q in UNKNOWNS.items():
        assert float(q.lower) <= rows[name]["lo95"] < rows[name]["hi95"] <= float(q.upper)
        assert rows[name]["lo95"] < TRUTH[name] < rows[name]["hi95"]
    assert rows["cohesion"]["local95"][0] < 0.0 and rows["young"]["verdict"] in (NOT_FIXED, ONE_SIDED)
    about = {"stage": "inverse", "created": "", "version": "", "wall_seconds": 1.0, "command": ""}
    write(tmp_path, found, about, CliffStudy)
    groups = xr.open_datatree(tmp_path / "result.nc", engine="h5netcdf")
    assert groups["three/posterior"]["friction"].dims == ("chain", "draw")
    assert (tmp_path / "posterior_three.png").stat().st_size > 10_000
    assert "with a correlation of −0." in (tmp_path / "report.html").read_text()


def test_posterior_of_the_soil_needs_data_for_three(tmp_path):
    fitted = xr.Dataset({"exact_data": ("x", STATIONS)})
    with pytest.raises(ValueError, match="name one with --fits"):
        soil.with_posteriors(Found({}, {"result": fitted}), None, tmp_path, quick=True)
    with pytest.raises(ValueError, match="--posterior belongs to --stage inverse"):
        CliffStudy(posterior=True)


def test_states_are_integrated_out_of_the_pixels():
    """Changes along the columns leave what is told alone; the sum of squares of the rest is kept."""
    rng = np.random.default_rng(0)
    columns, pixels = rng.standard_normal((60, 24)) * np.logspace(-6, 6, 24), rng.standard_normal(60)
    told = Pixels(None, jnp.zeros(24), *mirrored(columns), jnp.arange(60)).of
    turned = np.asarray(told(pixels))
    basis = np.linalg.qr(columns / np.linalg.norm(columns, axis=0))[0]
    assert turned.shape == (36,)
    assert turned @ turned == pytest.approx(pixels @ pixels - np.sum((basis.T @ pixels) ** 2))
    np.testing.assert_allclose(told(pixels + columns @ (rng.standard_normal(24) / np.logspace(-6, 6, 24))), turned)


@pytest.mark.parametrize("options", [{"stage": "design"}, {"stage": "impact", "unknowns": ("markers",)}])
def test_posterior_of_the_contact_is_refused_elsewhere(options):
    with pytest.raises(ValueError, match="--posterior belongs to --stage impact"):
        Cobbles(posterior=1, **options)


@pytest.mark.slow
def test_posterior_of_the_contact_holds_the_truth(tmp_path):
    Cobbles(stage="impact", quick=True, fits=4, posterior=2, out=tmp_path).run()
    groups = xr.open_datatree(tmp_path / "result.nc", engine="h5netcdf")
    e = groups["posterior"]["restitution"].values.ravel()
    weights = groups["sample_stats"]["weight"].values.ravel()
    mean = weights @ e
    sigma = np.sqrt(weights @ (e - mean) ** 2)
    assert abs(mean - 0.6) < 4 * sigma and 0.5 < sigma / float(groups["fit_sigma"][0, 0, 24]) < 2.0
    assert (tmp_path / "posterior.png").stat().st_size > 10_000
    told = json.loads((tmp_path / "summary.json").read_text())["posterior"]["coverage"]
    assert told["count"] == told["with_intervals"] == 2 and set(told["holds_95"]) == {"restitution", "friction"}


@pytest.mark.slow
def test_posteriors_of_synthetic_touchdowns_hold_their_truths(tmp_path):
    """Three: the command makes 64, and tests their ranks. A run goes on from its checkpoint.

    Of 95 % intervals at least 80 % hold the truth. Were they half as wide, two thirds would.
    """
    posed = problem(read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_published.toml"))
    kept = Checkpoint(tmp_path / "kept", "published")
    prior = PriorRuns.simulated(posed, jax.random.PRNGKey(0), 3000, kept)
    first = coverage.cover(posed, prior, 1, 0, kept)
    found = coverage.cover(posed, prior, 3, 0, kept)
    np.testing.assert_array_equal(found.data["coverage"]["rank"][:1], first.data["coverage"]["rank"])
    assert found.summary["all_hold_95"] > 0.8


def test_coverage_is_of_an_inversion():
    with pytest.raises(ValueError, match="grains"):
        Agilkia.stages["coverage"](Agilkia(stage="coverage", regolith="grains"), None)
    with pytest.raises(ValueError, match="--repetitions 0"):
        Agilkia(repetitions=0)
