"""Random scenes of hard contact: points, balls and boxes that bounce, slide and rest, and two balls."""

from functools import partial

import jax.numpy as jnp
import numpy as np

from difsim import MaxImpacts, rotation, safe
from difsim.body import RigidBody, RigidState
from difsim.contact import Ball, Newton, Stronge, Vertices
from difsim.dynamics import Bouncer, HardBody, HardState, PointState, TwoBalls, TwoBallState
from difsim.gravity import PointMass, Uniform
from difsim.shape import Ellipsoid, Plane
from experiments.soak.draws import direction, magnitude, turn
from experiments.soak.kinds import REVERSE
from experiments.soak.motions import Motion, until_time

IMPACTS = partial(MaxImpacts, 40)
CORNERS = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3, indexing="ij"), axis=-1).reshape(8, 3)  # of the unit cube


def bounce_numbers(rng):
    """A fall from a height, with a speed like that of the fall, onto a slope."""
    gravity, height = magnitude(rng, 1e-5, 10), magnitude(rng, 0.1, 30)
    fall = np.sqrt(2 * height / gravity)
    return {
        "gravity": gravity,
        "height": height,
        "slope": rng.normal(0, 0.15, 2),
        "velocity": rng.normal(0, 0.4, 3) * gravity * fall,
        "restitution": rng.uniform(0.02, 0.98),
        "friction": rng.uniform(0, 1),
        "rest_height": height * magnitude(rng, 1e-4, 1e-2),
        "time": fall * rng.uniform(0.3, 6),
    }


def slope(numbers):
    """The plane through the origin with the normal (-∂h/∂x, -∂h/∂y, 1)."""
    one = jnp.ones_like(numbers["gravity"])
    return Plane(jnp.zeros(3), jnp.stack([-numbers["slope"][0], -numbers["slope"][1], one]))


def upwards(x):
    """(0, 0, x)."""
    return x * jnp.array([0.0, 0.0, 1.0])


def point_on_slope(numbers):
    """A point above a slope."""
    model = Bouncer(
        Uniform(upwards(-numbers["gravity"])),
        slope(numbers),
        numbers["restitution"],
        numbers["friction"],
        numbers["rest_height"],
    )
    return model, PointState(upwards(numbers["height"]), numbers["velocity"]), until_time(numbers["time"])


def ellipsoid_numbers(rng):
    """The same above an ellipsoid, whose attraction is that of its centre."""
    numbers = bounce_numbers(rng)
    return numbers | {"semi_axes": numbers["height"] * rng.uniform(2, 6, 3), "place": direction(rng)}


def point_on_ellipsoid(numbers):
    """A point above an ellipsoid."""
    away, reach = safe.unit(numbers["place"]), jnp.max(numbers["semi_axes"])
    model = Bouncer(
        PointMass(numbers["gravity"] * reach**2, jnp.zeros(3)),
        Ellipsoid(numbers["semi_axes"]),
        numbers["restitution"],
        numbers["friction"],
        numbers["rest_height"],
    )
    state = PointState((reach + numbers["height"]) * away, numbers["velocity"])
    return model, state, until_time(numbers["time"])


def body_numbers(rng):
    """A body of about the height of its fall that turns about once in it."""
    numbers = bounce_numbers(rng)
    fall = np.sqrt(2 * numbers["height"] / numbers["gravity"])
    return numbers | {
        "edges": numbers["height"] * rng.uniform(0.2, 0.8, 3),
        "mass": magnitude(rng, 0.1, 1e3),
        "turn": turn(rng),
        "spin": rng.normal(0, 1, 3) / fall,
        "friction": rng.uniform(0, 0.8),
    }


def body_on_slope(numbers, outline, law):
    """A body with an outline above a slope: its centre as much above as its reach and the height."""
    edges = numbers["edges"]
    inertia = numbers["mass"] / 12 * jnp.diag(jnp.sum(edges**2) - edges**2)
    outline = outline(edges)
    model = HardBody(
        RigidBody(numbers["mass"], inertia),
        outline,
        law(numbers["restitution"], numbers["friction"]),
        slope(numbers),
        Uniform(upwards(-numbers["gravity"])),
        numbers["rest_height"],
    )
    attitude = rotation.from_rotation_vector(numbers["turn"])
    place = upwards(numbers["height"] + 1.5 * jnp.linalg.norm(edges) / 2)
    state = HardState(RigidState(place, numbers["velocity"], attitude, numbers["spin"]))
    return model, state, until_time(numbers["time"])


