"""Flights about a rotating body: closed forms, both frames, backward in time, landings and their derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, AtContact, Forward, MaxImpacts, Reverse, Status, simulate
from difsim.dynamics import Bouncer, Flight, FlightState, InertialFlight, PointState, TimeReversed
from difsim.gravity import PointMass, Uniform, lobes_67p
from difsim.shape import Ellipsoid, Plane, Posed, Sphere, Union
from tests.core.test_flight import COMET, GM, HOURS, SEPARATION, SPIN, STILL, SURFACE, ball, kepler, last
from tests.helpers import approx
from tests.ways import landing

TOUCHDOWN = FlightState((2114.5, -955.2, 494.9), (-0.8353, 0.4987, -0.2715))


def test_seven_hours_forward_and_backward():
    """In the field of 67P's two ellipsoids the way back closes to 1e-5 m; separation is where it should be."""
    model = Flight(lobes_67p(), SPIN, SURFACE)
    there = simulate(
        TimeReversed(model), TOUCHDOWN, jnp.array([-HOURS, 0.0]), solver=Adaptive(1e-12, 1e-12, order=8)
    )
    back = simulate(model, last(there), jnp.array([0.0, HOURS]), solver=Adaptive(1e-12, 1e-12, order=8))
    np.testing.assert_allclose(last(back).position, TOUCHDOWN.position, atol=1e-5)
    np.testing.assert_allclose(last(back).velocity, TOUCHDOWN.velocity, atol=1e-9)
    # The scenario was made with the polyhedron: the ellipsoids' field, 1 % off, leads 3 % of the way aside.
    off = np.linalg.norm(last(there).position - SEPARATION.position)
    assert 0 < off < 0.04 * np.linalg.norm(SEPARATION.position)
    assert there.stats.steps < 100


def test_a_landing_on_a_body_that_turns_by_the_time_of_the_start():
    """The surface is that of an ellipsoid at the time of touch: place and time against differences."""
    body = Flight(PointMass(1.0, STILL), (0.0, 0.0, 0.5), Ellipsoid((0.9, 0.5, 0.4)), resolution=1e-3)

    way = landing()

    def land(start):
        solution = simulate(
            InertialFlight(body), FlightState((1.8, 0.0, 0.0), (0.0, 0.4, 0.1)), jnp.stack([start, start + 9.0]),
            **way, throw=False,
        )  # fmt: skip
        return jnp.append(solution.last.position, solution.times[-1])

    run = jax.jit(land)
    found, h = jax.jit(jax.jacfwd(land))(jnp.array(0.3)), 1e-5
    np.testing.assert_allclose(found, (run(0.3 + h) - run(0.3 - h)) / (2 * h), atol=1e-6)


def test_both_frames_land_alike():
    times = jnp.array([0.0, 40_000.0])
    a = simulate(COMET, SEPARATION, times, solver=Adaptive(1e-12, 1e-12, order=8), until=AtContact())
    start = InertialFlight(COMET).from_body(times[0], SEPARATION)
    b = simulate(InertialFlight(COMET), start, times, solver=Adaptive(1e-12, 1e-12, order=8), until=AtContact())
    assert a.times[-1] == approx(b.times[-1], rel=1e-10)
    place = InertialFlight(COMET).to_body(b.times[-1], last(b)).position
    np.testing.assert_allclose(place, last(a).position, atol=1e-5)
    assert SURFACE.distance(last(a).position) == approx(0.0, abs=1e-8)


def test_the_landing_time_has_its_derivative_on_a_union():
    """The least of several distances: by `jnp.min` the compiled derivative was zero, without a sign of it."""
    ball, far = Posed(Ellipsoid((2e3, 1.8e3, 1.5e3)), (0, 0, 0), jnp.eye(3)), Sphere((-3e3, 0, 0), 500.0)
    start, spin = jnp.array([2300.0, 300.0, 200.0]), (0.0, 0.0, 1e-4)

    def landing_time(velocity, surface):
        model = Flight(PointMass(GM, (0, 0, 0)), spin, surface)
        state, times = FlightState(start, velocity), jnp.array([0.0, 8e3])
        return simulate(
            model, state, times, solver=Adaptive(1e-12, 1e-12, order=8), until=AtContact(), throw=False
        ).times[-1]

    velocity = jnp.array([0.1, 0.1, 0.0])
    alone, united = (jax.jacfwd(landing_time)(velocity, s) for s in (ball, Union((far, ball))))
    np.testing.assert_allclose(united, alone, rtol=1e-8)
    assert jnp.abs(alone[0]) > 1e4


def test_the_origin_of_the_frame_changes_nothing():
    """Tolerances count from where a motion starts: 2 km from the frame's origin the same steps are taken."""
    model, slope = Uniform((0.0, 0.0, -1e-4)), Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    far = jnp.array([2e3, -1e3, 5e2])

    def hop(shift):
        ball = Bouncer(model, Posed(slope, shift, jnp.eye(3)), 0.7)
        state = PointState(shift + jnp.array([0.0, 0.0, 1.0]), (0.01, 0.0, 0.0))
        return simulate(ball, state, jnp.array([0.0, 200.0]), until=MaxImpacts(3))

    near, away = hop(0 * far), hop(far)
    assert near.stats.steps == away.stats.steps
    np.testing.assert_allclose(away.last.position - far, near.last.position, atol=1e-10)


def kepler_landing(r0, v0, mass, R):
    """Time and place of the landing on a sphere of an orbit from its apoapsis (r₀, 0, 0), v₀ along y."""
    a = 1 / (2 / r0 - v0**2 / mass)
    e = r0 / a - 1
    E = 2 * jnp.pi - jnp.arccos((1 - R / a) / e)
    place, _, time = kepler(a, e, E, mass)
    return jnp.concatenate([time[None] - jnp.pi * jnp.sqrt(a**3 / mass), -place])


@pytest.mark.parametrize(
    "derivative, mode",
    [
        pytest.param(jax.jacfwd, Forward(), id="forward"),
        pytest.param(jax.jacrev, Reverse(), id="reverse"),
    ],
)
def test_landing_on_a_sphere_and_its_derivatives(derivative, mode):
    """Time and place, by the start, the mass and the sphere's radius, against Kepler's closed form."""

    def land(p):
        r0, v0, mass, R = p
        model, zero = ball(R, mass), 0 * r0
        start = FlightState(jnp.stack([r0, zero, zero]), jnp.stack([zero, v0, zero]))
        method = landing(mode, max_steps=256)
        end = simulate(model, start, jnp.array([0.0, 4e5]), **method, throw=False)
        return jnp.concatenate([end.times[-1:], last(end).position]), end.status

    p = jnp.array([2e4, 0.06, GM, 2e3])
    both = eqx.filter_jit(lambda p: (land(p), derivative(lambda p: land(p)[0])(p)))
    (value, status), found = both(p)
    assert status == Status.OK
    np.testing.assert_allclose(value, kepler_landing(*p), rtol=1e-10, atol=1e-7)
    expected = jax.jacfwd(lambda p: kepler_landing(*p))(p) * p[None]
    np.testing.assert_allclose(found * p[None], expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
