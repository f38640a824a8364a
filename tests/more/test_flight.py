"""Flights about a rotating body: closed forms, both frames, backward in time, landings and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from difsim import Adaptive, AtContact, Forward, Reverse, Status, simulate
from difsim.dynamics import Flight, FlightState, InertialFlight
from difsim.gravity import Mascons, PointMass, Uniform
from difsim.gravity.field import Scaled
from difsim.shape import Box, Plane, Sphere
from tests.core.test_flight import GM, STILL, ball, last
from tests.helpers import approx
from tests.ways import flight, forward, landing, name


def test_radial_fall():
    """From rest at r₀ to R: t = √(r₀³/2GM) (arccos √x + √(x - x²)), x = R/r₀."""
    r0, R = 2e4, 2e3
    fall = simulate(
        ball(R),
        FlightState((0.0, r0, 0.0)),
        jnp.array([0.0, 1e6]),
        solver=Adaptive(1e-12, 1e-12, order=8),
        until=AtContact(),
    )
    x = R / r0
    time = np.sqrt(r0**3 / (2 * GM)) * (np.arccos(np.sqrt(x)) + np.sqrt(x - x**2))
    np.testing.assert_allclose(fall.times, [0.0, time], rtol=1e-11)
    np.testing.assert_allclose(last(fall).position, [0.0, R, 0.0], atol=1e-7)
    np.testing.assert_allclose(last(fall).velocity, [0.0, -np.sqrt(2 * GM / R * (1 - x)), 0.0], atol=1e-10)


TWINS = InertialFlight(
    Flight(Mascons((1.0, 0.3), ((0.0, 0.0, 0.0), (0.6, 0.0, 0.0))), (0.0, 0.0, 0.5), Sphere(STILL, 1e-3))
)

LAUNCH = FlightState((2.0, 0.0, 0.0), (0.0, 0.8, 0.1))


@pytest.mark.parametrize(
    "derivative, mode",
    [
        pytest.param(jax.jacfwd, Forward(), id="forward"),
        pytest.param(jax.jacrev, Reverse(), id="reverse"),
    ],
)
def test_the_time_of_the_start_in_a_field_that_turns(derivative, mode):
    """Against differences of scipy's solution, and with an integral beside the state."""

    def rate(t, y):
        c, s = np.cos(0.5 * t), np.sin(0.5 * t)
        pull = [
            -m * (y[:3] - x) / np.linalg.norm(y[:3] - x) ** 3
            for m, x in ((1, 0), (0.3, 0.6 * np.array([c, s, 0])))
        ]
        return np.concatenate([y[3:6], sum(pull), [t * y[0]]])

    def end(start, stop):
        way = {"rtol": 1e-12, "atol": 1e-12}
        return solve_ivp(rate, (start, stop), [2.0, 0.0, 0.0, 0.0, 0.8, 0.1, 0.0], "DOP853", **way).y[
            [0, 1, 2, 6], -1
        ]

    h = 1e-4
    by_start = (end(0.3 + h, 4.0) - end(0.3 - h, 4.0)) / (2 * h)
    by_end = (end(0.3, 4.0 + h) - end(0.3, 4.0 - h)) / (2 * h)
    np.testing.assert_allclose(by_start[:3], (1.13441, 0.75318, 0.11343), atol=1e-5)

    def find(times):
        solution = simulate(TWINS, LAUNCH, times, **flight(), derivative=mode, integrals=moment)
        return jnp.append(solution.last.position, solution.integrals["moment"][-1])

    np.testing.assert_allclose(
        jax.jit(derivative(find))(jnp.array([0.3, 4.0])), np.stack([by_start, by_end], 1), atol=1e-6
    )


def moment(model, t, state):
    return {"moment": t * state.position[0]}


def test_a_hop_from_the_surface():
    """It starts with a gap of zero: the flight ends when it comes down, 2 v/g later, and not at once."""
    ground = Flight(Uniform((0.0, 0.0, -2e-4)), STILL, Plane(STILL, (0.0, 0.0, 1.0)))
    times = jnp.linspace(0.0, 2e4, 5)
    hop = simulate(
        ground,
        FlightState(STILL, (0.1, 0.0, 0.3)),
        times,
        solver=Adaptive(1e-12, 1e-12, order=8),
        until=AtContact(),
    )
    np.testing.assert_allclose(hop.times, [0.0, 3e3, 3e3, 3e3, 3e3], rtol=1e-11)
    np.testing.assert_allclose(last(hop).position, [300.0, 0.0, 0.0], atol=1e-8)


