"""A small run of the forecast of landings, and its score."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from experiments.data_files import data_folder
from experiments.geometry import parts
from experiments.hera import sensors
from experiments.hera.ensemble import FATES
from experiments.hera.inputs import read_inputs
from experiments.hera.run import Hera


def test_the_study_makes_a_forecast_that_can_be_scored(tmp_path):
    Hera(quick=True, out=tmp_path / "land").run()
    found = json.loads((tmp_path / "land" / "summary.json").read_text())
    for lander in found["landers"].values():
        fates = lander["forecast"]["fate"]
        assert list(fates) == list(FATES) and sum(row["value"] for row in fates.values()) == pytest.approx(1)
        assert lander["shares_of_runs"]["not finite"] == 0
    film = xr.load_dataset(tmp_path / "land" / "juventas_film.nc", engine="h5netcdf")
    box, ground = (next(part for part in parts(film) if part.name == name) for name in ("vertices", "height"))
    lowest = box.points[-1][np.argmin(box.points[-1][:, 2])]
    below = ground.points[0][np.argmin(np.linalg.norm((ground.points[0] - lowest)[:, :2], axis=1))]
    assert abs(lowest[2] - below[2]) < 0.3  # at rest it lies on the ground, of slopes of some 10 degrees
    assert box.points[0][:, 2].min() > 0.5
    outcome = tmp_path / "outcome.toml"
    outcome.write_text('lander = "juventas"\nfate = "rest"\nbounces = 1\n')
    Hera(score=outcome, stamp=tmp_path / "land" / "summary.json", out=tmp_path / "score").run()
    scored = json.loads((tmp_path / "score" / "summary.json").read_text())
    assert set(scored["log_scores"]) == {"fate", "bounces"} and np.isfinite(scored["gain_nats"])
    with pytest.raises(ValueError, match="lander"):
        outcome.write_text('lander = "philae"\nfate = "rest"\n')
        Hera(score=outcome, stamp=tmp_path / "land" / "summary.json", out=tmp_path / "score").run()


def test_readings_tell_more_when_they_are_more_or_better(tmp_path):
    Hera(stage="sensors", quick=True, out=tmp_path).run()
    table = xr.load_dataset(tmp_path / "sensors.nc", engine="h5netcdf")
    good = table.isel(case=table["status"].values == 0)
    assert good.sizes["case"] > 0.9 * table.sizes["case"]
    one, two, three, gyro, both = (good["nats"].isel(suite=i) for i in range(5))
    assert (good["nats"].diff("rate") > 0).all() and (one > 0).all() and (one < two).all() and (two < three).all()
    assert (both > gyro).all() and (both > two).all()
    assert (good["deviation"] <= good["prior"] * (1 + 1e-9)).all()


def test_slopes_of_readings_are_differences():
    """By the restitution: what the accelerometer felt in all. Differences need a solver that is far more exact."""
    inputs = read_inputs(data_folder() / "hera.toml")
    case = {k: jnp.asarray(v[2]) for k, v in sensors.draw_approaches(inputs, 8, 1).items()}
    along = jnp.zeros(len(sensors.GROUND) + len(sensors.APPROACH)).at[0].set(1.0)

    def feel(step, *tolerance):
        readings = sensors.Readings(inputs.landers["juventas"], (1.0,) * len(sensors.GROUND), *tolerance)
        return readings._follow(case, step * along)[0][0][-1]

    slope = jax.jit(lambda step: jax.jvp(feel, (step,), (jnp.ones(()),))[1])(jnp.zeros(()))
    exact = jax.jit(lambda step: feel(step, 1e-9))
    difference = (exact(jnp.asarray(3e-3)) - exact(jnp.asarray(-3e-3))) / 6e-3
    np.testing.assert_allclose(slope, difference, atol=2e-3 * float(jnp.abs(slope).max()))
    assert jnp.abs(slope).max() > 0.01


def test_an_unknown_bias_takes_a_constant_from_readings():
    """The precision by readings with a common bias, beside that of their whole covariance."""
    slopes, bias, noise = np.random.default_rng(0).normal(size=(7, 3, 2)), 0.3, 0.2
    precision = np.linalg.inv(noise**2 * np.eye(7) + bias**2)
    expected = np.einsum("tai,ts,saj->ij", slopes, precision, slopes)
    np.testing.assert_allclose(sensors._weigh(jnp.asarray(slopes), bias, noise), expected, rtol=1e-10)
