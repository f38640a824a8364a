"""Scenes of hard contact and of free bodies whose end is known in closed form."""

import jax
import jax.numpy as jnp

from difsim import MaxImpacts
from difsim.body import RigidBody, RigidState
from difsim.contact import Ball, Newton
from difsim.dynamics import (
    AbstractModel,
    Approach,
    Bouncer,
    Flight,
    FlightState,
    HardBody,
    HardState,
    PointState,
    TwoBalls,
    TwoBallState,
)
from difsim.gravity import PointMass, Uniform
from difsim.rotation import Rotation
from difsim.shape import Plane, Sphere
from experiments.scenes.draws import magnitude, uniform
from experiments.scenes.engines import Motion
from experiments.scenes.hard import IDENTITY, ZERO, motion_of_body, motion_of_point, upwards
from experiments.scenes.scene import Exact, Scene

EARTH = 9.81  # m/s²
FLOOR = Plane(ZERO, (0.0, 0.0, 1.0))
MOST_BOUNCES = 12
FALL_FROM = 1.2  # m, of the ball with which the benchmark counts bounces
ONCE = Motion(1e-10, 8, MaxImpacts(1))


def at_end(read):
    """Return a quantity of the last state."""
    return lambda model, solution, n: read(solution.last)


def nothing(n):
    """Return 0, of what stays."""
    return jnp.zeros(())


def along_x(x):
    """Return (x, 0, 0)."""
    return x * jnp.array([1.0, 0.0, 0.0])


# A ball that bounces.


def bounce(n):
    """Return a point that falls on level ground."""
    model = Bouncer(Uniform((0.0, 0.0, -EARTH)), FLOOR, n["restitution"])
    return model, PointState(upwards(n["height"])), jnp.stack([0.0 * n["time"], n["time"]])


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
    "Derivatives", "bounces: height", at_end(lambda x: x.position[2]), bounced_height, 1e-9, "m", slope=1e-8
)
BOUNCING = Scene(
    "hard ball, bounces",
    BOUNCE,
    bounce,
    Motion(1e-10, 8, MaxImpacts(MOST_BOUNCES)),
    motion_of_point,
    exact=(HEIGHT,),
    cases=({"height": 1.2, "restitution": 0.8, "time": 1.0},),
    is_quick=True,
)