def test_a_long_flight_cannot_jump_through_a_thin_body():
    """A sheet of 0.4 m, 20 km away, without gravity: any one step of Dopri8 is right, and would pass it."""
    sheet = Flight(PointMass(0.0, STILL), STILL, Box((5e3, 5e3, 0.2)))
    start = FlightState((0.0, 0.0, 2e4), (0.0, 0.0, -1.0))
    found = simulate(
        sheet, start, jnp.array([0.0, 1e5]), solver=Adaptive(1e-12, 1e-12, order=8), until=AtContact()
    )
    assert found.times[-1] == approx(2e4 - 0.2, rel=1e-12)
    assert found.stats.steps < 30
    assert simulate(ball(1.0, mass=0.0), start, jnp.array([0.0, 1e5]), **flight()).stats.steps < 15


UP = FlightState((2500.0, 0.0, 0.0), (2.0, 0.0, 0.0))


def test_what_misses_is_where_it_would_be():
    """Times and states of a flight without contact are those asked for."""
    times = jnp.array([0.0, 1e5])
    found = simulate(ball(2e3), UP, times, solver=Adaptive(1e-12, 1e-12, order=8), until=AtContact(), throw=False)
    np.testing.assert_array_equal(found.times, times)
    free_flight = simulate(ball(2e3), UP, times, solver=Adaptive(1e-12, 1e-12, order=8))
    np.testing.assert_allclose(found.states.position, free_flight.states.position, rtol=1e-10)


@pytest.mark.parametrize(
    "start, options, status",
    [
        (UP, {}, Status.NO_CONTACT),
        (FlightState((1500.0, 0.0, 0.0), (2.0, 0.0, 0.0)), {}, Status.INSIDE),
        (FlightState((2000.0, 0.0, 0.0), (-1.0, 0.0, 0.0)), {}, Status.INSIDE),
        (FlightState((9000.0, 0.0, 0.0)), {"max_steps": 5}, Status.STEP_LIMIT),
        (FlightState((np.nan, 0.0, 0.0)), {}, Status.NOT_FINITE),
    ],
    ids=["escapes", "starts inside", "starts on the surface and into it", "step limit", "not a number"],
)
def test_statuses(start, options, status):
    found = simulate(ball(2e3), start, jnp.array([0.0, 1e5]), **landing(**options), throw=False)
    assert found.status == status and not found.ok
    with pytest.raises(RuntimeError, match=status.name):
        simulate(ball(2e3), start, jnp.array([0.0, 1e5]), **landing(**options))


@pytest.mark.parametrize("method", [flight(), forward(1e-10, 1e-10)], ids=name)
def test_the_derivative_of_a_flyby_is_as_good_as_its_value(method):
    """Past a point mass that is scaled by s, at s = 0: the value is a straight line, whatever the steps; dx/ds is
    what the mass would do along it, (T - t) g(t) dt summed up."""
    start, times = FlightState((-1e4, 500.0, 0.0), (1.0, 0.0, 0.0)), jnp.array([0.0, 2e4])
    nowhere = Sphere((0.0, 0.0, -1e6), 1.0)

    def end(s):
        solution = simulate(
            Flight(Scaled(PointMass(GM, STILL), s), STILL, nowhere), start, times, **method, throw=False
        )
        return solution.last.position, solution.status

    found, status = jax.jit(jax.jacfwd(end, has_aux=True))(jnp.array(0.0))
    assert status == Status.OK

    def pull(t, axis):
        x = np.array([t - 1e4, 500.0])
        return -(2e4 - t) * GM * x[axis] / np.linalg.norm(x) ** 3

    exact = [quad(pull, 0, 2e4, (axis,), points=[1e4], epsabs=1e-9, epsrel=1e-13)[0] for axis in (0, 1)]
    np.testing.assert_allclose(found[:2], exact, rtol=1e-8 if "derivative" in method else 1e-10)
