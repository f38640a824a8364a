"""Slides that stop or begin to roll: value, derivative and rest, with any force across the slip."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from difsim import Adaptive, MaxImpacts, Status, safe, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import Ball, Newton
from difsim.dynamics import Bouncer, HardBody, HardState, PointState
from difsim.dynamics.hard import Phase
from difsim.gravity import Uniform
from difsim.shape import Plane, Sphere
from difsim.stepping.variational import build_plain, scales_of
from tests.helpers import approx
from tests.ways import impacts

EAST = jnp.array([0.0, 1.0, 0.0])


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


def slide(p, time):
    """Where a point is that starts on a slope: (down, across) by (tilt, friction, speed down, speed across)."""
    tilt, friction, down, across = p
    normal, fall = slope_axes(tilt)
    model = Bouncer(Uniform((0.0, 0.0, -1.0)), Plane(jnp.zeros(3), normal), 0.5, friction)
    times = jnp.stack([0.0 * time, time])
    start = PointState(jnp.zeros(3), down * fall + across * EAST)
    solution = simulate(model, start, times, **impacts(5), throw=False)
    x = solution.last.position
    return jnp.stack([x @ fall, x @ EAST]), solution


slid_by = eqx.filter_jit(lambda p, time: jax.jacfwd(lambda p: slide(p, time), has_aux=True)(p))


def differences(f, p, step=1e-3):
    """Central differences of sixth order."""

    def column(shift):
        return (
            sum(c * (f(p + k * shift) - f(p - k * shift)) for k, c in ((1, 0.75), (2, -0.15), (3, 1 / 60))) / step
        )

    return np.stack([column(shift) for shift in step * np.eye(len(p))], axis=1)


FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


@pytest.mark.parametrize("case", [(np.radians(10), 0.5, 0.0, 1.0), (0.2, 0.6, 0.7, -0.7), (0.3, 0.42, 0.1, 0.5)])
def test_a_slide_across_a_slope_stops_where_it_must(case):
    """Value and derivative by tilt, friction and velocity, against the motion in scaled time."""
    p = np.array(case)
    place, time = slide_to_stop(p)[:2], slide_to_stop(p)[2]
    by_p, solution = slid_by(jnp.asarray(p), jnp.asarray(1.5 * time))
    assert solution.status == Status.OK and solution.last.phase == Phase.STICKING
    assert (np.asarray(solution.last.velocity) == 0).all()
    found = slide(jnp.asarray(p), jnp.asarray(1.5 * time))[0]
    np.testing.assert_allclose(found, place, atol=1e-9)
    exact = differences(lambda q: slide_to_stop(q)[:2], p)
    np.testing.assert_allclose(by_p, exact, atol=2e-8 * np.abs(exact).max())


def test_the_derivative_of_a_run_that_ends_at_the_stop():
    """The place's derivative goes on through the stop; the flag counts the slide."""
    p = np.array([np.radians(10), 0.5, 0.0, 1.0])
    stop = slide_to_stop(p)[2]
    at, solution = slid_by(jnp.asarray(p), jnp.asarray(stop))
    later, _ = slid_by(jnp.asarray(p), jnp.asarray(1.5 * stop))
    np.testing.assert_allclose(at, later, atol=1e-6 * np.abs(later).max())
    assert solution.status == Status.OK and solution.validity.contacts >= 1
    assert solution.validity.growth < solution.validity.limit


@pytest.mark.parametrize("across", [2e-6, 1e-5, 1e-4])
def test_a_slide_that_nearly_stops_and_turns_back(across):
    """It slips by 1e-7 to 1e-5 of its speed as it turns: what of it goes across keeps its derivative."""
    p, time = np.array([0.3, 0.05, -1.0, across]), 8.0

    def slope(k, step):
        ends = [slide_exactly(p + step * way * np.eye(4)[k], 1e3, time)[:2] for way in (-1, 1)]
        return (ends[1] - ends[0]) / (2 * step)

    steps = [1e-4, 1e-4, 1e-4, 0.02 * across]
    exact = np.stack([(4 * slope(k, step / 2) - slope(k, step)) / 3 for k, step in enumerate(steps)], axis=1)
    slopes, solution = slid_by(jnp.asarray(p), jnp.asarray(time))
    assert solution.status == Status.OK
    np.testing.assert_allclose(solution.last.position @ EAST, slide_exactly(p, 1e3, time)[1], atol=1e-4 * across)
    for found, by in zip(slopes, exact, strict=True):
        np.testing.assert_allclose(found, by, atol=2e-5 * np.abs(by).max())


