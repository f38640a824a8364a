"""Normal laws: exact restitution and its inverse, integrated impacts, energy, derivatives.

experiments/scenes has the impacts of each law in closed form.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from difsim.contact import (
    ClippedDamping,
    CompressionDamping,
    Hertz,
    Hooke,
    NormalForce,
    NoSmoothing,
    PowerLaw,
    TensileDamping,
    Undamped,
)
from tests.catalogue import NORMALS
from tests.helpers import check_finite, check_gradients, each, to_single

MASS, STIFFNESS = 1.3, 2e4
VISCOUS = (TensileDamping, ClippedDamping, CompressionDamping)


def viscous(damping, e, elastic=None, mass=MASS):
    elastic = Hooke(STIFFNESS) if elastic is None else elastic
    return NormalForce.from_restitution(e, elastic, NoSmoothing(), mass=mass, damping=damping)


@eqx.filter_jit
def acceleration(law, mass, y):
    return law.force(y[0], y[1]) / mass


def impact(law, mass=MASS, speed=1.0, start=0.0):
    """The restitution of a free flight into the law."""

    def motion(_, y):
        return [y[1], -float(acceleration(law, mass, y))]

    def leaves(_, y):
        return y[0] - start

    leaves.terminal, leaves.direction = True, -1
    end = 10 * np.pi * np.sqrt(mass / STIFFNESS) - 4 * start / speed
    r = solve_ivp(motion, (0, end), [start, speed], "DOP853", events=leaves, rtol=1e-10, atol=1e-13)
    assert r.status == 1
    return -r.y_events[0][0, 1] / speed


def test_maps_and_inverses():
    """... and the derivative of the round trip is 1, the way a fit of e needs it."""

    def round_trips(e):
        elastics = Hooke(STIFFNESS), PowerLaw(STIFFNESS, 1.5)
        some = [viscous(d, e, elastic).restitution(mass=MASS) for d in VISCOUS for elastic in elastics]
        some.append(NormalForce.from_restitution(e, elastics[1], 1e-3, speed=1.3).restitution(speed=1.3))
        return jnp.stack(some), jnp.stack(some)

    e = jnp.array([1e-3, 0.05, 0.3, 0.6, 0.9, 0.999, 1.0])
    slopes, found = jax.jit(jax.vmap(jax.jacfwd(round_trips, has_aux=True)))(e)
    np.testing.assert_allclose(found, np.broadcast_to(e[:, None], found.shape), rtol=1e-12)
    np.testing.assert_allclose(slopes, 1, rtol=1e-10)


def test_four_points_of_a_body_share_its_mass():
    """N springs and N dampers on one mass: ζ√N with the whole mass, and ζ with m/N."""

    @jax.jit
    def compare_shares(e):
        def flat(mass):
            one = viscous(ClippedDamping, e, mass=mass)
            return NormalForce(Hooke(4 * STIFFNESS), ClippedDamping(4 * one.damping.coefficient), NoSmoothing())

        zeta = flat(MASS).damping.coefficient / (2 * np.sqrt(4 * STIFFNESS * MASS))
        alone = viscous(ClippedDamping, e).damping.coefficient / (2 * np.sqrt(STIFFNESS * MASS))
        return zeta / alone, flat(MASS).restitution(mass=MASS), flat(MASS / 4).restitution(mass=MASS)

    for e, expected in ((0.3, 0.136337), (0.9, 0.813524)):
        ratio, whole, quarter = compare_shares(e)
        np.testing.assert_allclose([ratio, quarter], [2.0, e], rtol=1e-12)
        np.testing.assert_allclose(whole, expected, atol=5.1e-7)


def test_a_law_that_is_not_known_has_no_force_of_zero():
    """Inside `jit` no number can be refused: NaN must show in the force, whatever the number that it came from."""

    @jax.jit
    def forces(e, k, depth):
        elastics = Hooke(k), PowerLaw(k, 1.5)
        laws = [viscous(damping, e, elastic) for damping in VISCOUS for elastic in elastics]
        laws.append(NormalForce.from_restitution(e, elastics[1], NoSmoothing(), speed=MASS))
        return jnp.stack([law.force(depth, jnp.array(0.1)) for law in laws])

    assert jnp.all(forces(0.6, STIFFNESS, 1e-3) > 0)
    for numbers in ((jnp.nan, STIFFNESS, 1e-3), (0.6, jnp.nan, 1e-3), (0.6, STIFFNESS, jnp.nan)):
        assert jnp.all(jnp.isnan(forces(*numbers)))


def test_hunt_crossley_has_the_restitution_at_its_speed():
    """Whatever the mass and the exponent; slower impacts rebound better, in the limit as 1 - 2 a v/3."""
    made = NormalForce.from_restitution(0.6, PowerLaw(1e6, 1.5), NoSmoothing(), speed=0.7)
    for exponent, mass, speed in ((1.5, MASS, 0.7), (1, 3.0, 0.7), (2, MASS, 0.2)):
        law = NormalForce(PowerLaw(1e6, exponent), made.damping, NoSmoothing())
        e = float(law.restitution(speed=speed))
        assert e == pytest.approx(0.6, rel=1e-12) if speed == 0.7 else e > 0.8
        np.testing.assert_allclose(impact(law, mass, speed), e, atol=1e-6)
        # φ(a v) = φ(-e a v): what the exact map rests on.
        u = float(law.damping.coefficient) * speed
        np.testing.assert_allclose(u - np.log1p(u), -e * u - np.log1p(-e * u), rtol=1e-11)
    for slow in (0.0, 1e-9, 1e-3):
        expected = 1 - 2 / 3 * made.damping.coefficient * slow
        np.testing.assert_allclose(made.restitution(speed=slow), expected, atol=1e-6)


def test_smoothing_conserves_energy_and_vanishes_with_its_width():
    e = impact(NormalForce(Hertz(1e6, 0.1), Undamped(), 2e-3), start=-0.08)
    np.testing.assert_allclose(e, 1, atol=1e-8)
    errors = []
    for width in (1e-4, 1e-5):
        law = NormalForce.from_restitution(0.6, PowerLaw(1e6, 1.5), width, mass=MASS)
        errors.append(abs(impact(law, start=-40 * width) - 0.6))
    assert errors[0] < 0.02 and errors[1] < errors[0] / 5


def slope_and_forces(law):
    """The slope of the energy, and the force at rest, at some depths; what damping adds at more of them."""
    depth, fine, force = (
        jnp.array([-0.02, -1e-3, 1e-4, 1e-3, 0.02]),
        jnp.linspace(-0.01, 0.02, 31),
        jax.vmap(law.force),
    )
    damping = [force(fine, jnp.full(31, rate)) - force(fine, jnp.zeros(31)) for rate in (-0.3, 0.3)]
    return jax.vmap(jax.grad(law.elastic_energy))(depth), force(depth, jnp.zeros(5)), jnp.stack(damping)


@pytest.mark.parametrize("name", NORMALS)
def test_force_at_rest_is_the_slope_of_the_energy(name):
    slope, force, _ = each(slope_and_forces, dict(NORMALS))[name]
    np.testing.assert_allclose(force, slope, rtol=1e-12)
    assert np.all(force >= 0) and np.all(np.diff(force) >= 0)


@pytest.mark.parametrize("name", NORMALS)
def test_damping_takes_energy(name):
    against, along = each(slope_and_forces, dict(NORMALS))[name][2]
    assert np.all(against <= 0) and np.all(along >= 0)


STATES = np.array([[d, v] for d in (-1.0, -0.01, 0.0, 1e-9, 0.01) for v in (-0.2, 0.0, 1e-6, 0.2)])


def force_and_energy(law, states):
    depth, rate = states.T
    return jax.vmap(law.force)(depth, rate), jax.vmap(law.elastic_energy)(depth)


@pytest.mark.parametrize("name", NORMALS)
def test_derivatives(name):
    """Equal to differences through the touch where a law is smoothed; finite apart, touching, at rest and far."""
    law = NORMALS[name]
    if not law.regularisation.is_smooth:
        check_finite(force_and_energy, law, jnp.asarray(STATES))
        return
    # Three states each time: one program.
    check_gradients(force_and_energy, law, jnp.array([[-0.002, 0.1], [0.012, 0.1], [0.01, -0.03]]))
    check_gradients(force_and_energy, law, jnp.array([[0.0, 0.1], [-0.001, 0.2], [0.0, 0.1]]), step=1e-5)


@pytest.mark.parametrize("name", NORMALS)
def test_float32(name):
    ours, exact = (each(force_and_energy, laws, x)[name][0] for laws, x in (
        (to_single(dict(NORMALS)), to_single(jnp.asarray(STATES))), (dict(NORMALS), jnp.asarray(STATES))
    ))  # fmt: skip
    assert ours.dtype == jnp.float32
    np.testing.assert_allclose(ours, exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", NORMALS)
def test_which_laws_are_discontinuous_at_touch(name):
    """By a jump, or by a slope without bound: that of a damper which goes as the fourth root of the depth."""
    near = jnp.array([[-1e-16, 0.3], [1e-16, 0.3], [1e-12, 0.3]])
    before, after, later = each(force_and_energy, dict(NORMALS), near)[name][0]
    jumps = abs(after - before) > 1.0 or abs(later - after) > 1e6 * 1e-12
    assert NORMALS[name].is_discontinuous == bool(jumps)
