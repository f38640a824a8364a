"""A sole in a bed: its geometry, the reduced law solved for the force, bearing in the plane against Prandtl's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from experiments.foot import grains, throws
from experiments.foot.run import parts
from experiments.foot.scene import LAW, RADIUS, SUPPORT, Foot, law


@pytest.mark.parametrize("dimension, area", [(2, 2 * RADIUS), (3, np.pi * RADIUS**2)])
def test_the_sole_starts_where_nothing_touches_it(dimension, area):
    foot = Foot.build(dimension, 0.02)
    bed, footpad = foot.position[:, : foot.soil], foot.position[:, foot.soil + foot.box :]
    assert bed[-1].max() == pytest.approx(-0.01)
    assert footpad[-1].min() - bed[-1].max() == pytest.approx(SUPPORT * 0.02)
    assert foot.area == pytest.approx(area, rel=0.05)
    # Its lower side is half a spacing below its particles, as the surface is above the bed's.
    assert foot.penetration(1.0, 0.0) == pytest.approx(0.01 - footpad[-1].min())
    assert foot.penetration(0.5, 0.2) - foot.penetration(0.5, 0.0) == pytest.approx(0.1)


def test_the_law_solved_for_the_force_gives_the_speed_back():
    z = jnp.linspace(0.0, 0.1, 5)
    for speed in (1.0, 2.0):
        flow = jax.vmap(LAW.flow, in_axes=(0, 0, None))(law(z, speed), z, jnp.asarray(RADIUS))
        # The ramp of the law is rounded by 2 N, of 28 and more that are too many.
        np.testing.assert_allclose(flow, speed, rtol=0.01)


def test_what_the_force_is_made_of_is_found_again():
    foot = Foot.build(2, 0.03)
    z = np.linspace(0.0, 0.06, 30)
    made = {v: (z, foot.area * (2000.0 + 500.0 * z + 1.5 * float(LAW.bulk_density) * v**2)) for v in (0.5, 1.0)}
    found = parts(foot, made, 0.06)["sph"]
    np.testing.assert_allclose(list(found.values()), [2000.0, 500.0, 1.5], rtol=1e-6)
    # One speed does not tell drag from bearing.
    assert parts(foot, {0.5: made[0.5]}, 0.06) == {}


def test_a_hit_is_over_where_the_soil_lets_go():
    time = np.arange(1, 101) * 1e-3
    pressure = np.where(time < 0.02, 1e4, np.where(time < 0.06, 10.0, 2e3))
    speed = 1.0 - np.cumsum(pressure) * 1e-3 / 510.0
    depth = np.cumsum(speed) * 1e-3 - 0.01
    table = {"penetration": depth, "speed": speed, "pressure": pressure}
    result = xr.Dataset({k: ("time", x) for k, x in table.items()}, coords={"time": time})
    found = throws.judge(result.assign_attrs(load_kg_m2=510.0, thrown_m_s=1.0))
    left = 1.0 - 19 * 10.0 / 510.0
    assert found["speed_left_by_the_hit"] == pytest.approx(left, abs=1e-3)
    rho_r = float(LAW.bulk_density) * RADIUS
    assert found["impulse_of_the_hit_over_rho_R_v"] == pytest.approx(510.0 * (1 - left) / rho_r, rel=1e-2)
    assert found["depth_m"] == pytest.approx(depth.max())


def test_grains_of_any_size_are_the_laws_soil():
    for diameter in (0.02, 0.04):
        soil = grains.recipe(diameter, 0.6, float(LAW.cohesion))
        assert float(soil.sizes.mean) == pytest.approx(diameter)
        assert float(soil.density) * grains.PACKS == pytest.approx(float(LAW.bulk_density))
        # Rumpf's sum over contacts, of the porosity that these grains have.
        strength = grains.PACKS / (1 - grains.PACKS) * float(soil.law.cohesion[0].pull_off) / diameter**2
        assert float(LAW.friction) * strength == pytest.approx(float(LAW.cohesion))


def test_the_sole_is_a_disc_of_pebbles_that_stays_level():
    footpad = grains.footpad(510.0)
    x, r = np.asarray(footpad.centre), np.asarray(footpad.radius)
    assert (np.hypot(x[:, 0], x[:, 1]) + r).max() < RADIUS + 1e-12
    assert (np.abs(x[:, 2]) + r).max() == pytest.approx(0.5 * grains.THICKNESS)
    assert float(footpad.body.mass) == pytest.approx(510.0 * np.pi * RADIUS**2)
    assert float(footpad.body.inertia[0, 0] / footpad.body.mass) > 100 * RADIUS**2


def test_a_way_of_constant_force_has_its_pressure():
    """v² falls by 2 p/load a metre, from a first touch above the mean surface."""
    depth = np.linspace(-0.02, 0.03, 501)
    speed = np.sqrt(2 * 1000.0 / 510.0 * (0.03 - depth))
    table = {"penetration": depth, "speed": speed}
    result = xr.Dataset({k: ("time", x) for k, x in table.items()}, coords={"time": np.arange(501) * 1e-3})
    found = grains.judge(result.assign_attrs(load_kg_m2=510.0, thrown_m_s=float(speed[0])))
    assert found["stands"] and found["touches_at_m"] == -0.02
    assert found["grains"]["pressure_of_second_half_Pa"] == pytest.approx(1000.0, rel=1e-3)
    assert found["grains"]["speed_left_at_1_cm"] == pytest.approx((2 / 5) ** 0.5, rel=1e-6)
    assert found["grains"]["speed_left_at_4_cm"] == 0 and found["law"]["depth_m"] > 0
