"""Friction and rolling resistance against the closed forms of sliding, rolling and spinning."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact import (
    MindlinSpring,
    RegularisedCoulomb,
    RollingForceAndTorque,
    RollingTorque,
    SpinningResistance,
    StickSlip,
    TangentialSpring,
)
from difsim.contact.friction import TangentialHistory
from tests.catalogue import FRICTIONS, ROLLINGS, friction_force
from tests.helpers import check_finite, check_gradients, each, to_single

G, MASS, RADIUS = 9.81, 2.0, 0.3
UP, ARM = jnp.array([0.0, 0.0, 1.0]), jnp.array([0.0, 0.0, -RADIUS])
INERTIA = 0.4 * MASS * RADIUS**2 * jnp.eye(3)
ZERO = jnp.zeros(3)


def slip_of(v, w):
    return (v + jnp.cross(w, ARM)) * jnp.array([1.0, 1.0, 0.0])


def run(wrench, v, w, end, steps=4000, push=ZERO):
    """A ball on a plane, by fixed RK4 steps; `wrench(v, w)` gives the tangential force at the contact, and
    force and torque at the centre. Returns place, velocity and spin at `end`."""

    def rate(y):
        _, v, w = y
        at_contact, force, torque = wrench(v, w)
        return (
            v,
            (at_contact + force + push) / MASS,
            jnp.linalg.solve(INERTIA, torque + jnp.cross(ARM, at_contact)),
        )

    def step(_, y):
        def step_along(k, h):
            return jax.tree.map(lambda a, b: a + h * b, y, k)

        h = end / steps
        k1 = rate(y)
        k2 = rate(step_along(k1, h / 2))
        k3 = rate(step_along(k2, h / 2))
        k4 = rate(step_along(k3, h))
        return jax.tree.map(lambda a, b, c, d, e: a + h / 6 * (b + 2 * c + 2 * d + e), y, k1, k2, k3, k4)

    return jax.jit(lambda y: jax.lax.fori_loop(0, steps, step, y))((ZERO, v, w))


def friction_only(law, normal_force=MASS * G):
    N = jnp.array(normal_force)
    return lambda v, w: (law.force(N, slip_of(v, w)), ZERO, ZERO)


@pytest.mark.parametrize(("tangent", "rolls"), [(0.5, True), (0.9, False)])
def test_ball_on_an_incline(tangent, rolls):
    """Rolls below tan θ = 7/2 μ with 5/7 g sin θ, slides above with g (sin θ - μ cos θ)."""
    mu, theta = 0.2, np.arctan(tangent)
    law = friction_only(RegularisedCoulomb(mu, 1e-4), MASS * G * np.cos(theta))
    push = jnp.array([MASS * G * np.sin(theta), 0, 0])
    _, v, w = run(law, ZERO, ZERO, 0.5, push=push)
    a = 5 / 7 * G * np.sin(theta) if rolls else G * (np.sin(theta) - mu * np.cos(theta))
    np.testing.assert_allclose(v[0], 0.5 * a, rtol=1e-3)
    assert (abs(w[1] * RADIUS - v[0]) < 1e-3) == rolls


def block(force_of, v0, end, push=0.0, steps=20000):
    """A block that cannot turn, on a plane; returns its path and its speed at `end`."""
    push = jnp.array([push, 0, 0])

    def wrench(v, w):
        return ZERO, force_of(v, push), ZERO

    x, v, _ = run(wrench, jnp.array([v0, 0, 0]), ZERO, end, steps, push)
    return x[0], v[0]


BLOCK_LAWS = [
    lambda mu, mu_s, speed: lambda v, push: RegularisedCoulomb(mu, speed).force(jnp.array(MASS * G), v),
    lambda mu, mu_s, speed: lambda v, push: StickSlip(mu, mu_s, speed).force(jnp.array(MASS * G), v, -push),
]


def test_creep_of_regularised_coulomb():
    """v_s r/√(1 - r²) at the share r of the greatest friction."""
    _, v = block(BLOCK_LAWS[0](0.4, 0.4, 1e-3), 0.0, 0.5, push=0.36 * MASS * G)
    np.testing.assert_allclose(v, 1e-3 * 0.9 / np.sqrt(1 - 0.9**2), rtol=1e-6)


def test_stick_slip_holds_without_creep():
    x, v = block(BLOCK_LAWS[1](0.3, 0.5, 1e-3), 0.0, 0.5, push=0.4 * MASS * G)
    assert x == 0 and v == 0


@pytest.mark.parametrize(
    ("law", "deceleration"),
    [
        (RollingTorque(0.01, 1e-5), 5 / 7 * 0.01 / RADIUS * G),
        (RollingForceAndTorque(0.01, 1e-5), 5 / 2 * 0.01 / RADIUS * G),
    ],
    ids=["torque: 5/7 μ_r g", "paper 003: 5/2 (C/R) g"],
)
def test_rolling_decay(law, deceleration):
    friction, N = RegularisedCoulomb(0.5, 1e-3), jnp.array(MASS * G)

    def wrench(v, w):
        force, torque = law.wrench(N, w, UP, ARM, jnp.array(MASS), INERTIA)
        return friction.force(N, slip_of(v, w)), force, torque

    v0 = 2.0
    _, v, w = run(wrench, jnp.array([v0, 0, 0]), jnp.array([0, v0 / RADIUS, 0]), 1.0, steps=20000)
    np.testing.assert_allclose(v[0], v0 - deceleration, rtol=1e-4)
    np.testing.assert_allclose(w[1] * RADIUS, v[0], rtol=1e-4)


def test_paper_003_leaves_the_slip_untouched():
    spin, normal = jnp.array([0.3, -0.2, 0.5]), jnp.array([0.6, 0.0, 0.8])
    arm, inertia = jnp.array([0.1, 0.2, -0.3]), jnp.diag(jnp.array([0.1, 0.2, 0.15]))
    law = RollingForceAndTorque(0.01, 1e-3)
    force, torque = law.wrench(jnp.array(5.0), spin, normal, arm, jnp.array(MASS), inertia)
    slip_rate = force / MASS + jnp.cross(jnp.linalg.solve(inertia, torque), arm)
    np.testing.assert_allclose(jnp.cross(slip_rate, normal), 0, atol=1e-15)
    np.testing.assert_allclose(jnp.dot(force, normal), 0, atol=1e-15)


def test_spin_decay():
    """I ω' = -μ_s N r, and rolling is left alone."""
    law, N = SpinningResistance(0.002, 1e-5), jnp.array(MASS * G)

    def wrench(v, w):
        return ZERO, *law.wrench(N, w, UP, ARM, jnp.array(MASS), INERTIA)

    _, _, w = run(wrench, ZERO, jnp.array([0, 3.0, 2.0]), 0.5)
    np.testing.assert_allclose(w, [0, 3.0, 2.0 - 0.5 * 0.002 * MASS * G / INERTIA[0, 0]], rtol=1e-9)


