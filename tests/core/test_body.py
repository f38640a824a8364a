"""The rigid body against closed forms, the gear and the flywheel by hand."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import simulate
from difsim.body import CentralDamper, Flywheel, Hull, Lander, MaxwellLegs, RigidBody, RigidState
from difsim.declarations import is_valid
from difsim.rotation import Rotation
from tests.bodies import at, free
from tests.helpers import approx, check_finite, check_gradients
from tests.ways import forward

FEET = np.array([[1.2, 0.0, -0.75], [-0.6, 1.0, -0.75], [-0.6, -1.0, -0.75]])

HIPS = FEET * np.array([0.2, 0.2, 0.5])

TIGHT = forward(rtol=1e-12, atol=1e-12)


def angular_momenta(model, solution):
    return np.asarray(jax.vmap(model.angular_momentum)(solution.times, solution.states))


def test_symmetric_top():
    """Body precession (I₃ - I₁) ω₃/I₁, space precession of the axis L/I₁; |L| and T to 1e-10."""
    I1, I3, ω = 2.0, 3.0, np.array([0.3, 0.0, 1.1])
    times = jnp.linspace(0.0, 30.0, 61)
    model = free((I1, I1, I3))
    solution = simulate(model, at(ω), times, **TIGHT)
    spin = np.asarray(solution.states.spin)
    angle = (I3 - I1) * ω[2] / I1 * np.asarray(times)
    np.testing.assert_allclose(spin[:, 0], ω[0] * np.cos(angle), atol=1e-9)
    np.testing.assert_allclose(spin[:, 1], ω[0] * np.sin(angle), atol=1e-9)
    L = np.array([I1 * ω[0], 0.0, I3 * ω[2]])
    axis = np.asarray(jax.vmap(lambda q: Rotation(q) @ jnp.array([0.0, 0.0, 1.0]))(solution.states.attitude))
    # The axis turns about L: its angle in the plane across L grows as |L|/I₁ t.
    unit = L / np.linalg.norm(L)
    e1 = axis[0] - (axis[0] @ unit) * unit
    e2 = np.cross(unit, e1)
    space = np.unwrap(np.arctan2(axis @ e2, axis @ e1))
    np.testing.assert_allclose(space, np.linalg.norm(L) / I1 * np.asarray(times), atol=1e-9)
    np.testing.assert_allclose(angular_momenta(model, solution), np.tile(L, (61, 1)), atol=1e-10)
    kinetic = jax.vmap(model.body.kinetic_energy)(solution.states)
    np.testing.assert_allclose(kinetic, 0.5 * (I1 * 0.09 + I3 * 1.21), rtol=1e-10)


def test_points_of_a_body():
    """A quarter turn about z, spinning about z: the point's velocity is ω × r in the frame."""
    q = Rotation.from_rotation_vector(jnp.array([0.0, 0.0, jnp.pi / 2])).quaternion
    state = RigidState((1.0, 2.0, 3.0), (0.1, 0.0, 0.0), q, (0.0, 0.0, 2.0))
    point = state.point(jnp.array([1.0, 0.0, 0.5]))
    np.testing.assert_allclose(point, [1.0, 3.0, 3.5], atol=1e-14)
    np.testing.assert_allclose(state.velocity_at(point), [0.1 - 2.0, 0.0, 0.0], atol=1e-14)


def test_gyroscopic_term_by_hand():
    """ω' = I⁻¹ (τ - ω × (I ω + h)): a tilting body with a wheel along z is turned across."""
    body = RigidBody(1.0, jnp.diag(jnp.array([1.0, 2.0, 2.5])))
    rate = body.derivative(at((0.5, 0.0, 0.0)), jnp.zeros(3), jnp.zeros(3), jnp.array([0.0, 0.0, 4.0]))
    # ω × h = (0.5, 0, 0) × (0, 0, 4) = (0, -2, 0).
    np.testing.assert_allclose(rate.spin, [0.0, 2.0 / 2.0, 0.0], atol=1e-15)
    rate = body.derivative(at((0.0, 2.0, 3.0)), jnp.zeros(3), jnp.array([1.0, 0.0, 0.0]), jnp.zeros(3))
    np.testing.assert_allclose(rate.spin, [1.0 - (2.5 - 2.0) * 6.0, 0.0, 0.0], atol=1e-15)


