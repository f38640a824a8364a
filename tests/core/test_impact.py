"""Impulses at one point: closed forms of balls, energy in any impact, slip that reverses, what holds a point."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from difsim.contact import Newton, Stronge
from difsim.contact.impact import rest_force
from tests.helpers import approx, check_gradients

UP = np.array([0.0, 0.0, 1.0])


def response(mass, inertia, arm):
    """1/m - [r]×I⁻¹[r]×."""
    x, y, z = arm
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) / mass - cross @ np.linalg.solve(inertia, cross)


BALL = response(2.0, 0.4 * 2.0 * 0.1**2 * np.eye(3), [0, 0, -0.1])  # 1/m along n, 7/2 of it across


def rod(angle):
    """A thin rod of 1 kg and 1 m that leans in the x-z plane and touches with its lower end."""
    axis = np.array([np.cos(angle), 0, np.sin(angle)])
    return response(1.0, (np.eye(3) - 0.999 * np.outer(axis, axis)) / 12, -0.5 * axis)


def rough_bodies(count):
    """Responses of bodies of six random points that touch with a far one, and velocities into the ground."""
    rng = np.random.default_rng(0)
    responses = []
    for _ in range(count):
        points = rng.normal(size=(6, 3)) * [1.0, 0.5, 0.3]
        points -= points.mean(0)
        inertia = sum((p @ p) * np.eye(3) - np.outer(p, p) for p in points) / 6
        responses.append(response(1.0, inertia, -1.5 * np.sign(points[0, 2]) * points[0]))
    velocities = rng.normal(size=(count, 3))
    velocities[:, 2] = -np.abs(velocities[:, 2])
    return jnp.array(responses), jnp.array(velocities)


@eqx.filter_jit
def strike(law, responses, velocities):
    """Impulses, velocities after, and energy gained, J."""
    one = jax.vmap(lambda W, u: law.impulse(W, jnp.asarray(UP), u))(responses, velocities)
    after = velocities + jnp.einsum("nij,nj->ni", responses, one.total)
    return one.total, after, 0.5 * jnp.sum((velocities + after) * one.total, axis=1)


@pytest.mark.parametrize("Law", [Newton, Stronge])
@pytest.mark.parametrize("turns", [0, 20])
def test_oblique_impact_of_a_ball(Law, turns):
    """VALIDATION.md 4: it slides throughout if tan θ > 7/2 μ (1 + e), else it leaves rolling. For a ball both laws
    are one, and steps for turning slip change nothing."""
    e, μ, m, R = 0.7, 0.3, 2.0, 0.1
    velocities = jnp.array([[4.0, 0.0, -2.0], [1.0, 0.0, -2.0], [1.2, -1.6, -0.4], [0.0, 0.0, -1.0]])
    impulses, after, _ = strike(Law(e, μ, turns), jnp.broadcast_to(BALL, (4, 3, 3)), velocities)
    for u, P, v in zip(np.array(velocities), np.array(impulses), np.array(after), strict=True):
        u_t, u_n = np.hypot(u[0], u[1]), -u[2]
        way = u[:2] / u_t if u_t else u[:2]
        slides = u_t > 3.5 * μ * (1 + e) * u_n
        centre = u_t - μ * (1 + e) * u_n if slides else 5 / 7 * u_t
        np.testing.assert_allclose(u[:2] + P[:2] / m, centre * way, atol=1e-12)
        assert P[2] / m - u_n == approx(e * u_n, abs=1e-12)
        # ω' R = 5/2 of what the centre has lost, and the slip that is left.
        spin = R * np.linalg.norm(P[:2]) / (0.4 * m * R**2)
        assert spin * R == approx(2.5 * (u_t - centre), abs=1e-12)
        np.testing.assert_allclose(v[:2], (centre - spin * R) * way if slides else 0.0, atol=1e-12)


@pytest.mark.parametrize("Law", [Newton, Stronge])
def test_no_impact_pulls_or_leaves_the_friction_cone(Law):
    responses, velocities = rough_bodies(200)
    for e, μ in (jnp.array(p) for p in ((0.6, 0.0), (0.6, 0.5), (1.0, 2.0))):
        P, after, gain = strike(Law(e, μ), responses, velocities)
        assert (P[:, 2] > 0).all()
        assert (np.linalg.norm(P[:, :2], axis=1) <= μ * P[:, 2] * (1 + 1e-9)).all()
        if Law is Newton:
            np.testing.assert_allclose(after[:, 2], -e * velocities[:, 2], atol=1e-9)
        else:
            assert (after[:, 2] > 0).all() and (gain < 1e-12).all()
        if μ == 0:  # no friction: both are one, and the energy lost is (1 - e²) of the normal part
            lost = 0.5 * (1 - e**2) * velocities[:, 2] ** 2 / responses[:, 2, 2]
            np.testing.assert_allclose(gain, -lost, rtol=1e-9)


ROD = rod(np.radians(60))


def test_newton_gains_energy_at_slip_reversal_stronge_does_not():
    """A rod that leans 60° slides towards its lean; slip stops in compression and goes back. Friction then opposes
    the rebound, and Newton's e = 1 of speeds takes more work in restitution than compression took."""
    W, u = jnp.asarray(ROD)[None], jnp.array([[0.6, 0.0, -1.0]])
    gains = {Law: float(strike(Law(1.0, 0.35, 0), W, u)[2][0]) for Law in (Newton, Stronge)}
    assert gains[Newton] == approx(0.06431618959617291, rel=1e-9)  # 13 % of the energy of a mass of 1 kg at 1 m/s
    assert gains[Stronge] < -0.01


