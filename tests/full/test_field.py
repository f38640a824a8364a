"""The ground of 200 heights: its spline, the picture and the words, and, slowly, the descent that recovers it."""

import numpy as np
import xarray as xr

from experiments.hopper.run import Hopper


def test_the_field_is_recovered(tmp_path):
    Hopper(stage="field", out=tmp_path, quick=True).run()
    found = xr.load_dataset(tmp_path / "result.nc", engine="h5netcdf")
    inside = found.sel(x=slice(0.3, 2.0), y=slice(0.15, 0.9))
    error = inside["found"] - inside["true"]
    assert float(np.sqrt((error**2).mean())) < 0.2 * float(inside["true"].std())
