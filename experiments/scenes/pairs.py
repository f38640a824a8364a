"""Scenes of two hard balls, and of two boxes by each law of a pair, that collide in free space."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import MaxImpacts, Reverse, Rotation, safe
from difsim.body import RigidBody, RigidState, Stone
from difsim.contact import Newton, PowerLaw, Stronge, TangentialSpring
from difsim.dynamics import (
    CalibratedNormal,
    CompliantPair,
    HardPair,
    Pair,
    PairState,
    SmoothPair,
    TwoBalls,
    TwoBallState,
)
from difsim.mesh import box
from difsim.shape import Box
from experiments.scenes.draws import direction, magnitude, normal, turn, uniform
from experiments.scenes.engines import Motion, Stones
from experiments.scenes.parts import momenta, until_time, vector
from experiments.scenes.scene import Exact, Scene

# Two bodies that fly at each other, most of them not centrally. In units of their reach and of their speed.
ENCOUNTER = direction("towards", "aside") | normal(drift=(1, 3), spin=(1, (2, 3)))
BALLS = ENCOUNTER | (
    magnitude((2,), mass=(0.1, 100), radius=(0.05, 2))
    | magnitude(speed=(1e-3, 10))
    | uniform(restitution=(0, 1, 0.0, 1.0), friction=(0, 1, 0.0))
    | uniform(offset=(0, 1.1), apart=(1.2, 4), time=(0.5, 2))
)
BOXES = ENCOUNTER | (
    magnitude((2,), mass=(0.2, 20))
    | magnitude(speed=(1e-3, 3), depth=(1e-4, 1e-3))
    | uniform(restitution=(0.1, 0.95, None, 1.0), friction=(0, 0.8, 0.0), cohesion=(0, 0.01, 0.0))
    | uniform(offset=(0, 0.4), apart=(1.05, 1.6), time=(1, 2))
    | turn(turns=(2,))
)
RIGID = BOXES | uniform(restitution=(0.1, 0.95, 0.0, 1.0))


def meet(n, reach):
    """Return places, velocities and spins of both [2, 3], and the times."""
    speed, towards = n["speed"], safe.unit(n["towards"])
    second = reach * (n["apart"] * towards + n["offset"] * jnp.cross(towards, n["aside"]))
    velocity = speed * (jnp.stack([jnp.zeros(3), -towards]) + n["drift"][None])
    motion = jnp.stack([jnp.zeros(3), second]), velocity, speed / reach * n["spin"]
    return motion, until_time(n["time"] * n["apart"] * reach / speed)


def collide_balls(n):
    motion, times = meet(n, jnp.sum(n["radius"]))
    model = TwoBalls(Newton(n["restitution"], n["friction"], turns=0), n["mass"], n["radius"])
    return model, TwoBallState(*motion), times


def momenta_of_balls(model, solution):
    states, inertia = solution.states, 0.4 * model.mass * model.radius**2
    return momenta(model.mass, states.position, states.velocity, inertia[None, :, None] * states.spin)


def collide_on_line(n):
    """Return two balls of 0.1 m on a line."""
    model = TwoBalls(Newton(n["restitution"], turns=0), n["mass"], (0.1, 0.1))
    place, velocity = (jnp.outer(x, vector(1.0)) for x in (n["place"], n["velocity"]))
    return model, TwoBallState(place, velocity), until_time(1.0, 2)


def place_after_collision(n):
    """Return the place of the second ball: it gets (1 + e) m₁/(m₁ + m₂) of the speed of approach."""
    closing = n["velocity"][0] - n["velocity"][1]
    touch = (n["place"][1] - n["place"][0] - 0.2) / closing
    gained = (1 + n["restitution"]) * n["mass"][0] / jnp.sum(n["mass"]) * closing
    return n["place"][1] + n["velocity"][1] + gained * (1 - touch)


COLLIDING = Scene(
    "two hard balls on a line",
    uniform(place=([-0.05, 0.5], [0.05, 0.54]), velocity=([0.9, -0.1], [1.1, 0.1]))
    | uniform(restitution=(0.3, 0.9, None, 1.0), mass=([0.8, 0.8], [1.2, 1.2])),
    collide_on_line,
    Motion(1e-10, 8, MaxImpacts(1)),
    exact=Exact(
        "Derivatives",
        {"two balls: place of the second": ("m", 1e-9)},
        lambda s, n: [s.last.position[1, 0]],
        lambda n: [place_after_collision(n)],
        ({"place": (0.0, 0.52), "velocity": (1.0, 0.0), "restitution": 1.0, "mass": (1.0, 1.0)},),
    ),
)

EDGES = np.array([0.1, 0.12, 0.15]), np.array([0.08, 0.1, 0.2])  # m
REACH = float(sum(np.linalg.norm(edges) / 2 for edges in EDGES))


@cache
def make_boxes():
    """Return both stones, of 1 kg: made when the first scene needs them, also while that is traced."""
    with jax.ensure_compile_time_eval():
        return tuple(Stone.from_mesh(box(tuple(edges)), mass=1.0, shape=Box(edges / 2)) for edges in EDGES)


def collide_boxes(n, law):
    stones = [
        eqx.tree_at(lambda s: s.body, stone, RigidBody(mass, mass * stone.body.inertia))
        for stone, mass in zip(make_boxes(), n["mass"], strict=True)
    ]
    (place, velocity, spin), times = meet(n, REACH)
    attitudes = [Rotation.from_rotation_vector(turn) for turn in n["turns"]]
    return Pair(*stones, law), PairState(*map(RigidState, place, velocity, attitudes, spin)), times


def stiffness_and_step(n):
    """Return the stiffness N/m that gives the depth, and a hundredth of the duration of a contact, s."""
    stiffness = jnp.prod(n["mass"]) / jnp.sum(n["mass"]) * n["speed"] ** 2 / n["depth"] ** 2
    return stiffness, jnp.pi * n["depth"] / n["speed"] / 100


def smooth(n):
    """Return springs and dampers along and across."""
    stiffness, step = stiffness_and_step(n)
    normal = CalibratedNormal(n["restitution"], PowerLaw(stiffness, 1.0))
    return SmoothPair(normal, TangentialSpring(n["friction"], 0.3 * stiffness), 0.0, step)


def compliant(n):
    """Return an elastic gap with cohesion, and rigid friction."""
    stiffness, step = stiffness_and_step(n)
    pull = n["cohesion"] * stiffness * n["depth"]
    return CompliantPair(1 / stiffness, n["restitution"], n["friction"], pull, step)


def momenta_of_boxes(pair, solution):
    states = solution.states
    momentum, angular = jax.vmap(lambda s: (pair.momentum(s), pair.angular_momentum(s)))(states)
    each = [(pair.first, states.first), (pair.second, states.second)]
    push = sum(stone.body.mass * jnp.max(safe.norm(state.velocity)) for stone, state in each)
    reach = REACH + jnp.maximum(*(jnp.max(safe.norm(state.position)) for _, state in each))
    return [(momentum, push), (angular, push * reach)]


def boxes(name, draws, law):
    build = lambda n: collide_boxes(n, law(n))  # noqa: E731
    return Scene(f"two boxes, {name}", draws, build, Stones(), conserved=momenta_of_boxes)


SCENES = (
    Scene(
        "two hard balls",
        BALLS,
        collide_balls,
        Motion(1e-10, 5, MaxImpacts(40), Reverse()),
        conserved=momenta_of_balls,
    ),
    COLLIDING,
    boxes("Newton", RIGID, lambda n: HardPair(Newton(n["restitution"], n["friction"]))),
    boxes("Stronge", RIGID, lambda n: HardPair(Stronge(n["restitution"], n["friction"]))),
    boxes("smooth", BOXES, smooth),
    boxes("compliant", BOXES, compliant),
)
