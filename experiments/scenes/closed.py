"""Scenes of hard contact whose end is known in closed form."""

import jax.numpy as jnp

from difsim import MaxImpacts
from difsim.body import RigidBody, RigidState
from difsim.contact import Ball, Newton
from difsim.dynamics import (
    Bouncer,
    HardBody,
    HardState,
    PointState,
    TwoBalls,
    TwoBallState,
)
from difsim.gravity import Uniform
from difsim.shape import Plane
from experiments.scenes.draws import magnitude, uniform
from experiments.scenes.engines import Motion
from experiments.scenes.hard import IDENTITY, ZERO, motion_of_body, motion_of_point, vertical
from experiments.scenes.scene import Exact, Scene

EARTH = 9.81  # m/s²
FLOOR = Plane(ZERO, (0.0, 0.0, 1.0))
MOST_BOUNCES = 12
FALL_FROM = 1.2  # m, of the ball with which the benchmark counts bounces
ONCE = Motion(1e-10, 8, MaxImpacts(1))


def read_at_end(read):
    """Return a quantity of the last state."""
    return lambda model, solution, n: read(solution.last)


def zero(n):
    """Return 0, of what stays."""
    return jnp.zeros(())


def along_x(x):
    """Return (x, 0, 0)."""
    return x * jnp.array([1.0, 0.0, 0.0])


# A ball that bounces.


def bounce(n):
    """Return a point that falls on level ground."""
    model = Bouncer(Uniform((0.0, 0.0, -EARTH)), FLOOR, n["restitution"])
    return model, PointState(vertical(n["height"])), jnp.stack([0.0 * n["time"], n["time"]])


def bounced_height(n):
    """Return the height at the end: each flight begins e times as fast as the one before."""
    time, speed = n["time"] - jnp.sqrt(2 * n["height"] / EARTH), jnp.sqrt(2 * EARTH * n["height"])
    height = n["height"] - 0.5 * EARTH * n["time"] ** 2
    for _ in range(MOST_BOUNCES):
        speed = n["restitution"] * speed
        height = jnp.where(time > 0, speed * time - 0.5 * EARTH * time**2, height)
        time = time - 2 * speed / EARTH
    return height


def time_of_bounces(bounces: int) -> float:
    """Return a time in the flight after so many bounces from `FALL_FROM` with e = 0.8, s."""
    fall, e = (2 * FALL_FROM / EARTH) ** 0.5, 0.8
    return fall * (1 + 2 * sum(e**k for k in range(1, bounces)) + 0.8 * e**bounces)


BOUNCE = {
    "height": magnitude(0.8, 1.8),
    "restitution": uniform(0.7, 0.9),
    "time": uniform(0.9 * time_of_bounces(1), 1.1 * time_of_bounces(1)),
}
HEIGHT = Exact(
    "Derivatives", "bounces: height", read_at_end(lambda x: x.position[2]), bounced_height, 1e-9, "m", slope=1e-8
)
BOUNCING = Scene(
    "hard ball, bounces",
    BOUNCE,
    bounce,
    Motion(1e-10, 8, MaxImpacts(MOST_BOUNCES)),
    motion_of_point,
    exact=(HEIGHT,),
    cases=({"height": 1.2, "restitution": 0.8, "time": 1.0},),
)


def times_around_rest(n):
    """Return a point that falls, and the times of its tops, just before it rests and just after."""
    e, fall = n["restitution"], jnp.sqrt(2 * n["height"] / n["gravity"])
    powers = e ** jnp.arange(1, 13)
    tops = fall + 2 * fall * (jnp.cumsum(powers) - 0.5 * powers)
    end = fall * (1 + e) / (1 - e)
    model = Bouncer(Uniform(vertical(-n["gravity"])), FLOOR, e, rest_height=1e-14)
    times = jnp.concatenate([jnp.zeros(1), tops, jnp.stack([end - 1e-6, end + 1e-6])])
    return model, PointState(vertical(n["height"])), times


def flown_path(model, solution, n):
    """Return the path through the tops, and that of the bounces which come after them."""
    e, h = n["restitution"], n["height"]
    return h + 2 * jnp.sum(solution.states.position[1:13, 2]) + 2 * h * e**26 / (1 - e**2)


def last_height(model, solution, n):
    """Return the greatest height within a millionth of a second of the time of rest."""
    return jnp.max(jnp.abs(solution.states.position[-2:, 2]))


