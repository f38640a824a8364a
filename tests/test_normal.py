"""Normal laws: exact restitution and its inverse, integrated impacts, energy, derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from difsim.contact import (
    Hertz,
    HuntCrossley,
    LinearClipped,
    LinearCompressive,
    LinearNormal,
    PowerLaw,
    PowerLawClipped,
    Sharp,
    Smooth,
    effective_modulus,
    effective_radius,
)
from tests.catalogue import NORMALS
from tests.helpers import check_finite, check_gradients, single

MASS, STIFFNESS = 1.3, 2e4
LINEAR = [LinearNormal, LinearClipped, LinearCompressive]
POWER = [PowerLaw, PowerLawClipped]


def linear(law, zeta):
    return law(STIFFNESS, 2 * zeta * np.sqrt(STIFFNESS * MASS), Sharp())


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
    (LinearNormal, 0.2, 0.5266206),
    (LinearNormal, 0.5, 0.1630335),
    (LinearClipped, 0.05, 0.8587581),
    (LinearClipped, 0.2, 0.5717400),
    (LinearClipped, 0.5, 0.2984361),
    (LinearClipped, 0.9, 0.1552827),
    (LinearCompressive, 0.05, 0.9266920),
    (LinearCompressive, 0.2, 0.7561349),
    (LinearCompressive, 0.5, 0.5462930),
    (LinearCompressive, 0.9, 0.3940594),
    (LinearCompressive, 1.5, 0.2749333),
]


@pytest.mark.parametrize(("law", "zeta", "e"), RESTITUTIONS)
def test_linear_restitution_numbers(law, zeta, e):
    np.testing.assert_allclose(linear(law, zeta).restitution(MASS), e, atol=5.1e-8)
    back = law.from_restitution(linear(law, zeta).restitution(MASS), STIFFNESS, MASS, Sharp())
    np.testing.assert_allclose(back.damping, linear(law, zeta).damping, rtol=1e-12)


@pytest.mark.parametrize("exponent", [1, 1.5, 2])
@pytest.mark.parametrize(("asked", "realised"), [(0.3, 0.397140), (0.6, 0.632291), (0.9, 0.902026)])
def test_clipping_a_power_law_raises_its_restitution(asked, realised, exponent):
    free = PowerLaw.from_restitution(asked, STIFFNESS, exponent, MASS, Sharp())
    np.testing.assert_allclose(free.restitution(MASS), asked, rtol=1e-12)
    clipped = PowerLawClipped(free.stiffness, free.damping, exponent, Sharp())
    np.testing.assert_allclose(clipped.restitution(MASS), realised, atol=5.1e-7)


@pytest.mark.parametrize("e", [1e-3, 0.05, 0.3, 0.6, 0.9, 0.999, 1.0])
def test_maps_and_inverses(e):
    laws = [law.from_restitution(e, STIFFNESS, MASS, Sharp()) for law in LINEAR]
    laws += [law.from_restitution(e, STIFFNESS, p, MASS, Sharp()) for law in POWER for p in (1, 1.5, 2)]
    laws.append(HuntCrossley.from_restitution(e, STIFFNESS, 1.5, MASS, Sharp()))  # at a speed of 1.3 m/s
    for law in laws:
        np.testing.assert_allclose(law.restitution(MASS), e, rtol=1e-12)

    # ... and the derivative of the round trip is 1, the way a fit of e needs it.
    def round_trip(e):
        some = [law.from_restitution(e, STIFFNESS, MASS, 1e-3) for law in LINEAR]
        some += [law.from_restitution(e, STIFFNESS, 1.5, MASS, 1e-3) for law in (*POWER, HuntCrossley)]
        return jnp.stack([law.restitution(MASS) for law in some])

    np.testing.assert_allclose(jax.jacfwd(round_trip)(jnp.array(e)), 1, rtol=1e-10)


@pytest.mark.parametrize("e", [0.3, 0.8])
@pytest.mark.parametrize("law", LINEAR)
def test_linear_impact_realises_the_restitution(law, e):
    made = law.from_restitution(e, STIFFNESS, MASS, Sharp())
    realised, depth, _, _ = impact(made, speed=0.7)
    np.testing.assert_allclose(realised, e, atol=1e-7)
    if law is LinearCompressive:
        np.testing.assert_allclose(depth, made.max_depth(MASS, 0.7), rtol=1e-5)


@pytest.mark.parametrize(("e", "whole"), [(0.3, 0.136337), (0.9, 0.813524)])
def test_four_points_of_a_body_share_its_mass(e, whole):
    """N springs and N dampers on one mass: ζ√N with the whole mass, and ζ with m/N."""

    def flat(mass):
        one = LinearClipped.from_restitution(e, STIFFNESS, mass, Sharp())
        return LinearClipped(4 * one.stiffness, 4 * one.damping, Sharp())

    zeta = flat(MASS).damping / (2 * np.sqrt(4 * STIFFNESS * MASS))
    alone = LinearClipped.from_restitution(e, STIFFNESS, MASS, Sharp()).damping / (2 * np.sqrt(STIFFNESS * MASS))
    np.testing.assert_allclose(zeta, 2 * alone, rtol=1e-12)
    np.testing.assert_allclose(flat(MASS).restitution(MASS), whole, atol=5.1e-7)
    np.testing.assert_allclose(flat(MASS / 4).restitution(MASS), e, rtol=1e-12)


@pytest.mark.parametrize("speed", [0.1, 2.0])
@pytest.mark.parametrize("exponent", [1, 1.5, 2])
@pytest.mark.parametrize("law", POWER)
def test_power_law_impact_realises_the_restitution_at_any_speed(law, exponent, speed):
    made = law.from_restitution(0.6, 1e6, exponent, MASS, Sharp())
    np.testing.assert_allclose(impact(made, speed=speed)[0], 0.6, atol=1e-6)


def test_a_law_that_is_not_known_has_no_force_of_zero():
    """Inside `jit` no number can be refused: NaN must show in the force, whatever the number that it came from."""

    @jax.jit
    def forces(e, k, depth):
        laws = [law.from_restitution(e, k, MASS, Sharp()) for law in LINEAR]
        laws += [law.from_restitution(e, k, 1.5, MASS, Sharp()) for law in (*POWER, HuntCrossley)]
        return jnp.stack([law.force(depth, jnp.array(0.1)) for law in laws])

    assert jnp.all(forces(0.6, STIFFNESS, 1e-3) > 0)
    for numbers in ((jnp.nan, STIFFNESS, 1e-3), (0.6, jnp.nan, 1e-3), (0.6, STIFFNESS, jnp.nan)):
        assert jnp.all(jnp.isnan(forces(*numbers)))


def test_hunt_and_crossley_realise_the_restitution_at_their_speed():
    """Whatever the mass and the exponent; slower impacts rebound better, in the limit as 1 - 2 a v/3."""
    made = HuntCrossley.from_restitution(0.6, 1e6, 1.5, 0.7, Sharp())
    for exponent, mass, speed in ((1.5, MASS, 0.7), (1, 3.0, 0.7), (2, MASS, 0.2)):
        law = HuntCrossley(1e6, made.damping, exponent, Sharp())
        e = float(law.restitution(speed))
        assert e == pytest.approx(0.6, rel=1e-12) if speed == 0.7 else e > 0.8
        np.testing.assert_allclose(impact(law, mass, speed)[0], e, atol=1e-6)
        # φ(a v) = φ(-e a v): what the exact map rests on.
        u = float(law.damping) * speed
        np.testing.assert_allclose(u - np.log1p(u), -e * u - np.log1p(-e * u), rtol=1e-11)
    for slow in (0.0, 1e-9, 1e-3):
        np.testing.assert_allclose(made.restitution(slow), 1 - 2 / 3 * made.damping * slow, atol=1e-6)


def test_overdamped_clipped_impact():
    law = linear(LinearClipped, 1.5)
    np.testing.assert_allclose(impact(law)[0], law.restitution(MASS), atol=1e-7)
    assert linear(LinearNormal, 1.5).restitution(MASS) == 0


# Aluminium, R = 0.1 m, v = 1 m/s: against its like, a wall of aluminium, a rigid wall.
HERTZ = [
    ([70e9, 70e9], [0.1, 0.1], 0.5, (2.069916e-4, 3.414913e4, 6.092333e-4)),
    ([70e9, 70e9], [0.1], 1.0, (2.377710e-4, 5.945708e4, 6.998253e-4)),
    ([70e9], [0.1], 1.0, (1.801967e-4, 7.845409e4, 5.303684e-4)),
]


@pytest.mark.parametrize(("modulus", "radius", "share", "numbers"), HERTZ, ids=["pair", "wall", "rigid wall"])
def test_hertz_closed_forms(modulus, radius, share, numbers):
    mass = share * 2700 * 4 / 3 * np.pi * 0.1**3
    law = Hertz(effective_modulus(modulus, [0.3] * len(modulus)), effective_radius(radius), Sharp())
    ours = law.max_depth(mass, 1.0), law.max_force(mass, 1.0), law.duration(mass, 1.0)
    np.testing.assert_allclose(ours, numbers, rtol=3e-7)
    e, *integrated = impact(law, mass)
    np.testing.assert_allclose(e, 1, atol=1e-8)
    np.testing.assert_allclose(integrated, numbers, rtol=1e-5)


def test_smooth_onset_conserves_the_energy_and_tends_to_the_sharp_one():
    e, *_ = impact(Hertz(1e6, 0.1, 2e-3), start=-0.08)
    np.testing.assert_allclose(e, 1, atol=1e-8)
    errors = []
    for width in (1e-4, 1e-5):
        law = PowerLawClipped.from_restitution(0.6, 1e6, 1.5, MASS, width)
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
    if law.onset.is_smooth:
        # Three states again: nothing is compiled anew.
        check_gradients(force_and_energy, law, jnp.array([[0.0, 0.1], [-0.001, 0.2], [0.0, 0.1]]), step=1e-5)


@pytest.mark.parametrize("law", NORMALS)
def test_float32(law):
    force = eqx.filter_jit(lambda law, states: jax.vmap(law.force)(*states.T))
    ours = force(single(law), single(STATES))
    assert ours.dtype == jnp.float32
    np.testing.assert_allclose(ours, force(law, STATES), rtol=1e-4, atol=1e-3)


def test_which_laws_are_abrupt_at_touch():
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
        (lambda: LinearNormal(-1.0, 1.0, 1e-3), "stiffness"),
        (lambda: LinearClipped(1.0, -1.0, 1e-3), "damping"),
        (lambda: LinearCompressive(1.0, 1.0, 0.0), "Sharp"),
        (lambda: PowerLaw(1.0, 1.0, 0.5, 1e-3), "exponent"),
        (lambda: HuntCrossley(1.0, -1.0, 1.5, 1e-3), "damping"),
        (lambda: HuntCrossley(1.0, 1.0, 0.5, 1e-3), "exponent"),
        (lambda: PowerLaw.from_restitution(1.1, 1.0, 1.5, 1.0, 1e-3), "restitution"),
        (lambda: PowerLawClipped.from_restitution(0.0, 1.0, 1.5, 1.0, 1e-3), "restitution"),
        (lambda: LinearNormal.from_restitution(0.6, 1.0, 0.0, 1e-3), "mass = 0.0 kg must be positive"),
        (lambda: LinearClipped.from_restitution(0.6, 1.0, np.inf, 1e-3), "mass = inf kg"),
        (lambda: LinearCompressive.from_restitution(0.6, 1.0, -1.0, 1e-3), "mass = -1.0 kg"),
        (lambda: PowerLaw.from_restitution(0.6, 1.0, 1.5, np.nan, 1e-3), "mass = nan kg"),
        (lambda: HuntCrossley.from_restitution(0.6, 1.0, 1.5, 0.0, 1e-3), "speed = 0.0 m/s"),
        (lambda: HuntCrossley(1.0, 1.0, 1.5, 1e-3).restitution(-0.1), "speed = -0.1 m/s"),
        (lambda: Hertz(0.0, 1.0, 1e-3), "effective_modulus"),
        (lambda: Smooth(-1.0), "width"),
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
        force(PowerLaw(stiffness, 1.0, 1.5, 1e-3))
    assert len(traces) == 1
    jax.jit(lambda k: LinearNormal.from_restitution(0.5, k, 1.0, 1e-3).restitution(1.0))(1e3)
