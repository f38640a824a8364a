"""The tide of another body: its digits, and the restricted problem of three bodies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.dynamics import Flight, FlightState, Kepler, Primary
from difsim.dynamics.primary import Tide
from difsim.gravity import Mascons, PointMass
from difsim.shape import Sphere

ORIGIN = (0.0, 0.0, 0.0)
PRIMARY, SECONDARY, DISTANCE = 35.1278, 0.302680, 1152.0  # Didymos and Dimorphos, m³/s² and m
RATE = np.sqrt((PRIMARY + SECONDARY) / DISTANCE**3)
ORBIT = Kepler(DISTANCE, 2 * np.pi / RATE, mean_anomaly=np.pi)  # the primary is at -x
MODEL = Flight(
    PointMass(SECONDARY, ORIGIN),
    (0.0, 0.0, RATE),
    Sphere(ORIGIN, 1.0),
    primary=Primary(PointMass(PRIMARY, ORIGIN), ORBIT),
)


@pytest.mark.parametrize("distance", [1e3, 1e7, 1.5e11])
def test_tide_of_a_point_mass_keeps_its_digits(distance):
    """Against the series by Legendre polynomials, which converges fast where x is small."""
    arm, x = distance * jnp.array([0.6, 0.0, -0.8]), jnp.array([3.0, -40.0, 21.0])

    orders = range(2, 16)
    polynomials = [np.polynomial.legendre.leg2poly(np.eye(n + 1)[n])[::-1].copy() for n in orders]

    def series(x):
        size = jnp.linalg.norm(x)
        cosine, share = jnp.dot(x, arm) / (size * distance), size / distance
        terms = (share**n * jnp.polyval(jnp.asarray(p), cosine) for n, p in zip(orders, polynomials, strict=True))
        return distance * sum(terms)

    field = Tide(PointMass(distance**2, ORIGIN), arm)
    np.testing.assert_allclose(field.potential(x), series(x), rtol=1e-14)
    np.testing.assert_allclose(field.acceleration(x), jax.grad(series)(x), rtol=1e-13)


def test_tide_of_any_field_is_the_difference_of_its_pulls():
    lobes = Mascons([3.0, 1.0], [[0.1, 0.2, 0.3], [-0.4, 0.1, 0.0]])
    points = 2 * (lobes + PointMass(2.0, ORIGIN))
    arm, x = jnp.array([4.0, -2.0, 1.0]), jnp.array([0.7, 0.3, -0.2])
    expected = points.acceleration(x - arm) - points.acceleration(-arm)
    np.testing.assert_allclose(Tide(points, arm).acceleration(x), expected, rtol=1e-13)
    assert Tide(points, arm).potential(jnp.zeros(3)) == 0


def lagrange_points():
    """L1 to L5 from the secondary, with the primary at -x: roots of the force on the axis, and the triangles."""
    d = np.polynomial.Polynomial([DISTANCE, 1.0])  # from the primary
    x = np.polynomial.Polynomial([0.0, 1.0])
    share = PRIMARY / (PRIMARY + SECONDARY)
    spin = RATE**2 * (x + share * DISTANCE) * d**2 * x**2
    for behind_primary, behind_secondary in ((1, -1), (1, 1), (-1, -1)):
        pull = behind_primary * PRIMARY * x**2 + behind_secondary * SECONDARY * d**2
        roots = (spin - pull).roots()
        real = roots.real[abs(roots.imag) < 1e-9 * DISTANCE]
        right = (np.sign(real + DISTANCE) == behind_primary) & (np.sign(real) == behind_secondary)
        yield real[right][0], 0.0, 0.0
    for side in (1, -1):
        yield -DISTANCE / 2, side * np.sqrt(0.75) * DISTANCE, 0.0


@pytest.mark.parametrize("place", list(lagrange_points()), ids=["L1", "L2", "L3", "L4", "L5"])
def test_points_of_lagrange_are_equilibria(place):
    rate = MODEL.vector_field(0.0, FlightState(place, ORIGIN)).velocity
    np.testing.assert_allclose(rate, 0, atol=1e-13 * PRIMARY / DISTANCE**2)
