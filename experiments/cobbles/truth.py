"""The study's truth: free flight, one hard blow without friction, free flight.

A stand-in for a simulated collision, with the paper's initial states and very nearly its energy ratio: the point
of contact is off the line of centres by LEVER, which sets the cobbles spinning as the paper's do.
"""

from typing import NamedTuple

import jax.numpy as jnp

from difsim.body import RigidBody, RigidState
from difsim.rotation import inverse_rotate
from difsim.typing import Scalar, Vec3
from experiments.cobbles.arcs import coast
from experiments.cobbles.nominal import released
from experiments.cobbles.paper import INCLINATION, RESTITUTION

IMPACT = 0.85  # s: the middle of the .4 s that the paper leaves out
LEVER = (0.0, 0.003, 0.0045)  # m: 5.4 mm, at which CoR_E is the paper's .846 for alpha = 60 deg


class Flown(NamedTuple):
    """Two cobbles before and after the blow: states of both at t = 0 and at the start of the second arc."""

    released: tuple[RigidState, RigidState]
    rebounding: tuple[RigidState, RigidState]


def struck(
    body: RigidBody, first: RigidState, second: RigidState, point: Vec3, normal: Vec3, restitution: Scalar
) -> tuple[RigidState, RigidState]:
    """Both states after a frictionless blow at `point` along `normal` (from the second to the first).

    P = -(1 + e) v_n / (2/m + Σ (I⁻¹ (r × n))·(r × n)), with v_n the relative normal velocity of the points.
    **Raises:** nothing; the caller sees to it that they approach.
    """
    arms = [inverse_rotate(s.attitude, jnp.cross(point - s.position, normal)) for s in (first, second)]
    turns = [jnp.linalg.solve(body.inertia, arm) for arm in arms]
    speed = normal @ (first.velocity_at(point) - second.velocity_at(point))
    inverse_mass = 2 / body.mass + arms[0] @ turns[0] + arms[1] @ turns[1]
    impulse = -(1 + restitution) * speed / inverse_mass

    def after(state, sign, turn):
        kick = sign * impulse
        velocity = state.velocity + kick * normal / body.mass
        return RigidState(state.position, velocity, state.attitude, state.spin + kick * turn)

    return after(first, 1.0, turns[0]), after(second, -1.0, turns[1])


def flown(body: RigidBody, start: float, inclination: float = INCLINATION) -> Flown:
    """The truth of two equal cobbles; `start` s: when the second arc begins."""
    release = released(inclination)
    before = (release.first, release.second)
    at_impact = [_at(body, state, IMPACT) for state in before]
    normal = at_impact[0].position - at_impact[1].position
    normal = normal / jnp.linalg.norm(normal)
    point = (at_impact[0].position + at_impact[1].position) / 2 + jnp.array(LEVER)
    after = struck(body, *at_impact, point, normal, jnp.array(RESTITUTION))
    first, second = (_at(body, state, start - IMPACT) for state in after)
    return Flown(before, (first, second))


def _at(body: RigidBody, state: RigidState, after: float) -> RigidState:
    """The state `after` s later; 50 steps."""
    path = coast(body, state, jnp.linspace(0.0, after, 51))
    return RigidState(path.position[-1], path.velocity[-1], path.attitude[-1], path.spin[-1])