def test_the_energetic_path_of_a_rod_piece_by_piece():
    """The same impact by hand: slip to its stop, slip reversed, each a straight line in the normal impulse."""
    e, μ, u = 0.9, 0.35, np.array([0.6, 0.0, -1.0])
    first, second = ROD @ [-μ, 0.0, 1.0], ROD @ [μ, 0.0, 1.0]
    stop = -u[0] / first[0]
    at_stop = u + stop * first
    assert at_stop[2] < 0  # it stops within compression
    squeeze = -at_stop[2] / second[2]
    work = stop * (u[2] + at_stop[2]) / 2 + squeeze * at_stop[2] / 2
    expand = np.sqrt(-2 * e**2 * work / second[2])
    P, after, _ = strike(Stronge(e, μ, 0), jnp.asarray(ROD)[None], jnp.asarray(u)[None])
    np.testing.assert_allclose(P[0], [μ * (squeeze + expand - stop), 0.0, stop + squeeze + expand], atol=1e-12)
    np.testing.assert_allclose(after[0], [(squeeze + expand) * second[0], 0.0, expand * second[2]], atol=1e-12)


def test_slip_that_turns_while_its_length_stays_is_followed():
    """Of two stones: friction takes from the slip nearly what the blow adds. Against scipy's path."""
    W = np.array([[6.3169, 0.0153, 0.8975], [0.0153, 6.4901, -0.0482], [0.8975, -0.0482, 2.0175]])
    u, e, μ = np.array([0.1067, 0.0, -0.5089]), 0.6, 0.15

    def growth(_, P):
        slip = (u + W @ P)[:2]
        return np.append(-μ * slip / np.linalg.norm(slip), 1.0)

    def remaining(_, P):
        return (u + W @ P)[2] + e * u[2]

    remaining.terminal = True
    path = solve_ivp(growth, (0.0, 1.0), np.zeros(3), rtol=1e-11, atol=1e-13, events=remaining)

    @jax.jit
    def total(friction):
        return Newton(e, friction).impulse(jnp.array(W), jnp.array(UP), jnp.array(u)).total

    np.testing.assert_allclose(total(μ), path.y_events[0][0], atol=1e-7)
    slope = (total(μ + 1e-5) - total(μ - 1e-5)) / 2e-5
    np.testing.assert_allclose(jax.jacfwd(total)(μ), slope, atol=1e-6)


