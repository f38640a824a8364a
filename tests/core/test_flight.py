"""Flights about a rotating body: closed forms, both frames, backward in time, landings and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, simulate, transition, units
from difsim.dynamics import Flight, FlightState, InertialFlight
from difsim.gravity import Mascons, PointMass, Rotating
from difsim.shape import Sphere, Union
from tests.helpers import approx
from tests.ways import flight

GM, SPIN = units.GM_67P, (0.0, 0.0, units.SPIN_67P)

STILL = (0.0, 0.0, 0.0)

HOURS = 25143.98  # s, from Philae's separation to its first touchdown

SEPARATION = FlightState((-19353.3, 9909.9, 5290.6), (2.02237, 2.35055, -0.17728))

# Two unequal lobes that compile fast, and a surface about each.
LOBES = Mascons((0.69 * GM, 0.31 * GM), ((-620.0, 128.0, -58.0), (1442.0, -382.0, 143.0)))

SURFACE = Union((Sphere((-620.0, 128.0, -58.0), 1600.0), Sphere((1442.0, -382.0, 143.0), 1000.0)))

COMET = Flight(LOBES, SPIN, SURFACE)


def ball(radius, mass=GM, **options) -> Flight:
    return Flight(PointMass(mass, STILL), STILL, Sphere(STILL, radius), **options)


def last(solution):
    return jax.tree.map(lambda x: x[-1], solution.states)


def jacobi(solution):
    return sum(np.asarray(part) for part in solution.energy.values())


def kepler(a, e, E, mass=GM):
    """Place, velocity and time since periapsis at the eccentric anomaly E, orbit in the xy plane."""
    n, b = jnp.sqrt(mass / a**3), jnp.sqrt(1 - e**2)
    rate = n / (1 - e * jnp.cos(E))
    place = a * jnp.stack([jnp.cos(E) - e, b * jnp.sin(E), 0 * E])
    return place, a * rate * jnp.stack([-jnp.sin(E), b * jnp.cos(E), 0 * E]), (E - e * jnp.sin(E)) / n


def test_kepler_orbit():
    """Four eccentric anomalies of one orbit and a bit, e = 0.6."""
    a, e, anomalies = jnp.array(9e3), jnp.array(0.6), jnp.array([0.0, 1.0, 3.0, 5.0, 7.5])
    place, velocity, time = jax.vmap(lambda E: kepler(a, e, E))(anomalies)
    orbit = simulate(ball(2e3), FlightState(place[0], velocity[0]), time, solver=Adaptive(1e-12, 1e-12, order=8))
    np.testing.assert_allclose(orbit.states.position, place, atol=1e-10 * 9e3)
    np.testing.assert_allclose(orbit.states.velocity, velocity, atol=1e-10)


def test_rotating_frame_is_the_inertial_one_transformed():
    """Also the bounds on the way to a contact, and the Jacobi constant, which only the rotating frame has."""
    times = jnp.linspace(0.0, HOURS, 8)
    turning = simulate(COMET, SEPARATION, times, solver=Adaptive(1e-12, 1e-12, order=8))
    start = InertialFlight(COMET).from_body(times[0], SEPARATION)
    fixed = simulate(InertialFlight(COMET), start, times, solver=Adaptive(1e-12, 1e-12, order=8))
    seen = jax.vmap(InertialFlight(COMET).to_body)(times, fixed.states)
    size = np.linalg.norm(SEPARATION.position)
    np.testing.assert_allclose(seen.position, turning.states.position, atol=1e-10 * size)
    np.testing.assert_allclose(seen.velocity, turning.states.velocity, atol=1e-10)
    for solution in (turning, fixed):
        np.testing.assert_allclose(jacobi(solution), jacobi(solution)[0], rtol=1e-10)
    # By hand: ½ v² - ½ ω² (x² + y²) - Σ GM/d.
    (x, y, _), v = SEPARATION.position, SEPARATION.velocity
    by_hand = 0.5 * v @ v - 0.5 * units.SPIN_67P**2 * (x**2 + y**2) - LOBES.potential(SEPARATION.position)
    assert jacobi(turning)[0] == approx(by_hand, rel=1e-14)


def test_the_transition_of_hours_is_that_of_differences():
    horizon, way = jnp.array([0.0, 20_000.0]), flight()
    found = transition(COMET, SEPARATION, horizon, **way)
    by_start = np.asarray(found.state)
    start = np.concatenate([SEPARATION.position, SEPARATION.velocity])

    def end(y):
        tail = simulate(COMET, FlightState(y[:3], y[3:]), horizon, **way).last
        return np.concatenate([tail.position, tail.velocity])

    steps = 1e-4 * np.repeat([np.linalg.norm(start[:3]), np.linalg.norm(start[3:])], 3)
    for i, h in enumerate(np.diag(steps)):
        near, far = end(start + h) - end(start - h), end(start + 2 * h) - end(start - 2 * h)
        differences = (8 * near - far) / (12 * steps[i])
        for rows in (slice(0, 3), slice(3, 6)):  # m and m/s apart: each its own scale
            size = np.abs(by_start[rows] * steps).max() / steps[i]
            np.testing.assert_allclose(by_start[rows, i], differences[rows], atol=1e-6 * size, rtol=0)
    assert not found.time.any()
    # Hamiltonian flow keeps the volume, whatever the frame.
    assert np.linalg.det(by_start) == pytest.approx(1, abs=1e-8)


def test_a_field_with_the_centrifugal_term_is_refused():
    with pytest.raises(ValueError, match="the centrifugal term would count twice"):
        Flight(2.0 * Rotating(PointMass(GM, (0.0, 0.0, 0.0)), SPIN), SPIN, Sphere((0.0, 0.0, 0.0), 1.0))
