"""Slides that stop or begin to roll: value, derivative and rest, with any force across the slip."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import MaxImpacts, Status, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import Ball, Newton, Vertices
from difsim.dynamics import Bouncer, HardBody, HardState, PointState
from difsim.dynamics.hard import Phase
from difsim.gravity import Uniform
from difsim.shape import Box, GridSDF
from tests.helpers import approx
from tests.more.test_sliding import FLOOR, slide


def test_a_force_across_the_slip_turns_it_and_its_derivative():
    """y = g_y u²/(4 μ² g²) for a small g_y, exact in the limit."""

    @eqx.filter_jit
    def deflect(friction):
        def end(side):
            gravity = Uniform(jnp.stack([0.0 * side, side, -1.0 + 0.0 * side]))
            model, times = Bouncer(gravity, FLOOR, 0.5, friction), jnp.stack([0.0 * friction, 3 / friction])
            start = PointState((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
            solution = simulate(model, start, times, until=MaxImpacts(5), throw=False)
            return solution.last.position[1], solution

        return jax.jacfwd(end, has_aux=True)(jnp.array(0.0))

    for friction in (0.1, 0.2, 0.3, 0.5, 0.7, 1.0):
        found, solution = deflect(jnp.array(friction))
        assert solution.status == Status.OK and solution.last.phase == Phase.STICKING
        assert found == approx(1 / (4 * friction**2), rel=1e-8)


@jax.jit
def differentiate_by_start(z0, vx, vz, friction, time):
    """Derivatives of the place at `time` s by the height and the velocity along x, for rows of thrown points."""

    def place(z0, vx, vz, friction, time):
        model = Bouncer(Uniform((0.0, 0.0, -1.0)), FLOOR, 0.5, friction)
        start = PointState(jnp.stack([0 * z0, 0 * z0, z0]), jnp.stack([vx, 0 * vx, vz]))
        end = simulate(model, start, jnp.stack([0 * time, time]), until=MaxImpacts(3), throw=False)
        return end.last.position, end.status

    return jax.vmap(jax.jacfwd(place, (0, 1), has_aux=True))(z0, vx, vz, friction, time)


def test_impact_without_slip_removes_the_would_be_slip():
    """A ball that falls straight down: x = v_x t until the impact, where friction stops any small v_x."""
    sideways, two = jnp.array([0.0, 1e-7]), jnp.ones(2)
    (_, slope), status = differentiate_by_start(0.5 * two, sideways, 0.0 * two, 0.5 * two, 1.5 * two)
    assert (status == Status.OK).all()
    np.testing.assert_allclose(slope[:, 0], 1.0, rtol=1e-10)


def test_a_start_that_comes_down_on_the_ground_moves_its_touch():
    """By the height: dz/dz₀ of a point that touches at once, one-sided differences from above."""
    heights, two = jnp.array([0.0, 1e-8]), jnp.ones(2)
    (slope, _), _ = differentiate_by_start(heights, 0.0 * two, -two, 0.0 * two, 0.3 * two)
    found, beside = slope[:, 2]
    # z = v (t - z₀) - (t - z₀)²/2 with v = e √(1 + 2 z₀).
    assert found == approx(0.5 * 0.3 - 0.5 + 0.3, abs=1e-9) and found == approx(beside, abs=1e-7)


def test_start_on_a_slope_is_on_the_ground_despite_rounding():
    """A velocity along the slope leaves it, or goes into it, by a rounding."""

    @jax.jit
    def start_many(tilts):
        def one(tilt):
            _, solution = slide(jnp.stack([tilt, 3 * jnp.tan(tilt), 0.3, 0.8]), jnp.asarray(0.1))
            return solution.status, solution.last.phase

        return jax.lax.map(one, tilts)

    status, phase = start_many(jnp.linspace(0.03, 0.5, 64))
    assert (status == Status.OK).all() and (phase != Phase.FLIGHT).all()


CORNERS = 0.05 * (2.0 * np.indices((2, 2, 2)).reshape(3, 8).T - 1)


def throw(position, velocity, spin=(0.0, 0.0, 0.0)):
    return HardState(RigidState(position, velocity, (1.0, 0.0, 0.0, 0.0), spin))


def test_several_points_and_a_start_in_the_ground_are_statuses():
    """A cube that falls flat touches at four corners at once, which is beyond one held point."""
    cube = HardBody(
        RigidBody(1.0, jnp.eye(3) / 600), Vertices(CORNERS), Newton(0.5, 0.3, 0), FLOOR, Uniform((0.0, 0.0, -9.81))
    )

    @eqx.filter_jit
    def run(height):
        start = throw(jnp.array([0.0, 0.0, 1.0]) * height, (0.0, 0.0, 0.0))
        return simulate(cube, start, jnp.array([0.0, 0.5]), until=MaxImpacts(5), throw=False).status

    assert run(jnp.array(0.15)) == Status.SEVERAL_POINTS
    assert run(jnp.array(0.04)) == Status.INSIDE


def test_a_ball_rolls_over_the_ripple_of_a_table():
    """The spacing is twice its radius: what the table ripples is no second point. x = v t₁ + 5/7 v (t - t₁)."""
    table = GridSDF.from_sdf(Box((1.0, 1.0, 0.5)), (-1.0, -1.0, -0.5), (1.0, 1.0, 0.5), 0.2)
    model = HardBody(
        RigidBody(2.0, 8e-3 * jnp.eye(3)), Ball(0.1), Newton(0.5, 0.3, turns=0), table, Uniform((0.0, 0.0, -1.0))
    )
    start = throw((0.0, 0.1, 0.8), (0.1, 0.05, 0.0))
    solution = simulate(model, start, jnp.array([0.0, 2.5]), until=MaxImpacts(20), throw=False)
    fall = np.sqrt(0.4)
    way = fall + 5 / 7 * (2.5 - fall)
    assert solution.status == Status.OK and solution.last.phase == Phase.STICKING
    np.testing.assert_allclose(solution.last.body.position, [0.1 * way, 0.1 + 0.05 * way, 0.6], atol=2e-3)
