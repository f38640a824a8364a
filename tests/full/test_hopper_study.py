"""The hopper study: the cube's tables and pictures, the ground under MINERVA-II, statistics of an ensemble."""

import numpy as np
import pytest
import xarray as xr

from difsim import Status
from difsim.gravity import Uniform
from difsim.shape.window import Window
from experiments.harness import write
from experiments.hopper import cube, ensemble
from experiments.hopper.imhotep import World
from experiments.hopper.run import Hopper
from experiments.records import provenance
from experiments.variables import find_undescribed
from inversion import sweep
from tests.more.test_hopper_study import block


def test_quick_cube_writes_what_the_paper_shows(tmp_path):
    told = cube.throw(quick=True)
    write(tmp_path, told, provenance() | {"stage": "cube", "wall_seconds": 1.0}, Hopper)
    found = told.summary
    thrown = found["thrown"]["smooth"]
    assert [row["status"] for row in thrown.values()] == ["OK"] * 3
    # Fig. 8: the weaker the gravity, the farther and the longer.
    for name in ("path_m", "settling_time_s", "highest_m"):
        values = [thrown[t][name] for t in ("phobos", "67p", "itokawa")]
        assert values == sorted(values)
    for row in thrown.values():
        assert row["largest_rise_of_energy"] < 1e-4 and row["ledger_error"] < 1e-3
        assert sum(row["lost_to"].values()) == pytest.approx(1.0, abs=1e-3)
    # Fig. 9: the creep that is left goes as the square of the regularisation speed: s' = -(1 + m r²/I) μ g s²/v_s²
    # from when it stands, some 8 s, so s = v_s²/(2.5 μ g t).
    slips = found["sliding"]["smooth"]["slip_m_s_at_40_s"]
    assert slips[1] == pytest.approx(1e-6 / (2.5 * 0.5 * 5.7e-3 * 32), rel=0.1)
    assert slips[0] > 50 * slips[1] > 2500 * slips[2]
    table = xr.load_dataset(tmp_path / "result.nc", engine="h5netcdf")
    assert all(np.isfinite(v).all() for v in table.values() if v.dtype.kind == "f")
    assert find_undescribed(table) == [] and "<h2>" in (tmp_path / "report.html").read_text()
    for name in ("trajectories", "settling", "energy", "sliding"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_every_member_of_an_ensemble_is_counted():
    """Two that come down on a flat block, and two that are thrown out of its window."""
    ground = block([200.0, 200.0, 40.0])
    site = np.array([0.0, 0.0, 20.0])
    place = World(Uniform((0.0, 0.0, -0.02)), Window.from_mesh(ground, site, 30.0, 5.0), site, np.eye(3))
    cases = {k: np.full(4, mean) for k, (mean, _, _) in ensemble.INPUTS.items()}
    cases |= {"height": np.full(4, 0.5), "up_velocity": np.array([0.0, 5.0, -0.02, 5.0])}
    cases["terrain"] = np.array([1, 2, 3, 4])
    table = sweep(ensemble.member(place), cases, chunk=4)
    assert Status.tally(table["status"].values) == {Status.OK: 2, Status.LEFT: 2}
    settled = table["status"].values == Status.OK
    for name in ("settling_time", "rest_east", "rest_north"):
        np.testing.assert_array_equal(np.isfinite(table[name].values), settled)
    assert (table["contacts"].values[settled] > 0).all() and (table["settling_time"].values[settled] > 5).all()


def test_the_field_is_recovered(tmp_path):
    Hopper(stage="field", out=tmp_path, quick=True).run()
    found = xr.load_dataset(tmp_path / "result.nc", engine="h5netcdf")
    inside = found.sel(x=slice(0.3, 2.0), y=slice(0.15, 0.9))
    error = inside["found"] - inside["true"]
    assert float(np.sqrt((error**2).mean())) < 0.2 * float(inside["true"].std())