PATH = Exact(
    "Normal contact",
    "bouncing ball: path, h (1 + e²)/(1 - e²)",
    flown_path,
    lambda n: n["height"] * (1 + n["restitution"] ** 2) / (1 - n["restitution"] ** 2),
    1e-9,
    "m",
)
REST = Exact("Normal contact", "bouncing ball: height within 1e-6 s of its rest", last_height, zero, 1e-11, "m")
RESTING = Scene(
    "hard ball, comes to rest",
    {"gravity": uniform(9.61, 10.01), "height": uniform(0.5, 1.5), "restitution": uniform(0.5, 0.7)},
    times_around_rest,
    Motion(1e-10, 8, MaxImpacts(90), has_derivative=False),  # infinitely many bounces
    motion_of_point,
    exact=(PATH, REST),
)

# Friction.


def slide(n):
    """Return a point that slides on level ground until it stops."""
    model = Bouncer(Uniform((0.0, 0.0, -EARTH)), FLOOR, 0.5, n["friction"])
    return model, PointState(ZERO, along_x(n["speed"])), jnp.array([0.0, 1.0])


STOP = Exact(
    "Friction",
    "sliding point: way to the stop, v²/(2 μ g)",
    read_at_end(lambda x: x.position[0]),
    lambda n: n["speed"] ** 2 / (2 * n["friction"] * EARTH),
    5e-3,
    "m",
    True,
)
SLIDING = Scene(
    "hard point, slides to a stop",
    {"speed": uniform(0.5, 1.5), "friction": uniform(0.25, 0.35)},
    slide,
    Motion(1e-10, 8, MaxImpacts(4)),
    motion_of_point,
    exact=(STOP,),
)


def ball_model(n, gravity, restitution):
    """Return a homogeneous ball over level ground."""
    body = RigidBody(n["mass"], 0.4 * n["mass"] * n["radius"] ** 2 * jnp.eye(3))
    law = Newton(restitution, n["friction"], turns=0)
    return HardBody(body, Ball(n["radius"]), law, FLOOR, Uniform(vertical(-gravity)), 1e-12)


def slip(n):
    """Return a ball that slips on level ground, until it rolls and later."""
    start = HardState(RigidState(vertical(n["radius"]), along_x(n["speed"]), IDENTITY, ZERO))
    rolls = 2 * n["speed"] / (7 * n["friction"] * EARTH)
    return ball_model(n, jnp.asarray(EARTH), 0.6), start, rolls * jnp.array([0.0, 1.0, 4.0])


BALL = {"mass": uniform(1, 3), "radius": uniform(0.05, 0.15), "friction": uniform(0.25, 0.35)}
ROLL_PLACE = Exact(
    "Friction",
    "ball: place where it begins to roll, 12 v²/(49 μ g)",
    lambda model, solution, n: solution.states.body.position[1, 0],
    lambda n: 12 * n["speed"] ** 2 / (49 * n["friction"] * EARTH),
    1e-9,
    "m",
    slope=1e-7,
)
ROLL_SPEED = Exact(
    "Friction",
    "ball: speed as it rolls, 5 v/7",
    read_at_end(lambda x: x.body.velocity[0]),
    lambda n: 5 / 7 * n["speed"],
    1e-9,
    "m/s",
    slope=1e-7,
)
SLIPPING = Scene(
    "hard ball, slips and rolls",
    BALL | {"speed": uniform(0.5, 1.5)},
    slip,
    Motion(1e-10, 8, MaxImpacts(4)),
    motion_of_body,
    exact=(ROLL_PLACE, ROLL_SPEED),
)


def strike(n):
    """Return a ball that strikes the ground obliquely without gravity, half-way in its flight."""
    time = n["radius"] / n["down"]
    velocity = along_x(n["along"]) - vertical(n["down"])
    start = HardState(RigidState(vertical(2 * n["radius"]), velocity, IDENTITY, ZERO))
    return ball_model(n, jnp.zeros(()), n["restitution"]), start, time * jnp.array([0.0, 2.0])


def speed_after_strike(n):
    """Return the speed along the ground: it slides throughout, or it rolls."""
    kick = n["friction"] * (1 + n["restitution"]) * n["down"]
    return jnp.where(n["along"] > 3.5 * kick, n["along"] - kick, 5 / 7 * n["along"])