def test_a_slide_that_does_not_end_has_a_derivative():
    """The pull to a slope is constant, so the root of what ends a slide is nowhere, or by rounding at 1e20 s."""
    turns = (0.9, 0.1, -0.3, 0.3), (0.5, 0.5, 0.5, -0.5), (0.7, 0.1, -0.5, 0.5)
    assert max(map(find_end_of_endless_slide, turns)) > 1e12


def find_end_of_endless_slide(attitude):
    """The time of the root, after a check of the derivative where it is not taken."""
    normal, fall = slope_axes(jnp.array(0.3))
    model = HardBody(
        RigidBody(2.0, np.diag([8e-3, 9e-3, 1e-2])),
        Ball(0.1),
        Newton(0.3, 0.05),
        Plane(jnp.zeros(3), normal),
        Uniform((0.0, 0.0, -1.0)),
    )
    body = RigidState(0.1 * normal, fall + 0.3 * EAST, attitude, (0.2, -0.5, 0.1))
    slip = body.velocity + jnp.cross(body.rotation @ body.spin, -0.1 * normal)
    state = HardState(body, jnp.array(float(Phase.SLIDING)), safe.unit(slip))
    model, state = jax.tree.map(jnp.asarray, (model, state))
    scales = scales_of(model, jnp.array(0.0), state)

    @jax.jit
    def pull(model, z, there):
        def end(model, z):
            t = jnp.array(3.0)
            return build_plain(model, scales).find_landing(
                t, z, lambda model, t, state: model.boundary(t, state), there
            )[:2]

        (t, z), pull = jax.vjp(end, model, z)
        return t, z, pull((jnp.ones_like(t), jnp.ones_like(z)))

    z = scales.numbers(state)[None]
    far, _, _ = pull(model, z, True)
    t, same, (by_model, by_z) = pull(model, z, False)
    assert t == 3.0 and (same == z).all() and (by_z == 1).all()
    assert all((x == 0).all() for x in jax.tree.leaves(by_model))
    return abs(far)


@pytest.mark.parametrize("radius, gravity", [(1.0, 1.0), (1e3, 1e-4), (1e4, 1e-3)])
def test_a_point_lifts_off_from_convex_ground(radius, gravity):
    """Without friction, where v² = g n̂·ẑ r: from there on it falls freely, after a gap that grows as t³."""
    speed = (radius * gravity) ** 0.5
    model = Bouncer(Uniform((0.0, 0.0, -gravity)), Sphere((0.0, 0.0, 0.0), radius), 0.5)
    start = PointState(
        radius * jnp.array([np.sin(0.1), 0.0, np.cos(0.1)]),
        0.3 * speed * jnp.array([np.cos(0.1), 0.0, -np.sin(0.1)]),
    )
    times = jnp.array([0.0, 2.0 * radius / speed])
    end = simulate(
        model,
        start,
        times,
        solver=Adaptive(1e-10, 1e-10, order=8, max_steps=100),
        until=MaxImpacts(4),
        throw=False,
    )
    assert end.status == Status.OK and end.last.phase == Phase.FLIGHT
    energy = 0.5 * end.last.velocity @ end.last.velocity + gravity * end.last.position[2]
    assert energy == approx(0.5 * 0.09 * speed**2 + gravity * radius * np.cos(0.1), rel=1e-9)
    assert model.surface.distance(end.last.position) > 0.05 * radius


def test_a_run_that_fails_tries_nothing_more():
    model = Bouncer(Uniform((0.0, 0.0, -1.0)), Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), 0.9)
    end = simulate(
        model,
        PointState((0.0, 0.0, 1.0)),
        jnp.array([0.0, 60.0]),
        solver=Adaptive(1e-10, 1e-10, order=8, max_steps=2),
        until=MaxImpacts(50),
        throw=False,
    )
    assert end.status == Status.STEP_LIMIT and end.stats.steps <= 2


@pytest.mark.parametrize("slip", [0.0, 1e-9, 2e-6, 3e-5])
def test_an_impact_that_leaves_hardly_any_slip_ends_at_rest(slip):
    """Less than the least slip is no slide: the end of such a one was never found."""
    model = Bouncer(Uniform((0.0, 0.0, -9.81)), FLOOR, 0.0, 0.5)
    start = PointState((0.0, 0.0, 0.0), (0.5 + slip, 0.0, -1.0))
    end = simulate(model, start, jnp.array([0.0, 60.0]), **impacts(5), throw=False)  # the program of `slide`
    assert end.status == Status.OK and end.last.phase == Phase.STICKING and (end.last.velocity == 0).all()
    assert end.stats.steps < 1000
    np.testing.assert_allclose(
        end.last.position[0], slip**2 / (2 * 0.5 * 9.81), atol=2.1e-12
    )  # 1e-6 μ⁻¹ rest_height
