"""Frames that do not rotate steadily: their spins, and primaries that move."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

from difsim.body import RigidState
from difsim.curve import Curve
from difsim.dynamics import Kepler, Libration, Steady, Tabulated, tumble
from tests.catalogue import Catalogue
from tests.helpers import approx, check_gradients

ORIGIN = (0.0, 0.0, 0.0)
INERTIA = np.array([[1.1, 0.1, 0.0], [0.1, 1.6, -0.05], [0.0, -0.05, 2.0]])
SPIN = (0.05, 0.12, 0.3)  # rad/s
TIMES = jnp.linspace(0.0, 40.0, 161)
LIBRATION = Libration((0.02, -0.01, 0.2), 0.3, 0.17, 0.4)
FRAMES = Catalogue(
    {
        "steady": lambda: Steady((0.1, -0.2, 0.3)),
        "libration": lambda: LIBRATION,
        "tumbling": lambda: tumble(INERTIA, SPIN, TIMES),
        "table": lambda: Tabulated.fit(TIMES, jax.vmap(lambda t: LIBRATION.at(t).attitude.quaternion)(TIMES)),
    }
)
ORBIT = Kepler(12.0, 60.0, 0.3, 0.5, 0.4, 1.0, -0.7)


@pytest.mark.parametrize("name", FRAMES)
def test_spin_and_its_rate_are_those_of_the_attitude(name):
    frame = FRAMES[name]

    @jax.jit
    def look(t):
        of = lambda get: jax.jvp(get, (t,), (jnp.ones_like(t),))  # noqa: E731
        turn, turning = of(lambda t: frame.at(t).attitude.as_matrix())
        spin, changing = of(lambda t: frame.at(t).spin)
        across = turn.T @ turning  # the matrix of ω ×
        return frame.at(t), jnp.stack([across[2, 1], across[0, 2], across[1, 0]]), spin, changing

    for t in (0.3, 11.7, 39.9):
        motion, from_turn, _, changing = look(jnp.asarray(t))
        assert jnp.linalg.norm(motion.attitude.quaternion) == approx(1, abs=1e-14)
        np.testing.assert_allclose(motion.spin, from_turn, atol=1e-13)
        np.testing.assert_allclose(motion.spin_rate, changing, atol=1e-12)


def test_what_turns_with_a_frame_is_at_rest_in_it():
    """And what is fixed to the stars turns back: the state of both seen from a frame at a later time."""
    spin, place = jnp.array([0.1, -0.2, 0.3]), jnp.array([3.0, 1.0, -2.0])
    motion = Steady(spin).at(jnp.asarray(7.0))
    there, carried = motion.attitude @ place, motion.attitude @ jnp.cross(spin, place)
    found = motion.enter(RigidState(there, carried, motion.attitude.quaternion, spin))
    np.testing.assert_allclose(found.position, place, rtol=1e-14)
    np.testing.assert_allclose(jnp.concatenate([found.velocity, found.spin]), 0.0, atol=1e-15)
    np.testing.assert_allclose(found.attitude, (1.0, 0.0, 0.0, 0.0), atol=1e-15)
    still = motion.enter(RigidState(there, jnp.zeros(3), (1.0, 0.0, 0.0, 0.0), jnp.zeros(3)))
    np.testing.assert_allclose(still.velocity, -jnp.cross(spin, place), rtol=1e-13)
    np.testing.assert_allclose(still.rotation @ still.spin, -spin, rtol=1e-13)


def test_table_agrees_with_what_it_was_made_of_and_ends():
    for t in (0.31, 17.2, 39.6):
        found, made = FRAMES["table"].at(jnp.asarray(t)), LIBRATION.at(jnp.asarray(t))
        np.testing.assert_allclose(found.attitude.quaternion, made.attitude.quaternion, atol=1e-9)
        np.testing.assert_allclose(found.spin, made.spin, atol=1e-8)
        np.testing.assert_allclose(found.spin_rate, made.spin_rate, atol=1e-6)
    assert jnp.isnan(FRAMES["tumbling"].at(jnp.asarray(41.0)).spin).all()
    with pytest.raises(ValueError, match="ascending"):
        Curve.fit([0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0], np.zeros((7, 4)))


def test_tumbling_is_the_solution_of_euler():
    """Against SciPy, with 0.08 rad between times; and the angular momentum against the stars."""

    def rate(t, spin):
        return np.linalg.solve(INERTIA, -np.cross(spin, INERTIA @ spin))

    seen = scipy.integrate.solve_ivp(rate, (0, 40), SPIN, "DOP853", rtol=1e-13, atol=1e-13, dense_output=True)
    momenta = []
    for t in np.linspace(0.1, 39.9, 9):
        motion = FRAMES["tumbling"].at(jnp.asarray(t))
        np.testing.assert_allclose(motion.spin, seen.sol(t), atol=1e-9)
        np.testing.assert_allclose(motion.spin_rate, rate(t, seen.sol(t)), atol=1e-8)
        momenta.append(motion.attitude @ (INERTIA @ motion.spin))
    np.testing.assert_allclose(momenta, np.tile(INERTIA @ SPIN, (9, 1)), atol=1e-9)


def test_derivatives_of_the_orbit():
    check_gradients(lambda orbit: orbit(jnp.asarray(5.3)), ORBIT)


@pytest.mark.parametrize("eccentricity", [0.0, 0.03, 0.7, 0.95])
def test_kepler_keeps_its_law(eccentricity):
    """Acceleration -n² a³ r/|r|³, over more than a period and backwards."""
    orbit = Kepler(2.0, 7.0, eccentricity, 0.3, 1.1, 0.4, 2.0)

    @jax.jit
    def look(t):
        first = lambda t: jax.jvp(orbit, (t,), (jnp.ones_like(t),))[1]  # noqa: E731
        return orbit(t), jax.jvp(first, (t,), (jnp.ones_like(t),))[1]

    for t in (-5.0, 0.0, 2.9, 8.0):
        r, pull = look(jnp.asarray(t))
        expected = -((2 * np.pi / 7.0) ** 2) * 8.0 * r / jnp.linalg.norm(r) ** 3
        np.testing.assert_allclose(pull, expected, rtol=1e-9, atol=1e-12)
