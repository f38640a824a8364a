"""A sole in a bed: its geometry, the reduced law solved for the force, bearing in the plane against Prandtl's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.foot import grains
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