def come_to_rest(n):
    """Return a point that falls, and the times of its tops, just before it rests and just after."""
    e, fall = n["restitution"], jnp.sqrt(2 * n["height"] / n["gravity"])
    powers = e ** jnp.arange(1, 13)
    tops = fall + 2 * fall * (jnp.cumsum(powers) - 0.5 * powers)
    end = fall * (1 + e) / (1 - e)
    model = Bouncer(Uniform(upwards(-n["gravity"])), FLOOR, e, rest_height=1e-14)
    times = jnp.concatenate([jnp.zeros(1), tops, jnp.stack([end - 1e-6, end + 1e-6])])
    return model, PointState(upwards(n["height"])), times


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
REST = Exact("Normal contact", "bouncing ball: height within 1e-6 s of its rest", last_height, nothing, 1e-11, "m")
RESTING = Scene(
    "hard ball, comes to rest",
    {"gravity": uniform(9.61, 10.01), "height": uniform(0.5, 1.5), "restitution": uniform(0.5, 0.7)},
    come_to_rest,
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
    at_end(lambda x: x.position[0]),
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
    return HardBody(body, Ball(n["radius"]), law, FLOOR, Uniform(upwards(-gravity)), 1e-12)


def slip(n):
    """Return a ball that slips on level ground, until it rolls and later."""
    start = HardState(RigidState(upwards(n["radius"]), along_x(n["speed"]), IDENTITY, ZERO))
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
    at_end(lambda x: x.body.velocity[0]),
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
    velocity = along_x(n["along"]) - upwards(n["down"])
    start = HardState(RigidState(upwards(2 * n["radius"]), velocity, IDENTITY, ZERO))
    return ball_model(n, jnp.zeros(()), n["restitution"]), start, time * jnp.array([0.0, 2.0])


def speed_after_strike(n):
    """Return the speed along the ground: it slides throughout, or it rolls."""
    kick = n["friction"] * (1 + n["restitution"]) * n["down"]
    return jnp.where(n["along"] > 3.5 * kick, n["along"] - kick, 5 / 7 * n["along"])


STRIKE_SPEED = Exact(
    "Friction",
    "oblique impact of a ball: speed along the ground",
    at_end(lambda x: x.body.velocity[0]),
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
    state = PointState((0.0, 0.0, 0.2), along_x(n["along"]) - upwards(2.0))
    return model, state, jnp.array([0.0, 0.2])


GRAZE_SPEED = (2.0**2 + 2 * EARTH * 0.2) ** 0.5  # m/s, downwards at touch
GRAZE_TIME = (GRAZE_SPEED - 2.0) / EARTH  # s


def speed_after_graze(n):
    """Return the speed along the ground: v - μ (1 + e) v_n, or 0 where the point sticks."""
    return jnp.maximum(n["along"] - n["friction"] * (1 + n["restitution"]) * GRAZE_SPEED, 0.0)


GRAZE_PLACE = Exact(
    "Derivatives",
    "oblique impact of a point: place",
    at_end(lambda x: x.position[0]),
    lambda n: GRAZE_TIME * n["along"] + (0.2 - GRAZE_TIME) * speed_after_graze(n),
    1e-9,
    "m",
    slope=1e-8,
)
GRAZE_SPEED_AFTER = Exact(
    "Derivatives",
    "oblique impact of a point: speed",
    at_end(lambda x: x.velocity[0]),
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
    at_end(lambda x: x.position[1, 0]),
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
    is_quick=True,
)

# Free bodies.


class FreeBody(AbstractModel):
    """A rigid body without forces."""

    body: RigidBody

    def vector_field(self, t, state):
        return self.body.derivative(state, jnp.zeros(3), jnp.zeros(3), jnp.zeros(3))

    def approach(self, t, state):
        return Approach(gap=jnp.array(jnp.inf), speed=jnp.array(1.0), resolution=jnp.array(1.0))

    def energy(self, t, state):
        return {"kinetic": self.body.kinetic_energy(state)}


def spin_freely(inertia, spin, end):
    """Return a body that turns freely."""
    state = RigidState(ZERO, ZERO, IDENTITY, spin)
    return FreeBody(RigidBody(1.0, jnp.diag(inertia))), state, end * jnp.linspace(0.0, 1.0, 61)


def spin_symmetric(n):
    """Return a symmetric top that turns for 30 s."""
    return spin_freely(jnp.stack([n["equator"], n["equator"], n["pole"]]), n["spin"], 30.0)


def spin_asymmetric(n):
    """Return an asymmetric top that turns for half a period."""
    return spin_freely(n["inertia"], n["spin"], half_period(n))


def top_momentum(model, solution):
    """Return the angular momentum about the centre, in the frame that does not turn."""
    states = solution.states
    momentum = jax.vmap(lambda q, spin: Rotation(q) @ (model.body.inertia @ spin))(states.attitude, states.spin)
    return [(momentum, jnp.max(jnp.abs(momentum)))]


def precession(n):
    """Return the rate at which the spin of a symmetric top turns in the body, rad/s: (I₃ - I₁) ω₃/I₁."""
    return (n["pole"] - n["equator"]) * n["spin"][2] / n["equator"]


def turned_spin(model, solution, n):
    """Return the rate at which the spin turned in the body."""
    spin = solution.states.spin
    return jnp.sum(jnp.diff(jnp.unwrap(jnp.arctan2(spin[:, 1], spin[:, 0])))) / solution.times[-1]


def half_period(n):
    """Return 2 K(m)/p, the time in which the spin about the middle axis changes its sign, s.

    K by the mean of Gauss; the body turns about the axis of its least moment of inertia or of its greatest.
    """
    least, middle, greatest = n["inertia"]
    energy, momentum = jnp.sum(n["inertia"] * n["spin"] ** 2), jnp.sum((n["inertia"] * n["spin"]) ** 2)
    turns_about_greatest = momentum > energy * middle
    low, high = momentum - energy * least, energy * greatest - momentum
    up, down = greatest - middle, middle - least
    rate = jnp.where(turns_about_greatest, up * low, down * high) / (least * middle * greatest)
    m = jnp.where(turns_about_greatest, down * high / (up * low), up * low / (down * high))
    a, b = jnp.ones_like(m), jnp.sqrt(1 - m)
    for _ in range(6):
        a, b = 0.5 * (a + b), jnp.sqrt(a * b)
    return jnp.pi / (a * jnp.sqrt(rate))


def measured_half_period(model, solution, n):
    """Return the time in which the spin about the middle axis changed its sign, by one step of Newton's method."""
    first, last, inertia = solution.states.spin[0], solution.last.spin, n["inertia"]
    rate = (inertia[2] - inertia[0]) * last[2] * last[0] / inertia[1]
    return solution.times[-1] - (last[1] + first[1]) / rate


def drift_of_momentum(model, solution, n):
    """Return the largest change of |L| as a share of it."""
    size = jnp.linalg.norm(solution.states.spin @ model.body.inertia, axis=1)
    return jnp.max(jnp.abs(size / size[0] - 1))


def drift_of_energy(model, solution, n):
    """Return the largest change of the kinetic energy as a share of it."""
    energy = jnp.sum((solution.states.spin @ model.body.inertia) * solution.states.spin, axis=1)
    return jnp.max(jnp.abs(energy / energy[0] - 1))


STRICT = Motion(1e-12, 8)
PRECESSION = Exact(
    "Rigid body", "symmetric top: body precession", turned_spin, precession, 1e-9, "rad/s", slope=1e-7
)
HALF_PERIOD = Exact(
    "Rigid body",
    "asymmetric top: half-period of the middle axis",
    measured_half_period,
    half_period,
    2e-9,
    "s",
    True,
)
MOMENTUM = Exact("Rigid body", "asymmetric top: drift of |L|", drift_of_momentum, nothing, 1e-10)
ENERGY = Exact("Rigid body", "asymmetric top: drift of the kinetic energy", drift_of_energy, nothing, 1e-10)
TOPS = (
    Scene(
        "free top, symmetric",
        {
            "spin": uniform([0.2, 0.0, 0.9], [0.4, 0.0, 1.3]),
            "equator": uniform(1.9, 2.1),
            "pole": uniform(2.9, 3.1),
        },
        spin_symmetric,
        STRICT,
        conserved=top_momentum,
        exact=(PRECESSION,),
    ),
    Scene(
        "free top, asymmetric",
        {"spin": uniform([0.4, 0.9, 0.8], [0.6, 1.1, 1.0]), "inertia": uniform([0.9, 1.9, 2.5], [1.1, 2.1, 2.7])},
        spin_asymmetric,
        STRICT,
        conserved=top_momentum,
        exact=(HALF_PERIOD, MOMENTUM, ENERGY),
        is_quick=True,
        cases=tuple(
            {"spin": spin, "inertia": (1.0, 2.0, 3.0)}
            for spin in ((0.5, 1.0, 0.9), (0.02, 1.0, 0.01), (0.01, 2.0, 0.012))
        ),
    ),
)


def orbit(n):
    """Return an orbit about a point in a frame that turns."""
    model = Flight(PointMass(n["GM"], ZERO), upwards(n["omega"]), Sphere(ZERO, 2000.0))
    return model, FlightState(n["place"], n["velocity"]), jnp.linspace(0.0, 20_000.0, 21)


def jacobi_drift(model, solution, n):
    """Return the largest change of ½v² - ½|ω×r|² - U as a share of ½v²."""
    r, v = solution.states.position, solution.states.velocity
    swept = jnp.cross(model.omega, r)
    potential = n["GM"] / jnp.linalg.norm(r, axis=1)
    constant = 0.5 * jnp.sum(v**2 - swept**2, axis=1) - potential
    return jnp.max(jnp.abs(constant - constant[0])) / (0.5 * jnp.sum(v[0] ** 2))


JACOBI = Exact("Gravity", "flight: drift of the Jacobi constant", jacobi_drift, nothing, 1e-10)
ORBIT = Scene(
    "orbit in a frame that turns",
    {
        "GM": uniform(600, 732.4),
        "omega": uniform(1e-4, 1.8e-4),
        "place": uniform([5900, -50, 450], [6100, 50, 550]),
        "velocity": uniform([0.0, -0.52, 0.09], [0.04, -0.48, 0.11]),
    },
    orbit,
    STRICT,
    exact=(JACOBI,),
)

SCENES = (COLLIDING, BOUNCING, RESTING, SLIDING, SLIPPING, STRIKING, GRAZING, *TOPS, ORBIT)
