"""Hard contact, event by event: bounces that accumulate, slides that stop, balls that roll, what is refused."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim import MaxImpacts, Status, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import Ball, Newton, Vertices
from difsim.dynamics import HardBody, HardState
from difsim.dynamics.hard import Phase
from difsim.gravity import Uniform
from difsim.shape import Box, GridSDF, Plane

G = 9.81

FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))

CORNERS = 0.05 * (2.0 * np.indices((2, 2, 2)).reshape(3, 8).T - 1)

DOWN = Uniform((0.0, 0.0, -G))


def throw(position, velocity, spin=(0.0, 0.0, 0.0)):
    return HardState(RigidState(position, velocity, (1.0, 0.0, 0.0, 0.0), spin))


def test_several_points_and_a_start_in_the_ground_are_statuses():
    """A cube that falls flat touches at four corners at once, which is beyond one held point."""
    cube = HardBody(RigidBody(1.0, jnp.eye(3) / 600), Vertices(CORNERS), Newton(0.5, 0.3, 0), FLOOR, DOWN)

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
