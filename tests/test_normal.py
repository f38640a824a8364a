"""Normal laws: exact restitution and its inverse, integrated impacts, energy, derivatives."""

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
    HuntCrossley,
    NormalForce,
    NoSmoothing,
    PowerLaw,
    TensileDamping,
    Undamped,
)
from difsim.contact.elastic import effective_modulus
from difsim.contact.regularisation import Smoothing
from tests.catalogue import NORMALS
from tests.helpers import check_finite, check_gradients, single

MASS, STIFFNESS = 1.3, 2e4
VISCOUS = [TensileDamping, ClippedDamping, CompressionDamping]
SPRING, EXPONENTS, ABRUPT = Hooke(STIFFNESS), (1, 1.5, 2), NoSmoothing()


def viscous(damping, e, elastic=SPRING, mass=MASS, regularisation=ABRUPT):
    return NormalForce.from_restitution(e, elastic, regularisation, mass=mass, damping=damping)


def linear(damping, zeta):
    return NormalForce(SPRING, damping(2 * zeta * np.sqrt(STIFFNESS * MASS)), ABRUPT)


def impact(law, mass=MASS, speed=1.0, start=0.0):
    """Free flight into the law: realised e, greatest depth, greatest force, duration."""
    force = jax.jit(lambda y: law.force(y[0], y[1]))

    def motion(_, y):
        return [y[1], -float(force(y)) / mass]

    def leaves(_, y):
        return y[0] - start

    leaves.terminal, leaves.direction = True, -1
    end = 10 * np.pi * np.sqrt(mass / STIFFNESS) - 4 * start / speed
    r = solve_ivp(
        motion, (0, end), [start, speed], "DOP853", events=leaves, rtol=1e-10, atol=1e-13, dense_output=True
    )
    assert r.status == 1
    path = r.sol(np.linspace(0, r.t[-1], 2001))
    forces = jax.vmap(force)(jnp.array(path.T))
    return -r.y_events[0][0, 1] / speed, path[0].max(), float(forces.max()), r.t_events[0][0]


RESTITUTIONS = [
    (TensileDamping, 0.2, 0.5266206),
    (TensileDamping, 0.5, 0.1630335),
    (ClippedDamping, 0.05, 0.8587581),
    (ClippedDamping, 0.2, 0.5717400),
    (ClippedDamping, 0.5, 0.2984361),
    (ClippedDamping, 0.9, 0.1552827),
    (CompressionDamping, 0.05, 0.9266920),
    (CompressionDamping, 0.2, 0.7561349),
    (CompressionDamping, 0.5, 0.5462930),
    (CompressionDamping, 0.9, 0.3940594),
    (CompressionDamping, 1.5, 0.2749333),
]


@pytest.mark.parametrize(("law", "zeta", "e"), RESTITUTIONS)
def test_linear_restitution_numbers(law, zeta, e):
    np.testing.assert_allclose(linear(law, zeta).restitution(mass=MASS), e, atol=5.1e-8)
    back = viscous(law, linear(law, zeta).restitution(mass=MASS))
    np.testing.assert_allclose(back.damping.coefficient, linear(law, zeta).damping.coefficient, rtol=1e-12)


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize(("asked", "realised"), [(0.3, 0.397140), (0.6, 0.632291), (0.9, 0.902026)])
def test_clipping_a_power_law_raises_its_restitution(asked, realised, exponent):
    free = viscous(TensileDamping, asked, PowerLaw(STIFFNESS, exponent))
    np.testing.assert_allclose(free.restitution(mass=MASS), asked, rtol=1e-12)
    clipped = NormalForce(free.elastic, ClippedDamping(free.damping.coefficient), ABRUPT)
    np.testing.assert_allclose(clipped.restitution(mass=MASS), realised, atol=5.1e-7)


ELASTICS = [SPRING, *(PowerLaw(STIFFNESS, p) for p in EXPONENTS)]


@jax.jit
@jax.jacfwd
def slopes_of_round_trips(e):
    some = [viscous(d, e, elastic).restitution(mass=MASS) for d in VISCOUS for elastic in ELASTICS[::2]]
    some.append(NormalForce.from_restitution(e, ELASTICS[2], 1e-3, speed=1.3).restitution(speed=1.3))
    return jnp.stack(some)


