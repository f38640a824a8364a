"""Flights about a rotating body: closed forms, both frames, backward in time, landings and their derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Forward, Reverse, Status, simulate, units
from difsim.dynamics import Flight, FlightState
from difsim.gravity import PointMass
from difsim.shape import Sphere
from tests.ways import landing

GM, SPIN = units.GM_67P, (0.0, 0.0, units.SPIN_67P)

STILL = (0.0, 0.0, 0.0)


def ball(radius, mass=GM, **options) -> Flight:
    return Flight(PointMass(mass, STILL), STILL, Sphere(STILL, radius), **options)


def last(solution):
    return jax.tree.map(lambda x: x[-1], solution.states)


def kepler(a, e, E, mass=GM):
    """Place, velocity and time since periapsis at the eccentric anomaly E, orbit in the xy plane."""
    n, b = jnp.sqrt(mass / a**3), jnp.sqrt(1 - e**2)
    rate = n / (1 - e * jnp.cos(E))
    place = a * jnp.stack([jnp.cos(E) - e, b * jnp.sin(E), 0 * E])
    return place, a * rate * jnp.stack([-jnp.sin(E), b * jnp.cos(E), 0 * E]), (E - e * jnp.sin(E)) / n


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

    def simulated(p):
        r0, v0, mass, R = p
        model, zero = ball(R, mass), 0 * r0
        start = FlightState(jnp.stack([r0, zero, zero]), jnp.stack([zero, v0, zero]))
        method = landing(mode, max_steps=256)
        end = simulate(model, start, jnp.array([0.0, 4e5]), **method, throw=False)
        return jnp.concatenate([end.times[-1:], last(end).position]), end.status

    p = jnp.array([2e4, 0.06, GM, 2e3])
    both = eqx.filter_jit(lambda p: (simulated(p), derivative(lambda p: simulated(p)[0])(p)))
    (value, status), found = both(p)
    assert status == Status.OK
    np.testing.assert_allclose(value, kepler_landing(*p), rtol=1e-10, atol=1e-7)
    expected = jax.jacfwd(lambda p: kepler_landing(*p))(p) * p[None]
    np.testing.assert_allclose(found * p[None], expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
