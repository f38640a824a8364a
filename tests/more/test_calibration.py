"""The reduced law calibrated by grains: design, factor of a throw, the table and its reader, the new unknown."""

import json
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.report import describe_calibration
from experiments.agilkia.scenario import problem
from experiments.foot import calibrate, calibration, footpads
from experiments.foot.calibration import Calibration, cross_validate, fit_factors, read
from experiments.foot.footpads import Throw, summarise
from experiments.foot.soils import DENSITIES, DIAMETERS, FRICTIONS, MODULI, THICKNESSES, design, ground_of
from experiments.foot.throws import law_fall
from inversion import Gaussian

SOILS = design(33, 0)

MIDDLE = {"thickness": 0.4, "grain_diameter": 1e-3, "grain_density": 1500.0, "grain_modulus": 1e8, "friction": 0.6}


@pytest.fixture(scope="module")
def table_calibration() -> Calibration:
    points = np.array(SOILS)
    return Calibration(0.2, 5.0, 0.3, points.min(axis=0), points.max(axis=0))


def test_the_design_fills_its_box():
    assert design(33, 0) == SOILS != design(33, 1)
    for values, levels in zip(np.array(SOILS).T[[0, 3, 4]], (THICKNESSES, MODULI, FRICTIONS), strict=True):
        assert [np.sum(values == level) for level in levels] == [11, 11, 11]
    for values, ends in zip(np.array(SOILS).T[[1, 2]], (DIAMETERS, DENSITIES), strict=True):
        np.testing.assert_allclose([values.min(), values.max()], ends)
        assert len(np.unique(values)) == 33


@pytest.mark.parametrize("factors", [(1.0, 1.0), (0.2, 5.0), (3.0, 2.0)])
def test_factors_on_the_law_are_found_again(factors):
    """From soles that are stopped by the law with these factors; what its viscosity has of √q is little."""
    rows = []
    for soil in [one for one in SOILS if one.grain_diameter < 1e-3]:
        ground = ground_of(soil, soil.thickness)
        scaled = replace(ground, bearing_factor=jnp.asarray(factors[0]), inertia_factor=jnp.asarray(factors[1]))
        way, speed = law_fall(1.0, 1022.0, scaled)
        path = {"time": way, "penetration": way - 1e-3, "speed": speed, "thickness": soil.thickness}
        rows.append(summarise(Throw("", soil), path | {"unrest": 0.0, "steps": 1}, until=0.3))
    taken, work = calibrate.columns(rows)
    np.testing.assert_allclose(fit_factors(taken, work), factors, rtol=0.05)
    assert np.abs(cross_validate(taken, work)).max() < 0.1
    if factors == (1.0, 1.0):
        np.testing.assert_allclose(work.sum(axis=1), taken, rtol=1e-3)


def test_the_shipped_table_is_what_it_says():
    """Its factors and their error follow from its rows."""
    table, known = json.loads(calibration.TABLE.read_text()), read()
    taken, work = np.array(table["lost_J_m2"]), np.array(table["work_of_the_law_J_m2"])
    np.testing.assert_allclose([known.bearing, known.inertia], fit_factors(taken, work), rtol=1e-3)
    parts = {k: v for k, v in table["sigma"].items() if k not in ("beds", "total")}
    assert parts["soil"] == pytest.approx(np.sqrt(np.mean(cross_validate(taken, work) ** 2)), rel=1e-3)
    assert float(known.sigma) == pytest.approx(np.linalg.norm([*parts.values()]))
    assert {*parts} == {"soil", "surface", "speed", "load", "width", "diameter"}
    assert len(table["points"]) == len(taken) >= 32 and table["footpads"]["drum_m"] == footpads.WIDTH
    assert {"command", "seed", "created"} <= set(table["made"])


def test_its_error_is_one_more_unknown(table_calibration):
    lander, data = read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_published.toml")
    plain, more = problem(lander, data), problem(lander, data, calibration=table_calibration)
    assert set(more.names) - set(plain.names) == {"law_error"}
    prior = more.parameters["law_error"]
    assert isinstance(prior, Gaussian) and prior.sigma == 0.3 and prior.mean == 0.0
    p = {k: jnp.asarray(v) for k, v in (OPTIMUM | MIDDLE | {"law_error": 0.2}).items()}
    ground, plain_ground = (one.predict.build(p)[0].regolith for one in (more, plain))
    assert ground.bearing_factor == pytest.approx(0.2 * np.exp(0.2)) and plain_ground.bearing_factor == 1.0
    assert ground.inertia_factor == pytest.approx(5.0 * np.exp(0.2)) and plain_ground.inertia_factor == 1.0
    says = describe_calibration(table_calibration, OPTIMUM | {"law_error": 0.2, "thickness": 0.8})
    assert says["outside"] == ["thickness"] and says["sigma"] == pytest.approx(0.3)