@pytest.mark.parametrize("e", [1e-3, 0.05, 0.3, 0.6, 0.9, 0.999, 1.0])
def test_maps_and_inverses(e):
    for law in (viscous(damping, e, elastic) for damping in VISCOUS for elastic in ELASTICS):
        np.testing.assert_allclose(law.restitution(mass=MASS), e, rtol=1e-12)
    law = NormalForce.from_restitution(e, PowerLaw(STIFFNESS, 1.5), ABRUPT, speed=1.3)
    np.testing.assert_allclose(law.restitution(speed=1.3), e, rtol=1e-12)
    # ... and the derivative of the round trip is 1, the way a fit of e needs it.
    np.testing.assert_allclose(slopes_of_round_trips(jnp.array(e)), 1, rtol=1e-10)


@pytest.mark.parametrize("e", [0.3, 0.8])
@pytest.mark.parametrize("damping", VISCOUS)
def test_linear_impact_realises_the_restitution(damping, e):
    made = viscous(damping, e)
    realised, depth, _, _ = impact(made, speed=0.7)
    np.testing.assert_allclose(realised, e, atol=1e-7)
    if damping is CompressionDamping:  # it leaves as an undamped one that arrived at e v
        np.testing.assert_allclose(depth, made.elastic.max_depth(MASS, e * 0.7), rtol=1e-5)


@pytest.mark.parametrize(("e", "whole"), [(0.3, 0.136337), (0.9, 0.813524)])
def test_four_points_of_a_body_share_its_mass(e, whole):
    """N springs and N dampers on one mass: ζ√N with the whole mass, and ζ with m/N."""

    def flat(mass):
        one = viscous(ClippedDamping, e, mass=mass)
        return NormalForce(Hooke(4 * STIFFNESS), ClippedDamping(4 * one.damping.coefficient), ABRUPT)

    zeta = flat(MASS).damping.coefficient / (2 * np.sqrt(4 * STIFFNESS * MASS))
    alone = viscous(ClippedDamping, e).damping.coefficient / (2 * np.sqrt(STIFFNESS * MASS))
    np.testing.assert_allclose(zeta, 2 * alone, rtol=1e-12)
    np.testing.assert_allclose(flat(MASS).restitution(mass=MASS), whole, atol=5.1e-7)
    np.testing.assert_allclose(flat(MASS / 4).restitution(mass=MASS), e, rtol=1e-12)


@pytest.mark.parametrize("speed", [0.1, 2.0])
@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("damping", VISCOUS)
def test_power_law_impact_realises_the_restitution_at_any_speed(damping, exponent, speed):
    made = viscous(damping, 0.6, PowerLaw(1e6, exponent))
    np.testing.assert_allclose(impact(made, speed=speed)[0], 0.6, atol=1e-6)


def test_a_law_that_is_not_known_has_no_force_of_zero():
    """Inside `jit` no number can be refused: NaN must show in the force, whatever the number that it came from."""

    @jax.jit
    def forces(e, k, depth):
        elastics = Hooke(k), PowerLaw(k, 1.5)
        laws = [viscous(damping, e, elastic) for damping in VISCOUS for elastic in elastics]
        laws.append(NormalForce.from_restitution(e, elastics[1], ABRUPT, speed=MASS))
        return jnp.stack([law.force(depth, jnp.array(0.1)) for law in laws])

    assert jnp.all(forces(0.6, STIFFNESS, 1e-3) > 0)
    for numbers in ((jnp.nan, STIFFNESS, 1e-3), (0.6, jnp.nan, 1e-3), (0.6, STIFFNESS, jnp.nan)):
        assert jnp.all(jnp.isnan(forces(*numbers)))