@eqx.filter_jit
def relax(gear, stiffness, closure, times):
    """Loads on the soles of three legs held at a fixed closure of their springs."""

    def loads(strokes):
        return stiffness * (closure - strokes)

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, s, gear: gear.rate(s, loads(gear.strokes(s, 3)))),
        diffrax.Tsit5(),
        0.0,
        times[-1],
        None,
        gear.initial(3),
        gear,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(1e-11, 1e-11),
    )
    return jax.vmap(lambda s: loads(gear.strokes(s, 3)))(solution.ys), solution.ys


def test_a_maxwell_leg_relaxes_in_43_ms():
    times = np.array([0.0, 0.02, 0.043, 0.2])
    loads, _ = relax(MaxwellLegs(567.0), jnp.array(13.3e3), jnp.array(0.01), times)
    τ = 567 / 13.3e3
    assert pytest.approx(0.0426, abs=5e-5) == τ
    np.testing.assert_allclose(loads, 133 * np.exp(-times / τ)[:, None] * np.ones(3), rtol=1e-8)


def test_the_central_damper_carries_all_legs_until_its_stop():
    """Three springs in parallel relax in D/(3 k); the stop then holds s where κ (s - stroke)² = 3 k (L - s)."""
    gear = CentralDamper(567.0, 0.0426)
    times = np.array([0.0, 0.005, 0.01])
    loads, strokes = relax(gear, jnp.array(13.3e3), jnp.array(0.02), times)
    np.testing.assert_allclose(loads[:, 0], 266 * np.exp(-times * 3 * 13.3e3 / 567), rtol=1e-6)
    assert strokes.shape == (3, 1)
    _, strokes = relax(gear, jnp.array(13.3e3), jnp.array(0.08), np.array([0.0, 0.5, 1.0]))
    s = float(strokes[-1, 0])
    expected = 0.0426 + max(np.roots([1e7, 3 * 13.3e3, -3 * 13.3e3 * (0.08 - 0.0426)]))
    assert s == pytest.approx(expected, abs=1e-5)


def test_gear_energies():
    """Dissipation D s'² over all dampers; the stop's force is the derivative of its energy."""
    gear, loads = CentralDamper(567.0, 0.0426), jnp.array([100.0, 50.0, 0.0])
    s = jnp.array([0.045])
    rate = gear.rate(s, loads)
    stop = jax.grad(lambda s: gear.elastic_energy(s))(s)
    np.testing.assert_allclose(567 * rate + stop, [150.0], rtol=1e-12)
    assert gear.dissipation(rate) == approx(567 * rate[0] ** 2)
    assert gear.dissipation(rate) + stop @ rate == approx(150 * rate[0])
    legs = MaxwellLegs(567.0)
    rate = legs.rate(jnp.zeros(3), loads)
    assert legs.dissipation(rate) == approx(loads @ rate)
    assert gear.initial(3).shape == (1,) and legs.initial(4).shape == (4,)
    np.testing.assert_array_equal(gear.strokes(s, 3), 0.045 * np.ones(3))
    both = lambda g, s, N: (g.rate(s, N), g.elastic_energy(s))  # noqa: E731
    for x in (-0.001, 0.01, 0.0427, 0.05):
        check_gradients(both, gear, jnp.array([x]), loads)
    # Where a stop begins its force has a second derivative that jumps: differences see half of it.
    for x in (0.0, 0.0426):
        check_finite(both, gear, jnp.array([x]), loads)


@pytest.mark.parametrize("gear", [CentralDamper(567.0, 0.0426), MaxwellLegs(567.0)], ids=["central", "maxwell"])
def test_a_pull_does_not_draw_the_legs_out(gear):
    """Held by the buffer where κ s² is the pull, and pushed back by it."""
    s, loads = gear.initial(3), jnp.array([-50.0, 0.0, 0.0])
    rate = eqx.filter_jit(gear.rate)
    for _ in range(400):
        s = s + 1e-3 * rate(s, loads)
    assert jnp.min(s) == approx(-np.sqrt(50 / 1e7), rel=1e-3)
    assert jnp.min(gear.rate(jnp.minimum(s, -1e-3), jnp.zeros(3))) > 0


def test_the_flywheel_hands_over_exactly_its_momentum():
    wheel, times = Flywheel(5.17, 4.0), jnp.linspace(0.0, 10.0, 21)
    # Held about x and y, the body's spin is all that the wheel gave.
    solution = simulate(free((21.6, 21.6, 31.7), 5.17, 4.0, 96.3), at((0.0, 0.0, 0.1)), times, **TIGHT)
    given = 31.7 * (solution.states.spin[:, 2] - 0.1)
    stored = jax.vmap(wheel.momentum_at)(times)[:, 2]
    np.testing.assert_allclose(given + stored, 5.17, rtol=1e-9)
    assert given[-1] == approx(5.17, rel=1e-9)
    assert wheel.momentum_at(jnp.array(0.0))[2] == approx(5.17, rel=1e-14)
    assert wheel.torque(jnp.array(1.0))[2] == approx(5.17 / 4, rel=1e-6)
    assert abs(float(wheel.torque(jnp.array(9.0))[2])) < 1e-9


