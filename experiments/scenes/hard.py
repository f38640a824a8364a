"""Scenes of hard contact: points, balls and boxes that bounce, slide and rest, and two balls."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np

from difsim import MaxImpacts, Reverse, safe
from difsim.body import RigidBody, RigidState
from difsim.contact import Ball, Newton, Stronge, Vertices
from difsim.dynamics import Bouncer, HardBody, HardState, PointState, TwoBalls, TwoBallState
from difsim.gravity import PointMass, Uniform
from difsim.rotation import Rotation
from difsim.shape import Ellipsoid, Plane
from experiments.scenes.draws import direction, magnitude, normal, turn, uniform
from experiments.scenes.engines import Motion
from experiments.scenes.scene import Scene, until_time

CORNERS = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3, indexing="ij"), axis=-1).reshape(8, 3)  # of the unit cube
IDENTITY, ZERO = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
IMPACTS = Motion(1e-10, 8, MaxImpacts(40))
BOTH_WAYS = Motion(1e-10, 8, MaxImpacts(40), Reverse())

# A fall from a height onto a slope, thrown with a speed like that of the fall. In units of the fall: velocity, time.
FALL = {
    "gravity": magnitude(1e-5, 10),
    "height": magnitude(0.1, 30),
    "slope": normal(0.15, 2),
    "velocity": normal(0.4, 3),
    "restitution": uniform(0.02, 0.98, least=0.0, most=1.0),
    "friction": uniform(0, 1, least=0.0),
    "rest_height": magnitude(1e-4, 1e-2),
    "time": uniform(0.3, 6),
}


def vertical(x):
    """Return (0, 0, x)."""
    return x * jnp.array([0.0, 0.0, 1.0])


def fall_time(n):
    """Return the duration of the fall, s."""
    return jnp.sqrt(2 * n["height"] / n["gravity"])


def slope(n):
    """Return the plane through the origin with the normal (-∂h/∂x, -∂h/∂y, 1)."""
    return Plane(jnp.zeros(3), jnp.append(-n["slope"], 1.0))


def drop_point(n, gravity, surface, place):
    """Return a point above a surface."""
    fall = fall_time(n)
    model = Bouncer(gravity, surface, n["restitution"], n["friction"], n["height"] * n["rest_height"])
    return model, PointState(place, n["velocity"] * n["gravity"] * fall), until_time(n["time"] * fall)


def point_on_slope(n):
    """Return a point above a slope."""
    return drop_point(n, Uniform(vertical(-n["gravity"])), slope(n), vertical(n["height"]))


def point_on_ellipsoid(n):
    """Return a point above an ellipsoid, whose attraction is that of its centre."""
    semi_axes = n["height"] * n["semi_axes"]
    reach = jnp.max(semi_axes)
    gravity = PointMass(n["gravity"] * reach**2, jnp.zeros(3))
    return drop_point(n, gravity, Ellipsoid(semi_axes), (reach + n["height"]) * safe.unit(n["place"]))


# A body of about the height of its fall, which turns about once in it.
BODY = FALL | {
    "edges": uniform([0.2, 0.2, 0.2], [0.6, 0.7, 0.8]),
    "mass": magnitude(0.1, 1e3),
    "turn": turn(),
    "spin": normal(1, 3),
    "friction": uniform(0, 0.8, least=0.0),
}


def body_on_slope(n, outline, law):
    """Return a body with an outline above a slope: its centre as much above as its reach and the height."""
    edges, fall = n["height"] * n["edges"], fall_time(n)
    model = HardBody(
        RigidBody(n["mass"], n["mass"] / 12 * jnp.diag(jnp.sum(edges**2) - edges**2)),
        outline(edges),
        law(n["restitution"], n["friction"]),
        slope(n),
        Uniform(vertical(-n["gravity"])),
        n["height"] * n["rest_height"],
    )
    place = vertical(n["height"] + 1.5 * jnp.linalg.norm(edges) / 2)
    attitude = Rotation.from_rotation_vector(n["turn"])
    state = RigidState(place, n["velocity"] * n["gravity"] * fall, attitude, n["spin"] / fall)
    return model, HardState(state), until_time(n["time"] * fall)


def ball_on_slope(n):
    """Return a ball, whose moments of inertia differ."""
    return body_on_slope(n, lambda edges: Ball(0.5 * jnp.min(edges)), Newton)


def box_on_slope(n):
    """Return a box, by the energetic law."""
    return body_on_slope(n, lambda edges: Vertices(CORNERS * edges[None]), Stronge)


# Two balls that fly at each other, most of them not centrally. In units of their radii and of their speed.
BALLS = {
    "mass": magnitude(0.1, 100, (2,)),
    "radius": magnitude(0.05, 2, (2,)),
    "towards": direction(),
    "aside": direction(),
    "offset": uniform(0, 1.1),
    "apart": uniform(1.2, 4),
    "speed": magnitude(1e-3, 10),
    "drift": normal(1, 3),
    "spin": normal(1, (2, 3)),
    "restitution": uniform(0, 1, least=0.0, most=1.0),
    "friction": uniform(0, 1, least=0.0),
    "time": uniform(0.5, 2),
}


def two_balls(n):
    """Return both in free space."""
    reach, speed, towards = jnp.sum(n["radius"]), n["speed"], safe.unit(n["towards"])
    second = reach * (n["apart"] * towards + n["offset"] * jnp.cross(towards, n["aside"]))
    velocity = speed * (jnp.stack([jnp.zeros(3), -towards]) + n["drift"][None])
    model = TwoBalls(Newton(n["restitution"], n["friction"], turns=0), n["mass"], n["radius"])
    state = TwoBallState(jnp.stack([jnp.zeros(3), second]), velocity, speed / reach * n["spin"])
    return model, state, until_time(n["time"] * n["apart"] * reach / speed)


def balls_momenta(model, solution):
    """Return momentum and angular momentum about the origin."""
    states, reach = solution.states, jnp.max(jnp.abs(solution.states.position)) + jnp.sum(model.radius)
    push = jnp.max(jnp.sum(model.mass[None] * safe.norm(states.velocity), axis=1))
    momentum = jnp.einsum("b,tbi->ti", model.mass, states.velocity)
    orbital = jnp.einsum("b,tbi->ti", model.mass, jnp.cross(states.position, states.velocity))
    spin = jnp.einsum("b,tbi->ti", 0.4 * model.mass * model.radius**2, states.spin)
    return [(momentum, push), (orbital + spin, push * reach)]


def motion_of_point(state):
    """Return position and velocity of a point."""
    return state.position, state.velocity


def motion_of_body(state):
    """Return the motion of a rigid body, without its phase of contact."""
    return state.body


# At its middle the box has not come to lie on several corners.
BOX = BODY | {"time": replace(FALL["time"], centre=1.5)}
ON_ELLIPSOID = FALL | {"semi_axes": uniform([2, 2, 2], [5, 6, 6]), "place": direction()}
SCENES = (
    Scene("hard point on a slope", FALL, point_on_slope, BOTH_WAYS, motion_of_point),
    Scene("hard point on an ellipsoid", ON_ELLIPSOID, point_on_ellipsoid, IMPACTS, motion_of_point),
    Scene("hard ball on a slope", BODY, ball_on_slope, BOTH_WAYS, motion_of_body),
    Scene("hard box on a slope", BOX, box_on_slope, IMPACTS, motion_of_body),
    Scene(
        "two hard balls", BALLS, two_balls, Motion(1e-10, 5, MaxImpacts(40), Reverse()), conserved=balls_momenta
    ),
)