def ball_on_slope(numbers):
    """A ball, whose moments of inertia differ."""
    return body_on_slope(numbers, lambda edges: Ball(0.5 * jnp.min(edges)), Newton)


def box_on_slope(numbers):
    """A box, by the energetic law."""
    return body_on_slope(numbers, lambda edges: Vertices(CORNERS * edges[None]), Stronge)


def balls_numbers(rng):
    """Two balls that fly at each other, most of them not centrally."""
    radius, towards = np.array([magnitude(rng, 0.05, 2) for _ in range(2)]), direction(rng)
    speed, apart = magnitude(rng, 1e-3, 10), rng.uniform(1.2, 4) * radius.sum()
    aside = np.cross(towards, direction(rng)) * rng.uniform(0, 1.1) * radius.sum()
    return {
        "mass": np.array([magnitude(rng, 0.1, 100) for _ in range(2)]),
        "radius": radius,
        "second": apart * towards + aside,
        "velocity": np.stack([np.zeros(3), -speed * towards]) + rng.normal(size=3) * speed,
        "spin": rng.normal(size=(2, 3)) * speed / radius.sum(),
        "restitution": rng.uniform(0, 1),
        "friction": rng.uniform(0, 1),
        "time": rng.uniform(0.5, 2) * apart / speed,
    }


def two_balls(numbers):
    """Both in free space."""
    model = TwoBalls(
        Newton(numbers["restitution"], numbers["friction"], turns=0), numbers["mass"], numbers["radius"]
    )
    position = jnp.stack([jnp.zeros(3), numbers["second"]])
    return model, TwoBallState(position, numbers["velocity"], numbers["spin"]), until_time(numbers["time"])


def balls_momenta(model, solution):
    """Momentum and angular momentum about the origin."""
    states, reach = solution.states, jnp.max(jnp.abs(solution.states.position)) + jnp.sum(model.radius)
    push = jnp.max(jnp.sum(model.mass[None] * safe.norm(states.velocity), axis=1))
    momentum = jnp.einsum("b,tbi->ti", model.mass, states.velocity)
    orbital = jnp.einsum("b,tbi->ti", model.mass, jnp.cross(states.position, states.velocity))
    spin = jnp.einsum("b,tbi->ti", 0.4 * model.mass * model.radius**2, states.spin)
    return [(momentum, push), (orbital + spin, push * reach)]


def moved(state):
    """Position and velocity of a point."""
    return state.position, state.velocity


def body(state):
    """The motion of a rigid body, without its phase of contact."""
    return state.body


ENDS = {"least": {"restitution": 0.0, "friction": 0.0}, "most": {"restitution": 1.0}}
ZEROS = "slope", "velocity"


def hard(name, draw, build, watch, **options):
    """A kind of hard contact: impacts are located, so that both derivatives are right but for the tolerance."""
    options = {"reverse": REVERSE, "backward": 1e-4, "order": 8, "zeros": ZEROS} | ENDS | options
    return Motion(name, draw, 1e-10, build=build, watch=watch, until=IMPACTS, **options)


# A reverse derivative takes the longest to compile: one kind of each sort has it.
KINDS = (
    hard("hard point on a slope", bounce_numbers, point_on_slope, moved),
    hard("hard point on an ellipsoid", ellipsoid_numbers, point_on_ellipsoid, moved, reverse=None),
    hard("hard ball on a slope", body_numbers, ball_on_slope, body, zeros=(*ZEROS, "spin")),
    hard("hard box on a slope", body_numbers, box_on_slope, body, reverse=None, zeros=(*ZEROS, "spin", "turn")),
    hard(
        "two hard balls",
        balls_numbers,
        two_balls,
        lambda state: state,
        conserved=balls_momenta,
        order=5,
        zeros=("spin",),
    ),
)
