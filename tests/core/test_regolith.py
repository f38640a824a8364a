"""The sole's law in regolith: its terms by hand, its limits, and that every unknown moves it smoothly."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import safe
from difsim.contact import Regolith
from tests.helpers import approx, check_finite, check_gradients, to_single

R = jnp.array(0.1)


def regolith(**changes) -> Regolith:
    """The optimum of Wu et al. (2019)."""
    values = {
        "thickness": 0.27,
        "grain_diameter": 1.4e-4,
        "grain_density": 1443.0,
        "grain_modulus": 1e8,
        "friction": 0.6,
    }
    return Regolith(**values | changes)


def test_strength_of_the_grains_by_hand():
    ground = regolith()
    assert ground.bulk_density == approx(0.25 * 1443, rel=1e-14)
    # (1-φ)/φ = 1/3 and F_c/D² = 0.75 π 0.02/1.4e-4 = 336.599...
    assert ground.tensile_strength == approx(336.5992129 / 3, rel=1e-8)
    assert ground.cohesion == approx(0.6 * 336.5992129 / 3, rel=1e-8)
    assert regolith(grain_diameter=2.8e-4).cohesion == approx(0.5 * ground.cohesion, rel=1e-14)


def test_skeleton_stiffness_by_hand():
    # E_m = 0.25 E_p, so 2 · 0.1 · 0.25e8/(1 - 0.0625).
    assert regolith().stiffness(R) == approx(5e6 / 0.9375, rel=1e-14)


# Vesić's table (1973): N_q, N_c, N_γ to the two digits that it prints.
@pytest.mark.parametrize("degrees, n_q, n_c, n_γ", [(20, 6.40, 14.83, 5.39), (30, 18.40, 30.14, 22.40)])
def test_bearing_factors_are_those_of_the_table(degrees, n_q, n_c, n_γ):
    ground = regolith(friction=np.tan(np.radians(degrees)), thickness=1e9)
    weightless = eqx.tree_at(lambda g: g.gravity, ground, jnp.array(0.0))
    N_c = weightless.bearing_pressure(jnp.array(0.0), R) / (1.3 * ground.cohesion)
    assert N_c == approx(n_c, abs=0.006)
    weight = ground.bulk_density * ground.gravity
    rise = ground.bearing_pressure(jnp.array(1e5), R) - ground.bearing_pressure(jnp.array(0.0), R)
    assert rise / (weight * 1e5) == approx(n_q, abs=0.006)
    wide = ground.bearing_pressure(jnp.array(0.0), 1e4 * R) - weightless.bearing_pressure(jnp.array(0.0), 1e4 * R)
    assert wide / (0.6 * weight * 1e4 * R) == approx(n_γ, abs=0.02)


def test_the_floor_at_hand():
    """Twice the pressure where the clearance is one radius; the wall beyond the floor is steep and finite."""
    ground, thick = regolith(), regolith(thickness=1e9)
    z = ground.thickness - R
    assert ground.bearing_pressure(z, R) == approx(2 * thick.bearing_pressure(z, R), rel=1e-6)
    beyond = jax.vmap(lambda z: ground.bearing_pressure(z, R))(ground.thickness * jnp.array([0.999, 1.0, 1.2]))
    assert np.all(np.diff(beyond) > 0) and np.isfinite(beyond).all()


def test_flow_solves_its_equation():
    """c₁ ż + c₂ ż² is the excess over the yield strength, far above it; c₂ is Katsuragi and Durian's."""
    ground = regolith()
    z, force = jnp.array(0.05), jnp.array(600.0)
    rate, area = ground.flow(force, z, R), np.pi * 0.01
    q = ground.bearing_pressure(z, R)
    c1 = area * 1.4e-4 / 0.1 * np.sqrt(1443 * q) + 10
    c2 = 8 / 3 * 0.6 * 360.75 * area
    assert c1 * rate + c2 * rate**2 == approx(force - area * q, rel=1e-12)


def test_factors_multiply_bearing_and_inertia():
    """q and ρ_d alone; stiffness stays, and sliding but for its drag. c₁ goes with √q, as in the law."""
    ground, scaled = regolith(), regolith(bearing_factor=0.2, inertia_factor=5.0)
    z, slip = jnp.array([0.0, 0.05, 0.26]), jnp.array([0.02, -0.01, 0.0])
    q, soft = (jax.vmap(lambda z, g=g: g.bearing_pressure(z, R))(z) for g in (ground, scaled))
    np.testing.assert_allclose(soft, 0.2 * q, rtol=1e-14)
    rate, area = scaled.flow(jnp.array(600.0), z[1], R), np.pi * 0.01
    c1 = area * 1.4e-4 / 0.1 * np.sqrt(1443 * soft[1]) + 10
    c2 = 5 * 8 / 3 * 0.6 * 360.75 * area
    # The yield's ⟨N - F⟩ is smooth over 2 N, and what is left of it at N = 0 is taken off.
    strength = area * soft[1]
    excess = safe.ramp(600.0 - strength, 2.0) - safe.ramp(-strength, 2.0)
    assert excess == approx(600.0 - strength, rel=1e-6)
    assert c1 * rate + c2 * rate**2 == approx(excess, rel=1e-12)
    assert scaled.stiffness(R) == ground.stiffness(R)
    force, soft_alone = jnp.array(600.0), regolith(bearing_factor=0.2)
    np.testing.assert_array_equal(
        soft_alone.sliding_force(force, z[1], slip, R), ground.sliding_force(force, z[1], slip, R)
    )
    still = jnp.zeros(3)
    assert scaled.ploughing_pressure(still) == ground.ploughing_pressure(still)
    assert scaled.ploughing_pressure(slip) - scaled.ploughing_pressure(still) == approx(c2 / area * slip @ slip)
    assert scaled.flow(jnp.array(0.0), z[1], R) == 0


