"""The cliff study: its block, surface and measures, a small collapse, derivatives by the soil, the real one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import cKDTree

from difsim import Courant
from difsim.sph import CubicSpline
from experiments.cliff import collapse, inverse, pictures, profile, surface
from experiments.cliff.measurements import SURFACE, load_measurements
from experiments.cliff.run import CliffStudy
from experiments.cliff.scene import HEIGHT, SPACING, WIDTH, Cliff, soil
from experiments.harness import Found, write
from experiments.variables import describe, find_undescribed


@pytest.mark.parametrize("rows", [5, 38])
def test_the_block_is_the_same_at_every_spacing(rows):
    cliff = Cliff.build(rows)
    model = cliff.model(soil())
    block = cliff.position[:, : cliff.grains]
    assert float(model.mass[: cliff.grains].sum()) == pytest.approx(2650.0 * WIDTH * HEIGHT)
    np.testing.assert_allclose(block.max(axis=1) + 0.5 * cliff.pitch, (WIDTH, HEIGHT))
    # Nothing overlaps, and no kernel of the soil sees past the walls.
    nearest = cKDTree(cliff.position.T).query(cliff.position.T, k=2)[0][:, 1]
    assert nearest.min() > 0.99 * cliff.pitch.min()
    beyond = 0.5 * cliff.pitch - cliff.position.min(axis=1)
    assert (beyond >= float(model.kernel.h) - 0.02 * SPACING).all()
    if rows == 38:
        assert cliff.grains == 77 * 38 and cliff.pitch == pytest.approx(SPACING)


def test_surface_of_a_lattice_and_its_derivative():
    cliff = Cliff.build(6)
    area, grains = float(cliff.pitch.prod()), jnp.asarray(cliff.position[:, : cliff.grains])
    kernel = CubicSpline(2.5 * np.sqrt(area))
    x = np.array([0.0, 0.05, 0.1, 0.25])

    @eqx.filter_jit
    def evaluate(where):
        return surface.heights(kernel, area, where, jnp.asarray(x), 1.2 * HEIGHT)

    # Half a spacing above the upper row, up to the wall; nothing past the block.
    np.testing.assert_allclose(evaluate(grains), [HEIGHT, HEIGHT, HEIGHT, 0.0], atol=0.01 * cliff.pitch[1])
    way = jnp.asarray(np.random.default_rng(0).standard_normal(grains.shape))
    _, slope = jax.jvp(evaluate, (grains,), (way,))
    difference = (evaluate(grains + 1e-7 * way) - evaluate(grains - 1e-7 * way)) / 2e-7
    np.testing.assert_allclose(slope, difference, rtol=1e-5, atol=1e-7)
    lifted = jax.jvp(evaluate, (grains,), (jnp.zeros_like(grains).at[1].set(1.0),))[1]
    np.testing.assert_allclose(lifted, [1.0, 1.0, 1.0, 0.0], rtol=0.02)


def test_what_is_scattered_how_far_it_reaches_and_what_moved():
    start = Cliff.build(6).position[:, :72]
    pitch = HEIGHT / 6
    end = start.copy()
    end[:, -1] += 5 * pitch
    assert np.flatnonzero(~surface.heap(end, pitch)).tolist() == [71]
    x = np.linspace(0, 1, 11)
    assert surface.reach(x, 1 - x, 0.25) == pytest.approx(0.75)
    assert surface.reach(x, 1 - x, -1.0) == 1.0 and np.isnan(surface.reach(x, 0 * x, 0.5))
    # Moved by a tenth of the height above the floor: 2 mm at 2 cm.
    columns, border = surface.surface_at_rest(start, start + np.stack([0.1 * start[1], 0 * start[1]]), 2e-3)
    np.testing.assert_allclose(border, 0.02, rtol=1e-9)
    assert len(columns) == 12
    assert surface.surface_at_rest(start, start, 2e-3)[1] == pytest.approx(HEIGHT - 0.5 * pitch)
    assert collapse.slope(x, 1 - x, 0.2, 0.8) == pytest.approx(45.0)


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