def advance(law, history, depth, normal_force, slip, dt):
    arguments = [jnp.array(a) for a in (depth, normal_force)]
    return law.advance(history, *arguments, jnp.array([slip, 0.0, 0.0]), UP, dt)


def test_tangential_spring_holds_then_slips():
    law, history = TangentialSpring(0.5, 1e3), TangentialHistory.zeros()
    history = advance(law, history, 1e-3, 10.0, 0.2, 0.01)
    np.testing.assert_allclose(history.force, [-1e3 * 0.2 * 0.01, 0, 0], rtol=1e-14)
    history = advance(law, history, 1e-3, 10.0, 0.2, 0.1)
    np.testing.assert_allclose(history.force, [-5.0, 0, 0], rtol=1e-14)
    history = advance(law, history, -1e-3, 0.0, 0.2, 0.1)
    np.testing.assert_array_equal(history.force, 0)  # parted: the next contact starts afresh


def test_tangential_force_turns_with_the_contact():
    law = TangentialSpring(0.5, 1e3)
    history = TangentialHistory(jnp.array([3.0, 0, 0]), 1e3)
    normal = jnp.array([np.sin(0.1), 0.0, np.cos(0.1)])
    new = law.advance(history, jnp.array(1e-3), jnp.array(10.0), ZERO, normal, 0.1).force
    np.testing.assert_allclose([jnp.linalg.norm(new), jnp.dot(new, normal)], [3.0, 0.0], atol=1e-14)