def test_angular_momentum_with_the_wheel_inside_a_tumbling_body():
    model = free((21.6, 25.0, 31.7), 5.17, 4.0, 96.3)
    solution = simulate(model, at((0.2, -0.1, 0.05)), jnp.linspace(0.0, 8.0, 9), **TIGHT)
    L = angular_momenta(model, solution)
    assert np.abs(L - L[0]).max() < 1e-8 * np.linalg.norm(L[0])


def lander(**changes) -> Lander:
    values = {
        "body": RigidBody(96.3, jnp.diag(jnp.array([21.6, 21.6, 31.7]))),
        "feet": FEET,
        "hips": HIPS,
        "footpad_radius": 0.1,
        "leg_stiffness": 13.3e3,
        "gear": MaxwellLegs(567.0),
        "flywheel": Flywheel(0.0, 1.0),
    }
    return Lander(**values | changes)


def test_landers():
    assert lander().legs == 3
    for change, message in (
        ({"hips": HIPS[:2]}, "same shape"),
        ({"feet": -FEET}, "below the centre of mass"),
        ({"feet": FEET[:2], "hips": HIPS[:2]}, "three or more"),
        ({"feet": FEET * [1, 0.02, 1]}, "overlap"),
        ({"feet": FEET[[0, 1, 0]] * [[1, 0, 1], [1, 0, 1], [-1, 0, 1]]}, "one line"),
        ({"hips": HIPS - [0, 0, 0.4]}, "below their hips"),
        ({"hull": Hull([1.0, 1.0, 1.6])}, "below the hull"),
    ):
        with pytest.raises(ValueError, match=message):
            lander(**change)


def test_derivatives_of_the_body():
    def rate(body, spin, wheel):
        return body.derivative(at(spin), jnp.ones(3), jnp.array([0.1, 0.2, -0.3]), wheel)

    inertia = jnp.diag(jnp.array([21.6, 25.0, 31.7])) + 0.5
    for spin in (jnp.zeros(3), jnp.array([0.1, -0.2, 0.3])):
        check_gradients(rate, RigidBody(96.3, inertia), spin, jnp.array([0.0, 0.0, 5.0]))
    energy = eqx.filter_jit(lambda b, s: b.kinetic_energy(s))
    check_gradients(energy, RigidBody(96.3, inertia), at((0.1, -0.2, 0.3), (1.0, 0.0, -1.0)))


@pytest.mark.parametrize(
    ("moments", "off", "valid"),
    [
        ((1.0, 1.0, 1.5), 0.0, True),
        ((1.0, 1.0, 2.0), 0.0, True),  # a disc
        ((1.0, 1.0, 2.001), 0.0, False),
        ((-1.0, 2.0, 2.0), 0.0, False),
        ((1.0, 1.0, 1.5), 1e-4, False),  # not symmetric
        ((1.0, 1.0, jnp.nan), 0.0, False),
    ],
)
def test_an_inertia_that_no_body_has_is_found_inside_jit(moments, off, valid):
    turn = Rotation.from_rotation_vector(jnp.array([0.3, -0.5, 0.2])).as_matrix()

    @jax.jit
    def find(moments, off):
        return is_valid([RigidBody(1.0, turn @ jnp.diag(moments) @ turn.T + off * jnp.eye(3, k=1))])

    assert find(jnp.array(moments), off) == valid


def test_the_rundown_time_has_the_right_derivative():
    """After the run-down the spin does not know how long it took: the jump of the torque must not be lost."""

    def spin(rundown, t):
        model = free((21.6, 21.6, 31.7), 5.17, rundown, 96.3)
        return simulate(model, at((0.0, 0.0, 0.1)), jnp.array([0.0, t])).states.spin[-1, 2]

    assert abs(float(jax.jacfwd(spin)(jnp.array(2.0), 3.0))) < 1e-6
    during = jax.jacfwd(spin)(jnp.array(2.0), 1.0)
    assert during == approx(-5.17 * 1.0 / 2.0**2 / 31.7, rel=1e-6)