def test_what_holds_a_point():
    """A ball or point on a slope sticks below its angle of friction; else it slides down with μ."""
    hold_ = eqx.filter_jit(rest_force)
    for W, share in ((np.eye(3), 1.0), (BALL * 2.0, 2 / 7)):
        pull = np.array([0.3, 0.4, -1.0])
        held = hold_(jnp.asarray(W), jnp.asarray(UP), jnp.asarray(pull), jnp.array(0.6))
        assert held.sticks
        np.testing.assert_allclose(held.force, [-0.3 * share, -0.4 * share, 1.0], atol=1e-12)
        for μ in (0.0, 0.1):
            slides = hold_(jnp.asarray(W), jnp.asarray(UP), jnp.asarray(pull), jnp.array(μ))
            assert not slides.sticks
            np.testing.assert_allclose(slides.slip_direction, [0.6, 0.8, 0.0], atol=1e-12)
            np.testing.assert_allclose(slides.force, [-μ * 0.6, -μ * 0.8, 1.0], atol=1e-12)
    for W in rough_bodies(20)[0]:
        slides = hold_(W, jnp.asarray(UP), jnp.asarray(-UP), jnp.array(0.05))
        rate, push = W @ slides.force, slides.force[2]
        np.testing.assert_allclose(rate[2], 1.0, rtol=1e-10)  # no acceleration along n
        if not slides.sticks:
            np.testing.assert_allclose(slides.force[:2], -0.05 * push * slides.slip_direction[:2], atol=1e-10)
            np.testing.assert_allclose(
                rate[0] * slides.slip_direction[1] - rate[1] * slides.slip_direction[0], 0.0, atol=1e-9
            )
            assert rate[:2] @ slides.slip_direction[:2] > 0


@pytest.mark.parametrize("μ", [0.0, 0.3])
@pytest.mark.parametrize("Law", [Newton, Stronge])
def test_a_plastic_impact_has_its_derivative_by_restitution(Law, μ):
    """At e = 0 the energetic law has the root of an energy: the speed of rebound is e times that of approach."""
    W, n, u = jnp.asarray(BALL), jnp.asarray(UP), jnp.array([1.0, 0.5, -2.0])

    def rebound(e):
        return n @ W @ Law(e, μ, 0).impulse(W, n, u).total

    e = jnp.zeros(())
    assert rebound(e) == approx(2.0, rel=1e-12)
    assert jax.jacfwd(rebound)(e) == approx(2.0, rel=1e-12) and jax.jacrev(rebound)(e) == approx(2.0, rel=1e-12)


SLIDES, STICKS = (BALL, [4.0, 0.5, -2.0], 0.3), (BALL, [1.0, 0.5, -2.0], 0.3)

REVERSES = (ROD, [0.6, 0.0, -1.0], 0.35)


@pytest.mark.parametrize(
    "Law, W, u, μ",
    [
        pytest.param(Stronge, *REVERSES, id="Stronge, reverses"),
        pytest.param(Newton, *SLIDES, id="Newton, slides"),
        pytest.param(Newton, *STICKS, id="Newton, sticks"),
        pytest.param(Newton, *REVERSES, id="Newton, reverses"),
        pytest.param(Stronge, *SLIDES, id="Stronge, slides"),
        pytest.param(Stronge, *STICKS, id="Stronge, sticks"),
    ],
)
def test_derivatives_of_an_impact(Law, W, u, μ):
    def end_velocity(law, u):
        return u + W @ law.impulse(jnp.asarray(W), jnp.asarray(UP), u).total

    # Along y the rod's slip is at rest and its path has a kink in y: only x and z.
    def in_plane(law, u):
        return end_velocity(law, jnp.array([1.0, 0.0, 0.0]) * u[0] + jnp.asarray(UP) * u[1])

    if W is ROD:
        check_gradients(in_plane, Law(0.7, μ, 0), jnp.array(u)[::2], rtol=1e-6)
    else:
        check_gradients(end_velocity, Law(0.7, μ, 0), jnp.array(u), rtol=1e-6)


@pytest.mark.parametrize("friction, stops", [(0.0, 0.0), (0.3, 1.0)])
@pytest.mark.parametrize("law", [Newton, Stronge], ids=lambda law: law.__name__)
def test_the_law_of_an_impact_without_slip(law, friction, stops):
    """Two points of 1 kg head on; without friction nothing takes slip away."""
    n = jnp.array([0.0, 0.0, 1.0])
    strike = jax.jit(jax.jacfwd(lambda u: law(0.5, friction).impulse(2 * jnp.eye(3), n, u).total))
    slope = strike(jnp.array([0.0, 0.0, -1.0]))
    np.testing.assert_allclose(slope, np.diag([-stops / 2, -stops / 2, -1.5 / 2]), atol=1e-12)
