"""The reduced law calibrated by grains: design, factor of a throw, the table and its reader, the new unknown."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.report import calibrated
from experiments.agilkia.scenario import problem
from experiments.foot import calibrate, calibration, soles
from experiments.foot.calibration import UNKNOWNS, Calibration, fitted, read
from experiments.foot.run import FootStudy
from experiments.foot.run import run as run_foot
from experiments.foot.soils import DENSITIES, DIAMETERS, FRICTIONS, MODULI, THICKNESSES, design, ground_of
from experiments.foot.soles import Throw, judged, ratio, throws
from experiments.foot.thrown import law_fall
from inversion import Gaussian

SOILS = design(33, 0)
MIDDLE = {"thickness": 0.4, "grain_diameter": 1e-3, "grain_density": 1500.0, "grain_modulus": 1e8, "friction": 0.6}


def true(soil):
    """Some factor, of second degree in the surface's coordinates."""
    h, d, density, modulus, friction = soil
    return np.exp(
        0.3 - 2 * h + 0.1 * np.log(d) * friction - 0.4 * friction**2 + 1e-4 * density - 0.01 * np.log(modulus)
    )


@pytest.fixture(scope="module")
def known() -> Calibration:
    points = np.array(SOILS)
    return Calibration(fitted(points, np.array([true(p) for p in points])), 0.3)


def test_the_design_fills_its_box():
    assert design(33, 0) == SOILS != design(33, 1)
    for values, levels in zip(np.array(SOILS).T[[0, 3, 4]], (THICKNESSES, MODULI, FRICTIONS), strict=True):
        assert [np.sum(values == level) for level in levels] == [11, 11, 11]
    for values, ends in zip(np.array(SOILS).T[[1, 2]], (DIAMETERS, DENSITIES), strict=True):
        np.testing.assert_allclose([values.min(), values.max()], ends)
        assert len(np.unique(values)) == 33


def test_every_throw_is_kept_under_a_name_of_its_own():
    """Those that are compared have a twin among the throws; the same throw twice is thrown once."""
    wanted = throws(33, 0, 4, calibrate.SIZES)
    by_key = {one.key: one for one in wanted}
    for one in wanted:
        twin = by_key[one.key]
        assert one._replace(why="") == twin._replace(why="")
        if one.why in ("speed", "load", "size"):
            assert one.twin.key in by_key and one.twin.key != one.key


@pytest.mark.parametrize("factor", [0.3, 1.0, 3.0])
def test_the_factor_of_a_law_that_resists_more_is_found(factor):
    soil = SOILS[0]._replace(thickness=0.3, grain_diameter=2e-4)
    ground = ground_of(soil, 0.3)
    way, speed = law_fall(1.0, 1022.0, replace(ground, resistance=factor))
    assert ratio(way, speed, 1022.0, ground) == pytest.approx(factor, rel=2e-3)
    path = {"time": way, "penetration": way - 0.01, "speed": speed, "thickness": 0.3, "unrest": 0.0, "steps": 1}
    found = judged(Throw("", soil), path, until=0.3)
    assert found["ratio"] == pytest.approx(factor, rel=2e-3)
    assert found["ratio_below"] == pytest.approx(factor, rel=0.05)
    assert (found["pressure"] > found["law_pressure"]) == (factor > 1.01) or factor == 1.0


def test_the_surface_is_the_table(known):
    for soil in ([0.3, 5e-4, 1000.0, 1e7, 0.2], [0.45, 2e-2, 2500.0, 1e9, 1.0]):
        p = dict(zip(UNKNOWNS, map(jnp.asarray, soil), strict=True))
        assert known.factor(p, jnp.array(0.0)) == pytest.approx(true(soil), rel=1e-6)
        assert known.factor(p, jnp.array(0.5)) == pytest.approx(true(soil) * np.exp(0.5), rel=1e-6)


def test_outside_the_box_the_factor_is_that_of_its_edge(known):
    inside = {k: jnp.asarray(v) for k, v in MIDDLE.items()}
    at = lambda **changes: known.factor(inside | {k: jnp.asarray(v) for k, v in changes.items()}, jnp.array(0.0))  # noqa: E731
    assert at(thickness=0.9) == at(thickness=0.5) != at(thickness=0.45)
    assert at(grain_diameter=0.1) == at(grain_diameter=DIAMETERS[1])
    assert known.outside(MIDDLE) == []
    assert known.outside(MIDDLE | {"thickness": 0.9, "grain_diameter": 0.1}) == ["thickness", "grain_diameter"]


