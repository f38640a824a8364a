"""Columns of grains: what is measured of a heap, and the smallest run of the study."""

import json

import pytest
import xarray as xr

from experiments.column.run import ColumnStudy
from tests.results import assert_described


def test_the_quick_study_falls_as_it_should(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.beds.CACHE", tmp_path / "cache")
    ColumnStudy(out=tmp_path, quick=True).run()
    summary = json.loads((tmp_path / "summary.json").read_text())
    (found,) = [v for k, v in summary.items() if k.endswith("grains")]
    low, high = found["columns"]
    # A tenth to a third of the volume lies beyond the front in the study's table, and a bed scatters.
    assert 0 < low["run_out"] < high["run_out"] and low["beyond_front"] < 1 / 3
    assert {p.name for p in tmp_path.glob("*.*")} == {
        ".lock",
        "log.txt",
        "summary.json",
        "result.nc",
        "collapse.png",
        "report.html",
    }
    with xr.open_datatree(tmp_path / "result.nc", engine="h5netcdf") as tree:
        assert_described(summary, tree["column_0"].to_dataset().assign_attrs(tree.attrs))
    with pytest.raises(ValueError, match="grains = 10"):
        ColumnStudy(grains=10)
