"""Columns of grains: what is measured of a heap, and the smallest run of the study."""

import json

import numpy as np
import pytest
import xarray as xr

from experiments.column.collapse import lube
from experiments.column.heap import Heap
from experiments.column.run import ColumnStudy
from experiments.column.scene import PACKED, Column
from tests.helpers import assert_described


def test_a_cone_is_measured_as_one():
    """30 cm wide, 6 cm high, of 1 mm grains at random, off the axis."""
    random = np.random.default_rng(0)
    reach, top, size = 0.15, 0.06, 1e-3
    count = round(PACKED * np.pi / 3 * reach**2 * top / (np.pi / 6 * size**3))
    share = random.uniform(size=(3, count))
    z = top * (1 - share[0] ** (1 / 3))
    r = reach * (1 - z / top) * np.sqrt(share[1])
    place = np.stack([r * np.cos(2 * np.pi * share[2]) + 0.3, r * np.sin(2 * np.pi * share[2]), z])
    heap = Heap.of(place, np.full(count, 0.5 * size), rings=200)
    assert heap.slope == pytest.approx(np.degrees(np.arctan(top / reach)), abs=0.3)
    assert heap.top == pytest.approx(top, rel=0.05)
    assert heap.front == pytest.approx(reach * (1 - 0.5 * size / top), abs=size)
    assert 0 < heap.beyond < 1e-3
    with pytest.raises(ValueError, match=r"past 0\.1 m: give more than 100 rings"):
        Heap.of(place, np.full(count, 0.5 * size), rings=100)
    with pytest.raises(ValueError, match="are no heap"):
        Heap.of(place[:, :3], np.full(3, 0.5 * size))


def test_columns_have_one_volume_at_any_scale():
    fine, coarse = Column(2.0, 8000), Column(2.0, 1000)
    assert coarse.radius == pytest.approx(fine.radius) and coarse.diameter == pytest.approx(2 * fine.diameter)
    assert lube(np.array([1.0, 4.0])).tolist() == [1.24, 3.2]


@pytest.mark.slow
def test_the_quick_study_falls_as_it_should(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.column.scene.CACHE", tmp_path / "cache")
    ColumnStudy(out=tmp_path, quick=True).run()
    summary = json.loads((tmp_path / "summary.json").read_text())
    (found,) = [v for k, v in summary.items() if k.endswith("grains")]
    low, high = found["columns"]
    # A tenth to a third of the volume lies beyond the front in the study's table, and a bed scatters.
    assert 0 < low["run_out"] < high["run_out"] and low["beyond_front"] < 1 / 3
    assert {p.name for p in tmp_path.glob("*.*")} == {
        ".lock",
        "summary.json",
        "result.nc",
        "collapse.png",
        "report.html",
    }
    with xr.open_datatree(tmp_path / "result.nc", engine="h5netcdf") as tree:
        assert_described(summary, tree["column_0"].to_dataset().assign_attrs(tree.attrs))
    with pytest.raises(ValueError, match="grains = 10"):
        ColumnStudy(grains=10)
