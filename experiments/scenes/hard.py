"""Scenes of hard contact: points, balls and boxes that bounce, slide, roll and rest on the ground."""

from dataclasses import replace
from functools import partial

import jax.numpy as jnp

from difsim import MaxImpacts, Reverse, safe
from difsim.body import RigidBody, RigidState
from difsim.contact import Ball, Newton, Stronge, Vertices
from difsim.dynamics import Bouncer, HardBody, HardState, PointState
from difsim.gravity import PointMass, Uniform
from difsim.rotation import Rotation
from difsim.shape import Ellipsoid, Plane
from experiments.scenes.draws import direction, magnitude, normal, turn, uniform
from experiments.scenes.engines import Motion
from experiments.scenes.parts import (
    CORNERS,
    EARTH,
    IDENTITY,
    LEVEL,
    ZERO,
    motion_of_body,
    motion_of_point,
    until_time,
    vector,
)
from experiments.scenes.scene import NOTHING, Exact, Scene

# A fall from a height onto a slope, thrown with a speed like that of the fall. In units of the fall: velocity, time.
FALL = (
    magnitude(gravity=(1e-5, 10), height=(0.1, 30), rest_height=(1e-4, 1e-2))
    | normal(slope=(0.15, 2), velocity=(0.4, 3))
    | uniform(restitution=(0.02, 0.98, 0.0, 1.0), friction=(0, 1, 0.0), time=(0.3, 6))
)
# A body of about the height of its fall, which turns about once in it.
BODY = FALL | (
    uniform(edges=([0.2, 0.2, 0.2], [0.6, 0.7, 0.8]), friction=(0, 0.8, 0.0))
    | magnitude(mass=(0.1, 1e3))
    | turn(turn=())
    | normal(spin=(1, 3))
)


def fall_time(n):
    """Return the duration of the fall, s."""
    return jnp.sqrt(2 * n["height"] / n["gravity"])


def slope(n):
    """Return the plane through the origin with the normal (-∂h/∂x, -∂h/∂y, 1)."""
    return Plane(ZERO, jnp.append(-n["slope"], 1.0))


def drop_point(n, gravity, surface, place):
    fall = fall_time(n)
    model = Bouncer(gravity, surface, n["restitution"], n["friction"], n["height"] * n["rest_height"])
    return model, PointState(place, n["velocity"] * n["gravity"] * fall), until_time(n["time"] * fall)


def drop_on_slope(n):
    return drop_point(n, Uniform(vector(z=-n["gravity"])), slope(n), vector(z=n["height"]))


def drop_on_ellipsoid(n):
    """Return a point above an ellipsoid, whose attraction is that of its centre."""
    semi_axes = n["height"] * n["semi_axes"]
    reach = jnp.max(semi_axes)
    gravity = PointMass(n["gravity"] * reach**2, ZERO)
    return drop_point(n, gravity, Ellipsoid(semi_axes), (reach + n["height"]) * safe.unit(n["place"]))


def drop_body(n, outline, law):
    """Return a body above a slope: its centre as much above as its reach and the height."""
    edges, fall = n["height"] * n["edges"], fall_time(n)
    model = HardBody(
        RigidBody(n["mass"], n["mass"] / 12 * jnp.diag(jnp.sum(edges**2) - edges**2)),
        outline(edges),
        law(n["restitution"], n["friction"]),
        slope(n),
        Uniform(vector(z=-n["gravity"])),
        n["height"] * n["rest_height"],
    )
    place = vector(z=n["height"] + 1.5 * jnp.linalg.norm(edges) / 2)
    attitude = Rotation.from_rotation_vector(n["turn"])
    state = RigidState(place, n["velocity"] * n["gravity"] * fall, attitude, n["spin"] / fall)
    return model, HardState(state), until_time(n["time"] * fall)


def drop_ball(n):
    return drop_body(n, lambda edges: Ball(0.5 * jnp.min(edges)), Newton)


