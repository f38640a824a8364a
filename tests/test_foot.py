"""A sole in a bed: its geometry, the reduced law solved for the force, bearing in the plane against Prandtl's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.foot.run import FootStudy, law, parts, push
from experiments.foot.scene import LAW, RADIUS, SUPPORT, Foot, soil


@pytest.mark.parametrize("dimension, area", [(2, 2 * RADIUS), (3, np.pi * RADIUS**2)])
def test_the_sole_starts_where_nothing_touches_it(dimension, area):
    foot = Foot.of(dimension, 0.02)
    bed, sole = foot.position[:, : foot.soil], foot.position[:, foot.soil + foot.box :]
    assert bed[-1].max() == pytest.approx(-0.01)
    assert sole[-1].min() - bed[-1].max() == pytest.approx(SUPPORT * 0.02)
    assert foot.area == pytest.approx(area, rel=0.05)
    # Its lower side is half a spacing below its particles, as the surface is above the bed's.
    assert foot.penetration(1.0, 0.0) == pytest.approx(0.01 - sole[-1].min())
    assert foot.penetration(0.5, 0.2) - foot.penetration(0.5, 0.0) == pytest.approx(0.1)


def test_soil_is_that_of_the_reduced_law():
    material = soil()
    assert float(material.density) == pytest.approx(0.25 * 1443)
    assert float(jnp.tan(material.friction)) == pytest.approx(0.6)
    assert float(material.cohesion) == pytest.approx(float(LAW.cohesion))
    assert float(material.young) == pytest.approx(0.25e8)
    assert float(soil(25.0).young) == pytest.approx(1e6)


def test_the_law_solved_for_the_force_gives_the_speed_back():
    z = jnp.linspace(0.0, 0.1, 5)
    for speed in (1.0, 2.0):
        flow = jax.vmap(LAW.flow, in_axes=(0, 0, None))(law(z, speed), z, jnp.asarray(RADIUS))
        # The ramp of the law is rounded by 2 N, of 28 and more that are too many.
        np.testing.assert_allclose(flow, speed, rtol=0.01)


def test_what_the_force_is_made_of_is_found_again():
    foot = Foot.of(2, 0.03)
    z = np.linspace(0.0, 0.06, 30)
    made = {v: (z, foot.area * (2000.0 + 500.0 * z + 1.5 * float(LAW.bulk_density) * v**2)) for v in (0.5, 1.0)}
    found = parts(foot, made, 0.06)["sph"]
    np.testing.assert_allclose(list(found.values()), [2000.0, 500.0, 1.5], rtol=1e-6)
    # One speed does not tell drag from bearing.
    assert parts(foot, {0.5: made[0.5]}, 0.06) == {}


@pytest.mark.parametrize(
    "bad, says", [({"speeds": (0.0,)}, "--speeds"), ({"depth": 0.3}, "--depth"), ({"depth": 0.0}, "--depth")]
)
def test_bad_input_says_so(bad, says):
    with pytest.raises(ValueError, match=says):
        FootStudy(**bad)


def test_a_bed_of_too_few_grains_is_refused():
    with pytest.raises(ValueError, match="--spacing"):
        Foot.of(2, 0.05)
    with pytest.raises(ValueError, match="--dimension"):
        Foot.of(1, 0.02)


@pytest.mark.slow
def test_bearing_of_a_strip_is_prandtls():
    """q = c N_c, with N_c of Prandtl (1921); a soil that does not dilate bears a little less."""
    foot = Foot.of(2, 0.0125)
    z, force = push(foot, FootStudy(depth=0.04, softening=25.0), 0.05)
    deep = z > 0.01
    N_q = np.exp(np.pi * 0.6) * (np.sqrt(1.36) + 0.6) ** 2
    prandtl = float(LAW.cohesion) * (N_q - 1) / 0.6
    assert np.mean(force[deep]) / foot.area == pytest.approx(prandtl, rel=0.1)