def test_the_factor_has_derivatives(known):
    inside = {k: jnp.asarray(v) for k, v in MIDDLE.items()}
    slopes = jax.grad(lambda p: known.factor(p, jnp.array(0.1)))(inside)
    for name, slope in slopes.items():
        step = 1e-4 * inside[name]
        ends = [known.factor(inside | {name: inside[name] + s * step}, jnp.array(0.1)) for s in (-1, 1)]
        assert slope == pytest.approx(float((ends[1] - ends[0]) / (2 * step)), rel=1e-5)


def test_the_shipped_table_reads():
    table, known = json.loads(calibration.TABLE.read_text()), read()
    parts = {k: v for k, v in table["sigma"].items() if k not in ("beds", "total")}
    assert float(known.sigma) == pytest.approx(np.linalg.norm([*parts.values()]))
    assert float(known.surface.error[0]) == pytest.approx(table["sigma"]["surface"], rel=1e-6)
    assert len(table["points"]) == len(table["factor"]) >= 32
    assert {"command", "seed", "created"} <= set(table["made"])


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda t: t.pop("sigma"), "KeyError"),
        (lambda t: t["unknowns"].reverse(), "its unknowns are"),
        (lambda t: t.update(factor=t["factor"][:5], points=t["points"][:5]), "5 points"),
        (lambda t: t["sigma"].update(total=0.0), "sigma = 0.0 must be positive"),
    ],
)
def test_a_file_that_is_no_table_says_so(tmp_path, change, says):
    table = json.loads(calibration.TABLE.read_text())
    change(table)
    path = tmp_path / "table.json"
    path.write_text(json.dumps(table))
    with pytest.raises(ValueError, match=says):
        read(path)
    with pytest.raises(ValueError, match="is no table"):
        read(tmp_path / "nothing.json")


def test_its_error_is_one_more_unknown(known):
    lander, data = read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_published.toml")
    plain, more = problem(lander, data), problem(lander, data, calibration=known)
    assert set(more.names) - set(plain.names) == {"law_error"}
    prior = more.parameters["law_error"]
    assert isinstance(prior, Gaussian) and prior.sigma == 0.3 and prior.mean == 0.0
    p = {k: jnp.asarray(v) for k, v in (OPTIMUM | MIDDLE | {"law_error": 0.2}).items()}
    resistance = more.predict.build(p)[0].regolith.resistance
    assert resistance == pytest.approx(true([*MIDDLE.values()]) * np.exp(0.2), rel=1e-6)
    assert plain.predict.build(p)[0].regolith.resistance == 1.0
    says = calibrated(known, OPTIMUM | {"law_error": 0.2, "thickness": 0.8})
    assert says["outside"] == ["thickness"] and says["sigma"] == pytest.approx(0.3)


def test_errors_add_up():
    wanted = throws(33, 0, 4, calibrate.SIZES)
    points = np.array(SOILS)
    surface = fitted(points, np.array([true(p) for p in points]))
    found = [{"ratio": 2.0 if one.why in ("speed", "size") else 1.0} for one in wanted]
    parts = calibrate.errors(surface, wanted, found)
    assert parts["speed"] == parts["size"] == pytest.approx(np.log(2.0)) and parts["load"] == parts["beds"] == 0.0
    assert parts["total"] == pytest.approx(2**0.5 * np.log(2.0), rel=1e-6)


@pytest.mark.slow
def test_a_quick_study_goes_on_and_writes_its_table(tmp_path, monkeypatch):
    monkeypatch.setattr(calibrate, "CACHE", tmp_path)
    monkeypatch.setattr("experiments.foot.soils.CACHE", tmp_path)
    options = FootStudy(stage="calibrate", quick=True, out=tmp_path / "out")
    run_foot(options)
    known = read(tmp_path / "out" / calibration.TABLE.name)
    assert np.isfinite(known.surface.terms).all() and known.sigma > 0
    assert (tmp_path / "out" / "factors.png").stat().st_size > 10_000
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    for row in summary["throws"]:
        assert row["ratio"] > 0 and row["way"] > 0 and row["unrest"] < 0.01
    # Nothing is thrown again.
    monkeypatch.setattr(soles.Range, "__call__", lambda *_: pytest.fail("thrown again"))
    run_foot(options)