def drop_box(n):
    return drop_body(n, lambda edges: Vertices(CORNERS * edges[None]), Stronge)


def throw_point(n, times, **options):
    """Return a point that is thrown over level ground."""
    n = {"gravity": EARTH, "height": 0.0, "along": 0.0, "friction": 0.0} | n
    model = Bouncer(Uniform(vector(z=-n["gravity"])), LEVEL, n["restitution"], n["friction"], **options)
    return model, PointState(vector(z=n["height"]), vector(n["along"])), times


MOST_BOUNCES = 12
FLIGHT = 1.64 * (2 * 1.2 / EARTH) ** 0.5  # s, into the flight after a bounce from 1.2 m with e = 0.8
BOUNCE = magnitude(height=(0.8, 1.8)) | uniform(restitution=(0.7, 0.9), time=(0.9 * FLIGHT, 1.1 * FLIGHT))


def bounced_height(n):
    """Return the height at the end: each flight begins e times as fast as the one before."""
    time, speed = n["time"] - jnp.sqrt(2 * n["height"] / EARTH), jnp.sqrt(2 * EARTH * n["height"])
    height = n["height"] - 0.5 * EARTH * n["time"] ** 2
    for _ in range(MOST_BOUNCES):
        speed = n["restitution"] * speed
        height = jnp.where(time > 0, speed * time - 0.5 * EARTH * time**2, height)
        time = time - 2 * speed / EARTH
    return height


def come_to_rest(n):
    """Return a point that falls, and the times of its tops, just before it rests and just after."""
    e, fall = n["restitution"], fall_time(n)
    powers = e ** jnp.arange(1, 13)
    tops = fall + 2 * fall * (jnp.cumsum(powers) - 0.5 * powers)
    end = fall * (1 + e) / (1 - e)
    return throw_point(n, jnp.array([0.0, *tops, end - 1e-6, end + 1e-6]), rest_height=1e-14)


def way_to_rest(heights, n):
    """Return the way through the tops and of the bounces which come after them, and the height at the end."""
    e, h = n["restitution"], n["height"]
    return h + 2 * jnp.sum(heights[1:13]) + 2 * h * e**26 / (1 - e**2), jnp.max(jnp.abs(heights[-2:]))


BALL = uniform(mass=(1, 3), radius=(0.05, 0.15), friction=(0.25, 0.35))


def throw_ball(n, gravity, height, times):
    """Return a homogeneous ball that is thrown over level ground, along it and down."""
    body = RigidBody(n["mass"], 0.4 * n["mass"] * n["radius"] ** 2 * jnp.eye(3))
    law, field = Newton(n["restitution"], n["friction"], turns=0), Uniform(vector(z=-gravity))
    model = HardBody(body, Ball(n["radius"]), law, LEVEL, field, 1e-12)
    velocity = vector(n["along"], 0.0, -n["down"])
    return model, HardState(RigidState(vector(z=height), velocity, IDENTITY, ZERO)), times


def slip(n):
    """Return a ball that slips, until it rolls and later."""
    rolls = 2 * n["along"] / (7 * n["friction"] * EARTH)
    return throw_ball(
        n | {"restitution": 0.6, "down": 0.0}, EARTH, n["radius"], rolls * jnp.array([0.0, 1.0, 4.0])
    )


def strike(n):
    """Return a ball that strikes the ground obliquely without gravity, half-way in its flight."""
    return throw_ball(n, 0.0, 2 * n["radius"], until_time(2 * n["radius"] / n["down"], 2))


def speed_after_strike(n):
    """Return the speed along the ground: it slides throughout, or it rolls."""
    kick = n["friction"] * (1 + n["restitution"]) * n["down"]
    return jnp.where(n["along"] > 3.5 * kick, n["along"] - kick, 5 / 7 * n["along"])


def scene(observe, name, draws, build, impacts, exact=NOTHING, **options):
    return Scene(name, draws, build, Motion(1e-10, 8, MaxImpacts(impacts), **options), observe, exact=exact)


