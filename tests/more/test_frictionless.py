"""Points on frictionless ground: slips that nothing stops, as values and as derivatives, and friction's limit of 0."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from difsim import Status, simulate
from difsim.dynamics import Bouncer, PointState
from difsim.dynamics.hard import Phase
from difsim.gravity import Uniform
from difsim.shape import Complement, Plane, Sphere
from tests.helpers import approx
from tests.ways import impacts

DOWN = Uniform((0.0, 0.0, -1.0))


def pendulum(angle, time):
    """The angle of a pendulum of length 1 under g = 1 that starts at rest."""
    way = {"rtol": 1e-12, "atol": 1e-12}
    return solve_ivp(lambda _, y: [y[1], -np.sin(y[0])], (0, time), [angle, 0.0], "DOP853", **way).y[0, -1]


TAN, FRICTION, RESTITUTION, START, END, PLACE, VELOCITY = 0, 1, 2, 3, 4, slice(5, 8), slice(8, 11)


def throw(p):
    """Where a point is that starts on, or above, a slope that rises along x, and the solution."""
    one = jnp.ones_like(p[0])
    model = Bouncer(DOWN, Plane(jnp.zeros(3), jnp.stack([-p[TAN], 0.0 * one, one])), p[RESTITUTION], p[FRICTION])
    way = impacts(40, max_steps=2000)
    solution = simulate(model, PointState(p[PLACE], p[VELOCITY]), p[START : END + 1], **way, throw=False)
    return solution.last.position, solution


@eqx.filter_jit
def differentiate_by_all(p):
    """The place, its derivatives [3, 11] and the solution."""
    by_p, (place, solution) = jax.jacfwd(lambda p: (lambda x, s: (x, (x, s)))(*throw(p)), has_aux=True)(p)
    return place, by_p, solution


def numbers(tan, place=(0.0, 0.0, 0.0), velocity=(0.0, 0.0, 0.0), friction=0.0, e=0.5, time=3.0):
    return jnp.array([tan, friction, e, 0.0, time, *place, *velocity])


def axes(tan):
    """The normal of the slope, and the direction up it."""
    cos = 1 / np.hypot(1, tan)
    return cos * np.array([-tan, 0.0, 1.0]), cos * np.array([1.0, 0.0, tan])


def test_a_bead_in_a_bowl_is_a_pendulum():
    """A frictionless bowl of 1 m: also at rest at its bottom, where the derivative is that of small oscillations."""
    bowl = Bouncer(DOWN, Complement(Sphere((0.0, 0.0, 1.0), 1.0)), 0.5)

    @jax.jit
    def swings(angle, time):
        def angle_then(angle):
            start = PointState(jnp.stack([jnp.sin(angle), 0.0 * angle, 1 - jnp.cos(angle)]))
            solution = simulate(bowl, start, jnp.stack([0.0 * time, time]), **impacts(5), throw=False)
            x = solution.last.position
            return jnp.arctan2(x[0], 1 - x[2]), (x, solution)

        return jax.jacfwd(angle_then, has_aux=True)(angle)

    for angle in (0.0, 1.0):
        by_angle, (x, solution) = swings(jnp.array(angle), jnp.array(20.0))
        step = 1e-4
        expected = (pendulum(angle + step, 20.0) - pendulum(angle - step, 20.0)) / (2 * step)
        assert solution.status == Status.OK and solution.last.phase == Phase.SLIDING
        assert np.arctan2(x[0], 1 - x[2]) == approx(pendulum(angle, 20.0), abs=1e-7)
        assert by_angle == approx(expected, abs=2e-6)


def test_a_slip_outlives_the_last_hop():
    """Dropped from 1 m onto level ground: whatever moves it sideways moves it for all 20 s."""
    place, by_p, solution = differentiate_by_all(numbers(0.0, (0.0, 0.0, 1.0), time=20.0))
    assert solution.ok and solution.last.phase == Phase.SLIDING
    np.testing.assert_allclose(place, 0.0, atol=1e-9)
    np.testing.assert_allclose(by_p[:2, VELOCITY], [[20, 0, 0], [0, 20, 0]], atol=1e-8)
    np.testing.assert_allclose(by_p[:2, PLACE], [[1, 0, 0], [0, 1, 0]], atol=1e-8)


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_a_slip_outlives_the_top_of_a_slope(e):
    """Thrown at 0.5 m/s along the normal of a slope of tan 0.5, and up it so that it lands at its highest."""
    normal, up = axes(0.5)
    start = 0.5 * normal + 0.5 * up
    place, by_p, solution = differentiate_by_all(numbers(0.5, velocity=start, e=e))
    pull = 0.5 / np.hypot(1, 0.5)
    assert solution.ok and solution.last.phase == Phase.SLIDING
    assert up @ place == approx(0.5 * 3 - 0.5 * pull * 9, abs=1e-9)
    assert up @ by_p[:, VELOCITY] @ up == approx(3.0, abs=1e-8)
    np.testing.assert_allclose(by_p[1, VELOCITY], [0, 3, 0], atol=1e-8)
    assert up @ by_p[:, START] == approx(-(0.5 - 3 * pull), abs=1e-8)


def test_a_point_at_rest_on_a_frictionless_slope_slides():
    place, by_p, solution = differentiate_by_all(numbers(0.2, time=2.0))
    assert solution.ok and solution.last.phase == Phase.SLIDING
    np.testing.assert_allclose(place, [-0.2 / 1.04 * 2, 0.0, -0.04 / 1.04 * 2], atol=1e-9)  # x = -0.3846 m
    _, up = axes(0.2)
    pull = 0.2 / np.sqrt(1.04)
    assert up @ by_p[:, START] == approx(2 * pull, abs=1e-9) and up @ by_p[:, END] == approx(-2 * pull, abs=1e-9)
    assert up @ by_p[:, VELOCITY] @ up == approx(2.0, abs=1e-9) and by_p[1, 9] == approx(2.0, abs=1e-9)
    # Friction takes μ N, N = cos; the sideways place does not turn by it, as there is no sideways slip.
    np.testing.assert_allclose(by_p[:, FRICTION], 2 / np.sqrt(1.04) * up, atol=1e-9)


def test_friction_that_is_too_small_lets_a_point_at_rest_slide():
    """By all but a push across: a small one turns as a power of the time that depends on friction."""
    _, up = axes(0.5)
    cos, time = 1 / np.hypot(1, 0.5), 2.0
    pull = 0.5 * cos - 0.1 * cos
    place, by_p, solution = differentiate_by_all(numbers(0.5, friction=0.1, time=time))
    assert solution.ok and solution.last.phase == Phase.SLIDING
    assert up @ place == approx(-0.5 * pull * time**2, abs=1e-9)
    assert up @ by_p[:, START] == approx(pull * time, abs=1e-9)
    assert -up @ by_p[:, VELOCITY] @ -up == approx(time, abs=1e-9)  # a push down; one up is stopped first
    assert up @ by_p[:, FRICTION] == approx(0.5 * cos * time**2, abs=1e-9)


def test_friction_begins_at_zero():
    """Up a slope and down again: x = v t - g_x t²/2, less μ N on the way up, and more on the way down."""
    _, up = axes(0.5)
    cos = 1 / np.hypot(1, 0.5)
    pull, speed, time = 0.5 * cos, 0.7, 3.0
    _, by_p, solution = differentiate_by_all(numbers(0.5, velocity=speed * up))
    top = speed / pull
    by_friction = -cos * (0.5 * top**2 + top * (time - top)) + 0.5 * cos * (time - top) ** 2
    assert solution.ok and up @ by_p[:, FRICTION] == approx(by_friction, abs=1e-8)


def test_a_plastic_impact_has_its_derivative():
    """e = 0 onto a frictionless slope: what is left slides; a small e only delays it, to second order."""
    normal, up = axes(0.5)
    pull = 0.5 / np.hypot(1, 0.5)
    place, by_p, solution = differentiate_by_all(numbers(0.5, normal, e=0.0))
    assert solution.ok and up @ place == approx(-0.5 * pull * 9, abs=1e-9)
    np.testing.assert_allclose(by_p[:, RESTITUTION], 0.0, atol=1e-9)
    np.testing.assert_allclose(up @ by_p[:, PLACE] @ np.stack([up, normal], 1), [1, 0], atol=1e-9)