def test_hunt_crossley_has_the_restitution_at_its_speed():
    """Whatever the mass and the exponent; slower impacts rebound better, in the limit as 1 - 2 a v/3."""
    made = NormalForce.from_restitution(0.6, PowerLaw(1e6, 1.5), ABRUPT, speed=0.7)
    for exponent, mass, speed in ((1.5, MASS, 0.7), (1, 3.0, 0.7), (2, MASS, 0.2)):
        law = NormalForce(PowerLaw(1e6, exponent), made.damping, ABRUPT)
        e = float(law.restitution(speed=speed))
        assert e == pytest.approx(0.6, rel=1e-12) if speed == 0.7 else e > 0.8
        np.testing.assert_allclose(impact(law, mass, speed)[0], e, atol=1e-6)
        # φ(a v) = φ(-e a v): what the exact map rests on.
        u = float(law.damping.coefficient) * speed
        np.testing.assert_allclose(u - np.log1p(u), -e * u - np.log1p(-e * u), rtol=1e-11)
    for slow in (0.0, 1e-9, 1e-3):
        np.testing.assert_allclose(
            made.restitution(speed=slow), 1 - 2 / 3 * made.damping.coefficient * slow, atol=1e-6
        )


def test_overdamped_clipped_impact():
    law = linear(ClippedDamping, 1.5)
    np.testing.assert_allclose(impact(law)[0], law.restitution(mass=MASS), atol=1e-7)
    assert linear(TensileDamping, 1.5).restitution(mass=MASS) == 0


# Aluminium, R = 0.1 m, v = 1 m/s: against its like, a wall of aluminium, a rigid wall.
HERTZ = [
    ([70e9, 70e9], [0.1, 0.1], 0.5, (2.069916e-4, 3.414913e4, 6.092333e-4)),
    ([70e9, 70e9], [0.1], 1.0, (2.377710e-4, 5.945708e4, 6.998253e-4)),
    ([70e9], [0.1], 1.0, (1.801967e-4, 7.845409e4, 5.303684e-4)),
]


@pytest.mark.parametrize(("modulus", "radius", "share", "numbers"), HERTZ, ids=["pair", "wall", "rigid wall"])
def test_hertz_closed_forms(modulus, radius, share, numbers):
    mass = share * 2700 * 4 / 3 * np.pi * 0.1**3
    hertz = Hertz.from_materials(modulus, [0.3] * len(modulus), radius)
    ours = hertz.max_depth(mass, 1.0), hertz.max_force(mass, 1.0), hertz.duration(mass, 1.0)
    np.testing.assert_allclose(ours, numbers, rtol=3e-7)
    law = NormalForce(hertz, Undamped(), ABRUPT)
    assert law.restitution() == 1
    e, *integrated = impact(law, mass)
    np.testing.assert_allclose(e, 1, atol=1e-8)
    np.testing.assert_allclose(integrated, numbers, rtol=1e-5)


def test_smoothing_conserves_energy_and_vanishes_with_its_width():
    e, *_ = impact(NormalForce(Hertz(1e6, 0.1), Undamped(), 2e-3), start=-0.08)
    np.testing.assert_allclose(e, 1, atol=1e-8)
    errors = []
    for width in (1e-4, 1e-5):
        law = NormalForce.from_restitution(0.6, PowerLaw(1e6, 1.5), width, mass=MASS)
        errors.append(abs(impact(law, start=-40 * width)[0] - 0.6))
    assert errors[0] < 0.02 and errors[1] < errors[0] / 5


@pytest.mark.parametrize("law", NORMALS)
def test_force_at_rest_is_the_slope_of_the_energy(law):
    depth = jnp.array([-0.02, -1e-3, 1e-4, 1e-3, 0.02])
    slope = jax.vmap(jax.grad(law.elastic_energy))(depth)
    force = jax.vmap(law.force)(depth, jnp.zeros(5))
    np.testing.assert_allclose(force, slope, rtol=1e-12)
    assert np.all(force >= 0) and np.all(np.diff(force) >= 0)


@pytest.mark.parametrize("law", NORMALS)
def test_damping_takes_energy(law):
    depth = jnp.linspace(-0.01, 0.02, 31)
    for rate in (-0.3, 0.3):
        excess = jax.vmap(law.force)(depth, jnp.full(31, rate)) - jax.vmap(law.force)(depth, jnp.zeros(31))
        assert np.all(excess * rate >= 0)


STATES = jnp.array([[d, v] for d in (-1.0, -0.01, 0.0, 1e-9, 0.01) for v in (-0.2, 0.0, 1e-6, 0.2)])


def force_and_energy(law, states):
    depth, rate = states.T
    return jax.vmap(law.force)(depth, rate), jax.vmap(law.elastic_energy)(depth)