point, body = partial(scene, motion_of_point), partial(scene, motion_of_body)
BOUNCING_BALL = body("hard ball on a slope", BODY, drop_ball, 40, reverse=Reverse())
BOUNCING = point(
    "hard ball, bounces",
    BOUNCE,
    lambda n: throw_point(n, until_time(n["time"], 2)),
    MOST_BOUNCES,
    Exact(
        "Derivatives",
        {"bounces: height": ("m", 1e-9)},
        lambda s, n: [s.last.position[2]],
        lambda n: [bounced_height(n)],
        ({"height": 1.2, "restitution": 0.8, "time": 1.0},),
    ),
)
STRIKING = body(
    "hard ball, oblique impact",
    BALL | uniform(restitution=(0.6, 0.8), along=(4, 6), down=(1.5, 2.5)),
    strike,
    1,
    Exact(
        "Friction",
        {
            "oblique impact of a ball: speed along the ground": ("m/s", 1e-12),
            "oblique impact of a ball: spin times radius, 5 (v - v')/2": ("m/s", 1e-12),
        },
        lambda s, n: [s.last.body.velocity[0], s.last.body.spin[1] * n["radius"]],
        lambda n: [speed_after_strike(n), 2.5 * (n["along"] - speed_after_strike(n))],
        ({"along": 4.0, "restitution": 0.7}, {"along": 1.0, "restitution": 0.7}),
    ),
)
RESTING = point(
    "hard ball, comes to rest",
    uniform(gravity=(9.61, 10.01), height=(0.5, 1.5), restitution=(0.5, 0.7)),
    come_to_rest,
    90,
    Exact(
        "Normal contact",
        {
            "bouncing ball: path, h (1 + e²)/(1 - e²)": ("m", 1e-9),
            "bouncing ball: height within 1e-6 s of its rest": ("m", 1e-11),
        },
        lambda s, n: way_to_rest(s.states.position[:, 2], n),
        lambda n: [n["height"] * (1 + n["restitution"] ** 2) / (1 - n["restitution"] ** 2), 0.0],
    ),
    has_derivative=False,  # infinitely many bounces
)
SLIDING = point(
    "hard point, slides to a stop",
    uniform(along=(0.5, 1.5), friction=(0.25, 0.35)),
    lambda n: throw_point(n | {"restitution": 0.5}, until_time(1.0, 2)),
    4,
    Exact(
        "Friction",
        {"sliding point: way to the stop, v²/(2 μ g)": ("m", 5e-3)},
        lambda s, n: [s.last.position[0]],
        lambda n: [n["along"] ** 2 / (2 * n["friction"] * EARTH)],
    ),
)
SLIPPING = body(
    "hard ball, slips and rolls",
    BALL | uniform(along=(0.5, 1.5)),
    slip,
    4,
    Exact(
        "Friction",
        {
            "ball: place where it begins to roll, 12 v²/(49 μ g)": ("m", 1e-9),
            "ball: speed as it rolls, 5 v/7": ("m/s", 1e-9),
        },
        lambda s, n: [s.states.body.position[1, 0], s.last.body.velocity[0]],
        lambda n: [12 * n["along"] ** 2 / (49 * n["friction"] * EARTH), 5 / 7 * n["along"]],
    ),
)
# At its middle the box has not come to lie on several corners.
BOX = BODY | {"time": replace(FALL["time"], centre=1.5)}
ON_ELLIPSOID = FALL | uniform(semi_axes=([2, 2, 2], [5, 6, 6])) | direction("place")
SCENES = (
    point("hard point on a slope", FALL, drop_on_slope, 40, reverse=Reverse()),
    point("hard point on an ellipsoid", ON_ELLIPSOID, drop_on_ellipsoid, 40),
    BOUNCING_BALL,
    body("hard box on a slope", BOX, drop_box, 40),
    BOUNCING,
    RESTING,
    SLIDING,
    SLIPPING,
    STRIKING,
)