STRIKE_SPEED = Exact(
    "Friction",
    "oblique impact of a ball: speed along the ground",
    read_at_end(lambda x: x.body.velocity[0]),
    speed_after_strike,
    1e-12,
    "m/s",
    slope=1e-8,
)
STRIKE_SPIN = Exact(
    "Friction",
    "oblique impact of a ball: spin times radius, 5 (v - v')/2",
    lambda model, solution, n: solution.last.body.spin[1] * n["radius"],
    lambda n: 2.5 * (n["along"] - speed_after_strike(n)),
    1e-12,
    "m/s",
    slope=1e-8,
)
STRIKING = Scene(
    "hard ball, oblique impact",
    BALL | {"restitution": uniform(0.6, 0.8), "along": uniform(4, 6), "down": uniform(1.5, 2.5)},
    strike,
    ONCE,
    motion_of_body,
    exact=(STRIKE_SPEED, STRIKE_SPIN),
    cases=({"along": 4.0, "restitution": 0.7}, {"along": 1.0, "restitution": 0.7}),
)


def graze(n):
    """Return a point that is thrown down obliquely from 0.2 m."""
    model = Bouncer(Uniform((0.0, 0.0, -EARTH)), FLOOR, n["restitution"], n["friction"])
    state = PointState((0.0, 0.0, 0.2), along_x(n["along"]) - vertical(2.0))
    return model, state, jnp.array([0.0, 0.2])


GRAZE_SPEED = (2.0**2 + 2 * EARTH * 0.2) ** 0.5  # m/s, downwards at touch
GRAZE_TIME = (GRAZE_SPEED - 2.0) / EARTH  # s


def speed_after_graze(n):
    """Return the speed along the ground: v - μ (1 + e) v_n, or 0 where the point sticks."""
    return jnp.maximum(n["along"] - n["friction"] * (1 + n["restitution"]) * GRAZE_SPEED, 0.0)


GRAZE_PLACE = Exact(
    "Derivatives",
    "oblique impact of a point: place",
    read_at_end(lambda x: x.position[0]),
    lambda n: GRAZE_TIME * n["along"] + (0.2 - GRAZE_TIME) * speed_after_graze(n),
    1e-9,
    "m",
    slope=1e-8,
)
GRAZE_SPEED_AFTER = Exact(
    "Derivatives",
    "oblique impact of a point: speed",
    read_at_end(lambda x: x.velocity[0]),
    speed_after_graze,
    1e-9,
    "m/s",
    slope=1e-8,
)
GRAZING = Scene(
    "hard point, oblique impact",
    {"along": uniform(3.5, 4.5), "restitution": uniform(0.5, 0.7), "friction": uniform(0.2, 0.4)},
    graze,
    ONCE,
    motion_of_point,
    exact=(GRAZE_PLACE, GRAZE_SPEED_AFTER),
    cases=({"along": 4.0}, {"along": 1.0}),
)


def collide(n):
    """Return two balls of 0.1 m on a line."""
    model = TwoBalls(Newton(n["restitution"], turns=0), n["mass"], (0.1, 0.1))
    place, velocity = (x[:, None] * jnp.array([[1.0, 0.0, 0.0]]) for x in (n["place"], n["velocity"]))
    return model, TwoBallState(place, velocity), jnp.array([0.0, 1.0])


def place_after_collision(n):
    """Return the place of the second ball: it gets (1 + e) m₁/(m₁ + m₂) of the speed of approach."""
    closing = n["velocity"][0] - n["velocity"][1]
    touch = (n["place"][1] - n["place"][0] - 0.2) / closing
    gained = (1 + n["restitution"]) * n["mass"][0] / jnp.sum(n["mass"]) * closing
    return n["place"][1] + n["velocity"][1] + gained * (1 - touch)


SECOND = Exact(
    "Derivatives",
    "two balls: place of the second",
    read_at_end(lambda x: x.position[1, 0]),
    place_after_collision,
    1e-9,
    "m",
    slope=1e-8,
)
COLLIDING = Scene(
    "two hard balls on a line",
    {
        "place": uniform([-0.05, 0.5], [0.05, 0.54]),
        "velocity": uniform([0.9, -0.1], [1.1, 0.1]),
        "restitution": uniform(0.3, 0.9, most=1.0),
        "mass": uniform([0.8, 0.8], [1.2, 1.2]),
    },
    collide,
    Motion(1e-10, 8, MaxImpacts(1)),
    exact=(SECOND,),
    cases=({"place": (0.0, 0.52), "velocity": (1.0, 0.0), "restitution": 1.0, "mass": (1.0, 1.0)},),
)

SCENES = (COLLIDING, BOUNCING, RESTING, SLIDING, SLIPPING, STRIKING, GRAZING)
