"""The arithmetic of the forecast of landings: sampling errors, cells and bins, shares of the variance, log scores."""

import hashlib
import json

import numpy as np
import pytest

from experiments.data_files import data_folder
from experiments.hera.ensemble import FATES
from experiments.hera.inputs import Unknown, read_inputs
from experiments.hera.probabilities import BOUNCES, LONGITUDES, SINES, bins_of, cell, proportion, sobol, time_bin
from experiments.hera.run import STAMP
from experiments.hera.score import EVEN, climate, log_scores, read_outcome, score

RANDOM = np.random.default_rng(0)


def test_a_proportion_has_its_binomial_error():
    hits = RANDOM.uniform(size=(4000, 500)) < 0.2
    found = [proportion(row) for row in hits]
    scatter = np.std([row["value"] for row in found])
    np.testing.assert_allclose(np.mean([row["error"] for row in found]), scatter, rtol=0.05)
    assert proportion(np.zeros(100, bool))["error"] > 0


def test_cells_have_equal_shares_of_a_uniform_sphere():
    count = 200_000
    longitude, latitude = RANDOM.uniform(-180, 180, count), np.degrees(np.arcsin(RANDOM.uniform(-1, 1, count)))
    counts = np.bincount(cell(longitude, latitude), minlength=LONGITUDES * SINES)
    assert len(counts) == LONGITUDES * SINES
    due = count / len(counts)
    assert np.abs(counts - due).max() < 5 * np.sqrt(due)
    assert (
        cell(359.0, 90.0) == (LONGITUDES - 1) * SINES + SINES - 1 and cell(-1.0, -90.0) == (LONGITUDES - 1) * SINES
    )
    assert time_bin(0.0) == 0 and time_bin(1e9) == time_bin(43_000.0)


def test_shares_of_the_variance_of_an_additive_function():
    x, y, z = RANDOM.uniform(-1, 1, size=(3, 20_000))
    f = 2 * x + y  # variances 4/3 and 1/3
    for values, due in ((x, 0.8), (y, 0.2), (z, 0.0)):
        assert abs(sobol(bins_of(values), f) - due) < 0.02
    assert abs(sobol(bins_of(np.sign(x)), np.sign(x)) - 1) < 1e-12


def even_forecast():
    share = lambda names: {str(n): {"value": 1 / len(names)} for n in names}  # noqa: E731
    return {
        "fate": share(FATES),
        "bounces": share(range(BOUNCES + 1)),
        "time_shares": [0.5, 0.5, 0, 0, 0, 0, 0],
        "place_shares": [1.0] + [0.0] * (LONGITUDES * SINES - 1),
    }


def test_log_scores_are_those_by_hand():
    outcome = {"fate": "rest", "bounces": 40, "settling_s": 1000.0, "longitude_deg": 10.0, "latitude_deg": -80.0}
    found = log_scores(even_forecast(), outcome)
    due = {
        "fate": np.log(1 / 4),
        "bounces": np.log(1 / 7),
        "settling_s": np.log((1 - EVEN) / 2 + EVEN / 7),
        "place": np.log(1 - EVEN + EVEN / 72),
    }
    assert found.keys() == due.keys()
    np.testing.assert_allclose([found[k] for k in due], list(due.values()), rtol=1e-12)
    away = log_scores(even_forecast(), outcome | {"longitude_deg": 100.0})["place"]
    np.testing.assert_allclose(away, np.log(EVEN / 72), rtol=1e-12)


def test_a_forecast_that_knew_gains_over_the_climate(tmp_path):
    known = even_forecast()
    known["fate"] = {name: {"value": float(name == "left")} for name in FATES}
    (tmp_path / "stamp.json").write_text(json.dumps({"landers": {"milani": {"forecast": known}}}))
    outcome = tmp_path / "outcome.toml"
    outcome.write_text('lander = "milani"\nfate = "left"\n')
    found = score(tmp_path / "stamp.json", outcome)
    due = np.log(1 - EVEN + EVEN / 4) - np.log((1 - EVEN) * climate()["fate"]["left"]["value"] + EVEN / 4)
    np.testing.assert_allclose(found["gain_nats"], due, rtol=1e-12)
    assert found["gain_nats"] > 1
    outcome.write_text('lander = "milani"\nfate = "rest"\n')
    assert score(tmp_path / "stamp.json", outcome)["gain_nats"] < -4


@pytest.mark.parametrize(
    "text",
    [
        'fate = "rest"',
        'lander = "milani"\nfate = "lost"',
        'lander = "milani"\nfate = "left"\nbounces = 2',
        'lander = "milani"\nfate = "rest"\nlongitude_deg = 3.0',
        'lander = "milani"\nfate = "rest"\nhops = 3',
    ],
)
def test_an_outcome_that_says_nothing_clear_is_refused(tmp_path, text):
    (tmp_path / "outcome.toml").write_text(text)
    with pytest.raises(ValueError, match=r"give lander|fate = |has none|a place has"):
        read_outcome(tmp_path / "outcome.toml")


def test_inputs_have_laws_and_sources(tmp_path):
    path = data_folder() / "hera.toml"
    inputs = read_inputs(path)
    drawn = inputs.draw(2000, 3)
    mass = inputs.unknowns["mass_kg"].numbers
    assert mass[0] < drawn["mass_kg"].min() < drawn["mass_kg"].max() < mass[1]
    np.testing.assert_allclose(np.median(drawn["mass_kg"]), np.sqrt(mass[0] * mass[1]), rtol=0.03)
    np.testing.assert_allclose(drawn["long_axis_m"].std(), inputs.unknowns["long_axis_m"].numbers[1], rtol=0.1)
    again = inputs.draw(2000, 3)
    assert all((again[k] == drawn[k]).all() for k in drawn)
    choice = Unknown("choice", (0.0, 1.0), (0.25, 0.75), "made up", True)
    assert abs(choice.draw(RANDOM, 10_000).mean() - 0.75) < 0.02
    for wrong in (
        ("[2.3e9, 4.8e9]", "[2.3e9]"),
        ("log_uniform = [2.3e9", "uniform_log = [2.3e9"),
        ('source = "blind', 's = "blind'),
    ):
        (tmp_path / "hera.toml").write_text(path.read_text().replace(*wrong, 1))
        with pytest.raises(ValueError, match="mass_kg"):
            read_inputs(tmp_path / "hera.toml")


def test_the_forecast_and_its_inputs_are_those_of_their_date():
    assert (
        hashlib.sha256(STAMP.read_bytes()).hexdigest()
        == "fe9c85ea6a04e86469547ff57a9481865b0d110be2ec7236b161f313576f8d52"
    )
    stamped = json.loads(STAMP.read_text())["inputs_sha256"]
    assert hashlib.sha256((data_folder() / "hera.toml").read_bytes()).hexdigest() == stamped
    outcome = STAMP.parent / "outcome.toml"
    assert np.isfinite(score(STAMP, outcome)["gain_nats"])
