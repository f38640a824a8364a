"""A ball in grains: until when derivatives agree, the three stages whole, bad options."""

import json

import numpy as np
import pytest
import xarray as xr

from experiments.intruder.derivatives import _until
from experiments.intruder.run import IntruderStudy
from experiments.intruder.scene import BASE
from tests.helpers import assert_described


def test_a_derivative_is_right_until_it_first_parts():
    other = np.ones((4, 4))
    forward = other * np.array([[1.0, 1.05, 0.5, 1.0]])  # by parameter
    forward[2, 0], forward[3] = 1.2, 1.0  # right again later does not count
    result = xr.Dataset(
        {"forward": (("time", "parameter"), forward), "difference": (("step", "time", "parameter"), other[None])},
        coords={"time": [0.1, 0.2, 0.3, 0.4], "parameter": [*BASE], "step": [1e-3]},
    )
    assert list(_until(result, 1e-3).values()) == [0.2, 0.4, 0.0, 0.4]


@pytest.mark.parametrize(
    "bad, says",
    [
        ({"parts": 6}, "--parts"),
        ({"time": 1e-5}, "--time"),
        ({"samples": 20}, "--samples"),
        ({"repeats": 1}, "--repeats"),
    ],
)
def test_bad_options(bad, says):
    with pytest.raises(ValueError, match=says):
        IntruderStudy(**bad)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["derivatives", "surrogate", "descent"])
def test_a_stage_writes_its_numbers_and_its_picture(stage, tmp_path):
    IntruderStudy(stage=stage, out=tmp_path, quick=True).run()
    found = xr.load_dataset(tmp_path / "result.nc", engine="h5netcdf")
    assert (tmp_path / f"{stage}.png").stat().st_size > 1e4
    assert_described(json.loads((tmp_path / "summary.json").read_text()), found)
    assert "<h2>" in (tmp_path / "report.html").read_text()
    if stage == "derivatives":
        # So early one path says all.
        np.testing.assert_allclose(found["forward"], found["difference"].sel(step=1e-5), rtol=1e-4, atol=1e-9)
        apart = np.abs(found["smoothed"] - found["pathwise"])
        assert (apart <= 4 * np.hypot(found["smoothed_error"], found["pathwise_error"])).all()
    elif stage == "surrogate":
        assert np.isfinite(found["told"]).all()
    else:
        assert np.isfinite(found["descent"]).all() and np.isfinite(found["history"]).all()
