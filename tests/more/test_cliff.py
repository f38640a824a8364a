"""The cliff study: its block, surface and measures, a small collapse, derivatives by the soil, the real one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Courant
from experiments.cliff import collapse, inverse, pictures, profile
from experiments.cliff.measurements import SURFACE, load_measurements
from experiments.cliff.run import CliffStudy
from experiments.cliff.scene import HEIGHT, WIDTH
from experiments.harness import Found, write
from experiments.variables import describe, find_undescribed


def test_measured_points_with_and_without_the_files(tmp_path, monkeypatch):
    monkeypatch.delenv("DIFSIM_DATA", raising=False)
    few = load_measurements()
    assert not few.whole and "not under DIFSIM_DATA" in few.source and len(few.surface) == len(SURFACE)
    (tmp_path / "Bui2008").mkdir()
    for name in ("surface", "failure"):
        (tmp_path / "Bui2008" / f"bui2008_{name}.csv").write_text("0.1,0.05\n0.2,0.04\n0.3,0.01\n")
    monkeypatch.setenv("DIFSIM_DATA", str(tmp_path))
    assert load_measurements().whole and load_measurements().surface.shape == (3, 2)


def test_a_small_collapse_loses_energy_and_is_drawn(tmp_path, monkeypatch):
    monkeypatch.delenv("DIFSIM_DATA", raising=False)
    result = collapse.collapse(5, None, tmp_path, end=0.1)
    known = load_measurements()
    found = collapse.judge(result, known)
    assert result.sizes == {"time": 5, "axis": 2, "particle": 50, "x": 301, "column": 10}
    assert find_undescribed(describe(result)) == []
    # It falls: the gate's side sinks, the wall's stays; energy is lost and none is made (elastic oscillations of
    # the first load are within a thousandth of what it falls by).
    last = result["surface"].values[-1]
    assert last[result["x"].values > WIDTH + 0.01].max() > 0.01
    assert found["height_at_wall_m"] == pytest.approx(HEIGHT, rel=0.02)
    assert found["largest_rise_of_energy"] < 0.01
    total = sum(result[k].values for k in ("kinetic", "potential", "elastic"))
    assert total[-1] < total[0]
    assert not list(tmp_path.glob("*.checkpoint"))
    figures = pictures.draw(result, known)
    runs = {"here": result, "halved": collapse.collapse(5, None, tmp_path, end=0.1, solver=Courant(0.25))}
    compared = collapse.compare(runs, known)
    assert compared["here"]["surface_worst_from_last_m"] < 1e-3  # where nothing is chaotic yet
    figures["surfaces"] = pictures.draw_compared(runs, known, "two rules")
    write(tmp_path, Found(figures=figures), {}, CliffStudy)
    for name in ("collapse", "snapshots", "energy", "surfaces"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_slopes_see_through_what_is_small():
    def add_roughness(x):
        return jnp.stack([x[0] ** 2 + 1e-3 * jnp.sin(1e6 * x[1]), 3.0 * x[1]])

    smooth = inverse.slopes(add_roughness, np.array([0.5, 2.0]))
    at = jnp.array([2.0, 1.0])  # from 1 the second goes down to 0 only
    np.testing.assert_array_equal(smooth(at), add_roughness(at))
    np.testing.assert_allclose(jax.jit(jax.jacfwd(smooth))(at), [[4.0, 0.0], [0.0, 3.0]], atol=1e-3)


def test_a_profile_finds_the_friction_and_its_interval(monkeypatch):
    frictions = np.linspace(15.3, 24.3, 7)
    places = np.linspace(0.5, 1.0, 13)

    def heights(friction):
        return 0.05 + 1e-3 * places * (friction - 19.8) + 1e-5 * (friction - 19.8) ** 2

    lines = np.stack([heights(f) for f in frictions])
    found, misfit = profile.judge(frictions, lines, heights(20.5))
    assert found["friction_deg"] == pytest.approx(20.5, abs=0.01) and misfit.min() < 1e-3
    half = 1.96 * 2e-3 / np.sqrt(((1e-3 * places + 2e-5 * 0.7) ** 2).sum())
    assert np.diff(found["interval_95_deg"])[0] == pytest.approx(2 * half, rel=0.01)
    # Data that no friction explains widen the second interval, scattered collapses both.
    wrong = heights(20.5) + 4e-3 * (-1.0) ** np.arange(13)
    off = profile.judge(frictions, lines, wrong)[0]
    wide, narrow = (np.ptp(off[f"interval_95_{k}"]) for k in ("with_the_models_error_deg", "deg"))
    assert wide == pytest.approx(narrow * np.sqrt(off["misfit_per_degree_of_freedom"]), rel=0.02) and wide > narrow
    rough = lines + 4e-3 * np.random.default_rng(0).standard_normal(lines.shape)
    assert profile.judge(frictions, rough, heights(20.5))[0]["scatter_about_parabolas_m"] == pytest.approx(
        4e-3, rel=0.2
    )
    monkeypatch.delenv("DIFSIM_DATA", raising=False)  # the digitised points may be at hand
    with pytest.raises(ValueError, match="needs the measured surface"):
        profile.explain(None, 8, load_measurements())
