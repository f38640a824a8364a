"""Hard contact, event by event: bounces that accumulate, slides that stop, balls that roll, what is refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import MaxImpacts, Status, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import Ball, Newton, Stronge, Vertices
from difsim.dynamics import Bouncer, HardBody, HardState, PointState, TwoBalls, TwoBallState
from difsim.dynamics.hard import Phase
from difsim.gravity import Uniform
from difsim.shape import Box, GridSDF, Plane
from tests.helpers import approx

G = 9.81
FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
CORNERS = 0.05 * (2.0 * np.indices((2, 2, 2)).reshape(3, 8).T - 1)
DOWN = Uniform((0.0, 0.0, -G))


def energy(solution):
    return np.asarray(sum(solution.energy.values()))


@pytest.mark.slow
def test_bounces_accumulate_and_end_in_rest():
    """VALIDATION.md 3: from 1 m with e = 0.6 at rest after 1.8060946 s and 2.125 m, its derivative too."""
    e, h = 0.6, 1.0
    fall = np.sqrt(2 * h / G)
    total = fall * (1 + e) / (1 - e)
    assert total == approx(1.8060946, abs=1e-7)
    tops = fall + 2 * fall * (np.cumsum(e ** np.arange(1, 13)) - 0.5 * e ** np.arange(1, 13))
    times = jnp.array([0.0, *tops, total - 1e-6, total + 1e-6, 3.0])

    @eqx.filter_jit
    def heights(p):
        model = Bouncer(DOWN, FLOOR, p[1], 0.3, rest_height=1e-14)
        start = PointState(jnp.array([0.0, 0.0, 1.0]) * p[0])
        solution = simulate(model, start, times, until=MaxImpacts(50), throw=False)
        return solution.states.position[:, 2], solution

    (by_p, solution) = jax.jit(jax.jacfwd(heights, has_aux=True))(jnp.array([h, e]))
    assert solution.status == Status.OK
    z, phase = np.asarray(solution.states.position[:, 2]), np.asarray(solution.states.phase)
    tail = 2 * h * e**26 / (1 - e**2)  # of the hops after the twelfth
    assert h + 2 * z[1:13].sum() + tail == approx(2.125, abs=1e-9)
    assert (phase[:-2] == Phase.FLIGHT).all() and (phase[-2:] == Phase.STICKING).all()
    np.testing.assert_allclose(z[-2:], 0.0, atol=1e-12)
    assert (np.asarray(solution.states.velocity[-2:]) == 0).all()
    np.testing.assert_allclose(energy(solution), G, rtol=1e-12)
    assert np.isfinite(by_p).all()
    np.testing.assert_allclose(by_p[-2:], 0.0, atol=1e-8)  # where it lies depends on neither


def ball(restitution, friction):
    mass, radius = 2.0, 0.1
    inertia = 0.4 * mass * radius**2 * jnp.eye(3)
    return HardBody(
        RigidBody(mass, inertia), Ball(radius), Newton(restitution, friction, turns=0), FLOOR, DOWN, 1e-12
    )


def thrown(position, velocity, spin=(0.0, 0.0, 0.0)):
    return HardState(RigidState(position, velocity, (1.0, 0.0, 0.0, 0.0), spin))


@pytest.mark.slow
def test_a_ball_slips_to_roll_and_its_derivatives():
    """VALIDATION.md 4: v = 5/7 v₀ after 2 v₀/(7 μ g) and 12 v₀²/(49 μ g), from a start on the ground. Sideways the
    derivative is that of a turned path, through the stop of the slip."""
    v0, μ = 1.0, 0.3
    stop = 2 * v0 / (7 * μ * G)
    times = jnp.array([0.0, 0.5 * stop, stop, 1.0])

    @eqx.filter_jit
    def run(p):
        start = thrown(jnp.array([0.0, 0.0, 0.1]), jnp.stack([p[0], p[1], 0.0 * p[0]]))
        solution = simulate(ball(0.6, p[2]), start, times, until=MaxImpacts(4), throw=False)
        return solution.states.body.position[:, :2], solution

    by_p, solution = jax.jit(jax.jacfwd(run, has_aux=True))(jnp.array([v0, 0.0, μ]))
    assert solution.status == Status.OK
    x, v = np.asarray(solution.states.body.position), np.asarray(solution.states.body.velocity)
    assert x[2, 0] == approx(12 * v0**2 / (49 * μ * G), abs=1e-9)
    np.testing.assert_allclose(v[2:], [[5 / 7 * v0, 0.0, 0.0]] * 2, atol=1e-9)
    np.testing.assert_allclose(solution.states.body.spin[-1], [0.0, 5 / 7 * v0 / 0.1, 0.0], atol=1e-8)
    assert solution.states.phase[1] == Phase.SLIDING and solution.states.phase[3] == Phase.STICKING
    end = 5 / 7 * v0 + 2 * v0**2 / (49 * μ * G)
    assert x[3, 0] == approx(end, abs=1e-9)
    exact = [[5 / 7 + 4 * v0 / (49 * μ * G), 0.0, -2 * v0**2 / (49 * μ**2 * G)], [0.0, end / v0, 0.0]]
    np.testing.assert_allclose(by_p[3], exact, atol=1e-8)
    np.testing.assert_allclose(energy(solution), energy(solution)[0], atol=1e-9)


@pytest.mark.slow
def test_two_balls_and_their_derivatives():
    """VALIDATION.md 9: equal masses, e = 1, r = 0.1, x₁ = 0, x₂ = 0.52, v = 1, u = 0, T = 1."""

    @eqx.filter_jit
    def end(p):
        x, v = p[:2, None] * jnp.array([[1.0, 0.0, 0.0]]), p[2:, None] * jnp.array([[1.0, 0.0, 0.0]])
        model = TwoBalls(Newton(1.0, turns=0), (1.0, 1.0), (0.1, 0.1))
        solution = simulate(model, TwoBallState(x, v), jnp.array([0.0, 1.0]), until=MaxImpacts(1), throw=False)
        return solution.states.position[-1, 1, 0], solution.ok

    p = jnp.array([0.0, 0.52, 1.0, 0.0])
    by_p, ok = jax.jit(jax.jacfwd(end, has_aux=True))(p)
    assert ok
    assert end(p)[0] == approx(1.2, abs=1e-9)
    np.testing.assert_allclose(by_p, [1.0, 0.0, 1.0, 0.0], atol=1e-8)


@pytest.mark.slow
def test_oblique_balls_keep_momentum_and_angular_momentum():
    start = TwoBallState(
        [[0.0, 0.0, 0.0], [1.0, 0.05, -0.1]],
        [[1.0, 0.2, 0.0], [-1.0, 0.0, 0.1]],
        [[3.0, 1.0, 2.0], [0.0, -5.0, 1.0]],
    )
    model = TwoBalls(Stronge(0.7, 0.2, turns=0), (1.0, 3.0), (0.2, 0.3))
    solution = simulate(model, start, jnp.array([0.0, 1.0]), until=MaxImpacts(1))
    assert solution.energy["impacts"][-1] > 0
    for account, tolerance in ((model.momentum, 1e-12), (model.angular_momentum, 1e-10)):
        np.testing.assert_allclose(*jax.vmap(account)(solution.states), atol=tolerance)
    np.testing.assert_allclose(energy(solution), energy(solution)[0], rtol=1e-12)


def test_a_point_slides_down_a_slope_or_stays():
    """From rest on a slope of 30°: μ above tan 30° holds it for ever, below it slides with g (sin - μ cos)."""
    tilt = np.radians(30)
    slope = Plane((0.0, 0.0, 0.0), (np.sin(tilt), 0.0, np.cos(tilt)))

    @eqx.filter_jit
    def run(μ):
        return simulate(
            Bouncer(DOWN, slope, 0.5, μ), PointState((0.0, 0.0, 0.0)), jnp.array([0.0, 1.0]), until=MaxImpacts(5),
            throw=False,
        )  # fmt: skip

    for μ in (0.3, 0.7):
        solution = run(jnp.array(μ))
        way = 0.5 * G * (np.sin(tilt) - μ * np.cos(tilt)) if μ < np.tan(tilt) else 0.0
        assert solution.ok
        assert solution.states.phase[-1] == (Phase.SLIDING if way else Phase.STICKING)
        x = solution.states.position[-1]
        np.testing.assert_allclose(x, [way * np.cos(tilt), 0.0, -way * np.sin(tilt)], atol=1e-9)


@pytest.mark.slow
def test_several_points_and_a_start_in_the_ground_are_statuses():
    """A cube that falls flat touches at four corners at once, which is beyond one held point."""
    cube = HardBody(RigidBody(1.0, jnp.eye(3) / 600), Vertices(CORNERS), Newton(0.5, 0.3, 0), FLOOR, DOWN)

    @eqx.filter_jit
    def run(height):
        start = thrown(jnp.array([0.0, 0.0, 1.0]) * height, (0.0, 0.0, 0.0))
        return simulate(cube, start, jnp.array([0.0, 0.5]), until=MaxImpacts(5), throw=False).status

    assert run(jnp.array(0.15)) == Status.SEVERAL_POINTS
    assert run(jnp.array(0.04)) == Status.INSIDE


@pytest.mark.slow
def test_a_ball_rolls_over_the_ripple_of_a_table():
    """The spacing is twice its radius: what the table ripples is no second point. x = v t₁ + 5/7 v (t - t₁)."""
    table = GridSDF.from_sdf(Box((1.0, 1.0, 0.5)), (-1.0, -1.0, -0.5), (1.0, 1.0, 0.5), 0.2)
    model = HardBody(
        RigidBody(2.0, 8e-3 * jnp.eye(3)), Ball(0.1), Newton(0.5, 0.3, turns=0), table, Uniform((0.0, 0.0, -1.0))
    )
    start = thrown((0.0, 0.1, 0.8), (0.1, 0.05, 0.0))
    solution = simulate(model, start, jnp.array([0.0, 2.5]), until=MaxImpacts(20), throw=False)
    fall = np.sqrt(0.4)
    way = fall + 5 / 7 * (2.5 - fall)
    assert solution.status == Status.OK and solution.last.phase == Phase.STICKING
    np.testing.assert_allclose(solution.last.body.position, [0.1 * way, 0.1 + 0.05 * way, 0.6], atol=2e-3)


def test_wrong_models_are_refused():
    with pytest.raises(ValueError, match="rest_height = -"):
        Bouncer(DOWN, FLOOR, 0.5, 0.0, -1.0)
    with pytest.raises(ValueError, match="mass"):
        TwoBalls(Newton(1.0), (1.0, -1.0), (0.1, 0.1))