def test_a_ball_in_beads():
    """Katsuragi and Durian (2007) with the angle of repose as friction, and nothing fitted: k/m and d₁."""
    mass, radius = 0.0692, jnp.array(0.0127)
    beads = regolith(
        friction=np.tan(np.radians(24)), porosity=0.41, grain_density=1520 / 0.59, gravity=9.81, surface_energy=0.0
    )
    beads = eqx.tree_at(lambda g: g.thickness, beads, jnp.array(1e9))
    resistance = jax.vmap(lambda z: jnp.stack(beads.resistance(z, radius)))(jnp.array([0.0, 0.05]))
    assert (resistance[1, 0] - resistance[0, 0]) / 0.05 / mass == approx(1040, abs=10)
    assert mass / resistance[0, 2] == approx(0.087, abs=2 * 0.007)


def test_flow_is_zero_without_force_and_small_below_the_strength():
    ground = regolith()
    z = jnp.array([0.0, 0.1, 0.27])
    assert np.all(jax.vmap(lambda z: ground.flow(jnp.array(0.0), z, R))(z) == 0)
    soft = regolith(grain_diameter=1.0)  # strength below the yield width: the worst case for creep
    assert soft.flow(jnp.array(0.0), jnp.array(0.0), R) == 0
    strength = jnp.pi * R**2 * ground.bearing_pressure(jnp.array(0.0), R)
    assert ground.flow(strength - 40.0, jnp.array(0.0), R) < 1e-8
    assert ground.flow(strength + 40.0, jnp.array(0.0), R) > 1e-2


def test_a_rigid_body_meets_what_a_footpad_yields_to():
    """The flow rule and its inverse agree where neither is regularised, and nothing holds a body that rises."""
    ground, z = regolith(), jnp.array(0.05)
    for rate in (1.0, 3.0):
        force = ground.resist(jnp.array(rate), z, R)
        assert ground.flow(force, z, R) == approx(rate, rel=2e-3)
    strength = ground.resistance(z, R)[0]
    slow = ground.slip_speed * 0.01
    assert ground.resist(slow, z, R) == approx(1e-4 * strength, rel=0.1), "it rests on a share of the strength"
    assert ground.resist(jnp.array(0.0), z, R) == 0 and ground.resist(jnp.array(-1.0), z, R) == 0
    for rate in (0.3, 2e-3):
        check_gradients(lambda ground, rate, z: ground.resist(rate, z, R), ground, jnp.array(rate), z)
    check_finite(lambda rate: ground.resist(rate, z, R), jnp.array(0.0))


def test_sliding_limits():
    """Coulomb without penetration, plus 2 R z (2 c √K_p + ρ_d v²) with it; none at rest and none in flight."""
    ground = regolith()
    fast, N = jnp.array([3.0, -4.0, 0.0]), jnp.array(200.0)
    zero = jnp.array(0.0)
    np.testing.assert_allclose(ground.sliding_force(N, zero, fast, R), -120 * fast / 5, rtol=1e-6)
    pressure = 2 * ground.cohesion * 1.76619038 + 8 / 3 * 0.6 * 360.75 * 25
    ploughing = 2 * 0.1 * 0.05 * pressure * 200 / 202
    np.testing.assert_allclose(
        ground.sliding_force(N, jnp.array(0.05), fast, R), -(120 + ploughing) * fast / 5, rtol=1e-6
    )
    assert np.all(ground.sliding_force(N, jnp.array(0.05), jnp.zeros(3), R) == 0)
    assert np.all(ground.sliding_force(zero, jnp.array(0.05), fast, R) == 0)


def response(ground, force, z, slip):
    return ground.flow(force, z, R), ground.sliding_force(force, z, slip, R), ground.stiffness(R)


@pytest.mark.parametrize("force, z", [(400.0, 0.05), (125.0, 0.01), (950.0, 0.26)], ids=["deep", "yield", "floor"])
def test_every_unknown_acts_smoothly(force, z):
    state = jnp.array(force), jnp.array(z), jnp.array([0.02, -0.01, 0.0])
    check_gradients(response, regolith(), *state)
    check_gradients(response, regolith(bearing_factor=0.3, inertia_factor=6.0), *state)


def test_derivatives_are_finite_at_rest_and_in_flight():
    zero, still = jnp.array(0.0), jnp.zeros(3)
    check_finite(response, regolith(), zero, zero, still)
    check_finite(response, regolith(), jnp.array(400.0), zero, still)
    check_finite(response, regolith(), zero, jnp.array(0.1), still)
    check_finite(response, regolith(), jnp.array(1e5), jnp.array(0.5), jnp.array([2.0, 0.0, 0.0]))


def test_float32():
    arguments = jnp.array(400.0), jnp.array(0.05), jnp.array([0.02, -0.01, 0.0])
    ours = response(to_single(regolith()), *to_single(arguments))
    for a, b in zip(ours, response(regolith(), *arguments), strict=True):
        if a.dtype != jnp.float32:
            pytest.fail(f"float32 became {a.dtype}")
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