def test_mindlin_stiffness_and_no_energy_from_a_sticking_impact():
    """k_t = 8 G* √(R* δ); a half-sine contact with slip to and fro never gives work back in sum."""
    law = MindlinSpring(1e3, 1e6, 0.1)
    np.testing.assert_allclose(law.stiffness(jnp.array(1e-3)), 8e6 * np.sqrt(1e-4), rtol=1e-14)
    n, dt = 400, 1e-4
    t = (jnp.arange(n) + 0.5) * dt
    depth, normal_force = 1e-3 * jnp.sin(jnp.pi * t / (n * dt)), jnp.full(n, 1.0)

    def step(history, now):
        depth, N, slip = now
        slip = jnp.array([1.0, 0.0, 0.0]) * slip
        new = law.advance(history, depth, N, slip, UP, dt)
        return new, -jnp.dot((new.force + history.force) / 2, slip) * dt

    for phase in np.linspace(0, 2 * np.pi, 9):
        slip = 1e-3 * jnp.cos(2 * jnp.pi * t / (n * dt) + phase)
        _, work = jax.lax.scan(step, TangentialHistory.zeros(), (depth, normal_force, slip))
        assert jnp.sum(work) > 0


N_AND_SLIP = [np.array(x) for x in zip(
    *((N, v) for N in (0.0, 1e-9, 2.0) for v in ([0, 0, 0.0], [1e-6, 0, 0], [0.01, -0.02, 0.0])), strict=True
)]  # fmt: skip


def forces(law, N, v):
    """One row each for a normal force and a slip."""
    return jax.vmap(lambda N, v: friction_force(law, N, v))(N, v)


@pytest.mark.parametrize("name", FRICTIONS)
def test_friction_derivatives(name):
    """Finite anywhere; at zero slip by the slip too, where these laws have a slope on the scale of their speed."""
    law, (N, v) = FRICTIONS[name], map(jnp.asarray, N_AND_SLIP)
    check_finite(forces, law, N, v)
    check_gradients(forces, law, N[6:], jnp.array([[0.01, -0.02, 0.0], [0.02, 0.01, 0.0], [0.03, 0.0, 0.0]]))

    @jax.jit
    def at_zero(law):
        force = lambda slip: friction_force(law, jnp.array(2.0), slip * jnp.array([1.0, 0.0, 0.0]))  # noqa: E731
        return jax.jacfwd(force)(0.0), (force(1e-8) - force(-1e-8)) / 2e-8

    np.testing.assert_allclose(*at_zero(law), rtol=1e-4, atol=0.02)


@pytest.mark.parametrize("name", FRICTIONS)
def test_friction_obeys_coulomb_and_float32(name):
    laws, (N, v) = dict(FRICTIONS), map(jnp.asarray, N_AND_SLIP)
    found, law = each(forces, laws, N, v)[name], laws[name]
    limit = max(law.coefficient, getattr(law, "static_coefficient", 0.0)) * N
    assert np.all(np.linalg.norm(found, axis=1) <= limit + 1e-12)
    np.testing.assert_allclose(each(forces, *to_single((laws, N, v)))[name], found, rtol=1e-5, atol=1e-5)


SPINS = np.array([[0, 0, 0], [1e-6, 0, 0], [0.3, -0.2, 0.5], [0, 0, 1.0]])


def wrenches(law, N, spins):
    up, arm = jnp.array([0.0, 0.0, 1.0], N.dtype), jnp.array([0.0, 0.0, -RADIUS], N.dtype)
    inertia = 0.4 * MASS * RADIUS**2 * jnp.eye(3, dtype=N.dtype)
    return jax.vmap(lambda w: law.wrench(N, w, up, arm, jnp.array(MASS, N.dtype), inertia))(spins)


@pytest.mark.parametrize("name", ROLLINGS)
def test_rolling_derivatives_and_float32(name):
    law, spins, some = ROLLINGS[name], jnp.asarray(SPINS), (jnp.array(5.0), jnp.asarray(SPINS[2:3]))
    for N in (0.0, 5.0):
        check_finite(wrenches, law, jnp.array(N), spins)
    check_gradients(wrenches, law, *some)
    check_gradients(lambda w: wrenches(law, jnp.array(5.0), w), jnp.zeros((1, 3)), step=1e-6)
    exact, narrow = (
        each(wrenches, *of)[name] for of in ((dict(ROLLINGS), *some), to_single((dict(ROLLINGS), *some)))
    )
    for ours, theirs in zip(narrow, exact, strict=True):
        assert ours.dtype == jnp.float32
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
