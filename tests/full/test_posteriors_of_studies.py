"""What studies make of a posterior: rows, pictures, ranks of known truths, the soil's ridge, the contact of stones."""

import json

import numpy as np
import xarray as xr

from experiments.agilkia import coverage, solve
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.scenario import problem
from experiments.cliff import posterior as soil
from experiments.cliff.inverse import STATIONS, TRUTH, UNKNOWNS
from experiments.cliff.measurements import RESOLUTION
from experiments.cliff.run import CliffStudy
from experiments.cobbles.run import Cobbles
from experiments.harness import Found, write
from inversion import Checkpoint
from inversion.identifiability import NOT_FIXED, ONE_SIDED
from tests import toys


def test_thorough_posterior_goes_on_until_its_evidence_is_good(tmp_path):
    kept = Checkpoint(tmp_path, "toy")
    usual = solve.draw_posterior(toys.linear(), 0, 100, np.inf, kept, False)
    thorough = solve.draw_posterior(toys.linear(), 0, 100, 0.5 * usual.log_evidence_error, kept, False)
    assert thorough.log_evidence_error <= 0.5 * usual.log_evidence_error
    assert thorough.weights.size > usual.weights.size and thorough.calls.forward < thorough.weights.size


def heap(soils):
    """A heap whose height tells friction and cohesion as one sum, and hardly the stiffness."""
    friction, cohesion, young = soils.T
    slope = 0.5 + (friction - 23.0) / 40.0 + (cohesion - 30.0) / 400.0 + 0.01 * np.log(young / TRUTH["young"])
    return 0.1 - 0.2 * np.outer(1.0 - 0.4 * slope, STATIONS)


def test_posterior_of_the_soil_is_a_ridge_within_the_prior(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    soils = np.stack([q.lower + (q.upper - q.lower) * rng.random(40) for q in UNKNOWNS.values()], axis=1)
    monkeypatch.setattr(soil, "collapses", lambda *_: (soils, heap(soils) + 1e-4 * rng.standard_normal((40, 13))))
    seen = heap(np.array([list(TRUTH.values())]))[0] + RESOLUTION * rng.standard_normal(STATIONS.size)
    fitted = xr.Dataset({"three_data": ("x", seen, {"units": "m"})}, coords={"x": STATIONS})
    found = soil.add_posteriors(Found({"fits": {}}, {"result": fitted}), None, tmp_path, quick=True)
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


def test_posteriors_of_synthetic_touchdowns_hold_their_truths(tmp_path):
    """Three: the command makes 64, and tests their ranks. A run goes on from its checkpoint.

    Of 95 % intervals at least 80 % hold the truth. Were they half as wide, two thirds would.
    """
    posed = problem(read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_published.toml"))
    first, found = (coverage.cover(posed, 3000, count, 0, tmp_path, ("published",)) for count in (1, 3))
    np.testing.assert_array_equal(found.data["coverage"]["rank"][:1], first.data["coverage"]["rank"])
    assert found.summary["all_hold_95"] > 0.8