@pytest.mark.parametrize("law", NORMALS)
def test_derivatives(law):
    """Finite when separated, touching, at rest and far; equal to differences away from kinks."""
    check_finite(force_and_energy, law, STATES)
    check_gradients(force_and_energy, law, jnp.array([[-0.002, 0.1], [0.012, 0.1], [0.01, -0.03]]))
    if law.regularisation.is_smooth:
        # Three states again: nothing is compiled anew.
        check_gradients(force_and_energy, law, jnp.array([[0.0, 0.1], [-0.001, 0.2], [0.0, 0.1]]), step=1e-5)


@pytest.mark.parametrize("law", NORMALS)
def test_float32(law):
    force = eqx.filter_jit(lambda law, states: jax.vmap(law.force)(*states.T))
    ours = force(single(law), single(STATES))
    assert ours.dtype == jnp.float32
    np.testing.assert_allclose(ours, force(law, STATES), rtol=1e-4, atol=1e-3)


def test_which_laws_are_discontinuous_at_touch():
    """By a jump, or by a slope without bound: that of a damper which goes as the fourth root of the depth."""
    for param in NORMALS:
        law = param.values[0]
        near = jnp.array([-1e-16, 1e-16, 1e-12])
        before, after, later = jax.vmap(lambda depth: law.force(depth, jnp.array(0.3)))(near)  # noqa: B023
        assert law.is_discontinuous == bool((abs(after - before) > 1.0) | (abs(later - after) > 1e6 * 1e-12)), (
            param.id
        )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hooke(-1.0), "stiffness"),
        (lambda: PowerLaw(-1.0, 1.5), "stiffness"),
        (lambda: ClippedDamping(-1.0), "coefficient"),
        (lambda: TensileDamping(-1.0), "coefficient"),
        (lambda: NormalForce(SPRING, CompressionDamping(1.0), 0.0), "NoSmoothing"),
        (lambda: PowerLaw(1.0, 0.5), "exponent"),
        (lambda: HuntCrossley(-1.0), "coefficient"),
        (lambda: viscous(TensileDamping, 1.1), "restitution"),
        (lambda: viscous(ClippedDamping, 0.0), "restitution"),
        (lambda: viscous(TensileDamping, 0.6, mass=0.0), "mass = 0.0 kg must be positive"),
        (lambda: viscous(ClippedDamping, 0.6, mass=np.inf), "mass = inf"),
        (lambda: viscous(CompressionDamping, 0.6, mass=-1.0), "mass = -1.0 kg"),
        (lambda: viscous(TensileDamping, 0.6, PowerLaw(1.0, 1.5), np.nan), "mass = nan"),
        (lambda: NormalForce.from_restitution(0.6, SPRING, 1e-3, speed=0.0), "speed = 0.0 m/s"),
        (lambda: NormalForce.from_restitution(0.6, SPRING, 1e-3), "give one of mass"),
        (lambda: NormalForce.from_restitution(0.6, SPRING, 1e-3, mass=1.0, speed=1.0), "give one of mass"),
        (lambda: NormalForce(SPRING, HuntCrossley(1.0), 1e-3).restitution(speed=-0.1), "speed = -0.1 m/s"),
        (lambda: NormalForce(SPRING, HuntCrossley(1.0), 1e-3).restitution(mass=0.1), "give speed= in m/s"),
        (lambda: NormalForce(SPRING, ClippedDamping(1.0), 1e-3).restitution(speed=0.1), "give mass= in kg"),
        (lambda: Hertz(0.0, 1.0), "effective_modulus"),
        (lambda: Smoothing(-1.0), "width"),
        (lambda: effective_modulus([1e9], [0.6]), "0.5"),
    ],
)
def test_wrong_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_numbers_do_not_retrace_and_construction_is_traceable():
    traces = []

    @eqx.filter_jit
    def force(law):
        traces.append(None)
        return law.force(jnp.array(0.01), jnp.array(0.0))

    for stiffness in (1e3, 2e3):
        force(NormalForce(PowerLaw(stiffness, 1.5), TensileDamping(1.0), 1e-3))
    assert len(traces) == 1
    jax.jit(lambda k: viscous(TensileDamping, 0.5, Hooke(k)).restitution(mass=1.0))(1e3)
