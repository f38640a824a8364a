"""Slides that stop or begin to roll: value, derivative and rest, with any force across the slip."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from difsim import MaxImpacts, Status, simulate
from difsim.contact import Newton, Stronge
from difsim.dynamics import Bouncer, PointState
from difsim.dynamics.hard import Phase
from difsim.gravity import Uniform
from difsim.shape import Plane


def slope_axes(tilt):
    """Normal of a slope of `tilt` rad that falls along x, and the direction down it."""
    zero = 0.0 * tilt
    return (
        jnp.stack([jnp.sin(tilt), zero, jnp.cos(tilt)]),
        jnp.stack([jnp.cos(tilt), zero, -jnp.sin(tilt)]),
    )


def slide_to_stop(p):
    """Place (down, across) and time of the stop."""
    return slide_exactly(p, 40 / (p[1] * np.cos(p[0]) - np.sin(p[0])))


def slide_exactly(p, duration, time=np.inf):
    """Place (down, across) and time, after a duration in τ with dt = |u| dτ, which the slip scales, or at a time."""
    tilt, friction, down, across = p
    pull, hold = np.sin(tilt), friction * np.cos(tilt)

    def rate(_, y):
        speed, cos, sin = np.exp(y[3]), np.cos(y[4]), np.sin(y[4])
        return [speed**2 * cos, speed**2 * sin, speed, pull * cos - hold, -pull * sin]

    def is_there(_, y):
        return y[2] - time

    is_there.terminal = True
    start = [0.0, 0.0, 0.0, np.log(np.hypot(down, across)), np.arctan2(across, down)]
    way = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-16, "events": is_there if np.isfinite(time) else None}
    return solve_ivp(rate, (0, duration), start, **way).y[:3, -1]


def test_the_known_stop_on_ten_degrees():
    place = slide_to_stop((np.radians(10), 0.5, 0.0, 1.0))
    np.testing.assert_allclose(place, [0.20448, 1.04801, 2.3193], atol=1e-5)


def throw_points(p):
    """How a point ends that is thrown over a slope: p = tilt, friction, restitution, height, velocity."""
    normal, _ = slope_axes(p[0])
    model = Bouncer(Uniform((0.0, 0.0, -1.0)), Plane(jnp.zeros(3), normal), p[2], p[1])
    solution = simulate(
        model, PointState(p[3] * normal, p[4:7]), jnp.array([0.0, 60.0]), until=MaxImpacts(40), throw=False
    )
    return solution.status, solution.energy_error, solution.last.phase, jnp.sum(solution.last.velocity**2)


def draws(count, seed):
    rng = np.random.default_rng(seed)
    tilt, e = rng.uniform(0.02, 0.4, count), rng.uniform(0.05, 0.4, count)
    friction = rng.uniform(1.3, 3.0, count) * np.tan(tilt)
    motion = np.hstack([rng.normal(size=(count, 3)) * [1.0, 1.0, 0.5], 5 * rng.normal(size=(count, 3))])
    return jnp.asarray(np.column_stack([tilt, friction, e, rng.uniform(0, 1, count), motion]))


def test_a_few_that_are_thrown_come_to_rest():
    status, error, phase, energy = jax.jit(lambda p: jax.lax.map(throw_points, p))(draws(12, 3))
    assert (status == Status.OK).all() and error.max() < 1e-9
    assert (phase == Phase.STICKING).sum() >= 11 and (energy == 0).sum() >= 11


@pytest.mark.parametrize("friction, stops", [(0.0, 0.0), (0.3, 1.0)])
@pytest.mark.parametrize("law", [Newton, Stronge], ids=lambda law: law.__name__)
def test_the_law_of_an_impact_without_slip(law, friction, stops):
    """Two points of 1 kg head on; without friction nothing takes slip away."""
    n = jnp.array([0.0, 0.0, 1.0])
    strike = jax.jit(jax.jacfwd(lambda u: law(0.5, friction).impulse(2 * jnp.eye(3), n, u).total))
    slope = strike(jnp.array([0.0, 0.0, -1.0]))
    np.testing.assert_allclose(slope, np.diag([-stops / 2, -stops / 2, -1.5 / 2]), atol=1e-12)
