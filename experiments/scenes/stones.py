"""Scenes of two boxes that collide in free space, by the laws of a pair."""

from functools import cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import Rotation, safe
from difsim.body import RigidBody, RigidState, Stone
from difsim.contact import Newton, PowerLaw, Stronge, TangentialSpring
from difsim.dynamics import CalibratedNormal, CompliantPair, HardPair, Pair, PairState, SmoothPair
from difsim.mesh import box
from difsim.shape import Box
from experiments.scenes.draws import direction, magnitude, normal, turn, uniform
from experiments.scenes.engines import Collision
from experiments.scenes.scene import Scene, until_time

EDGES = np.array([0.1, 0.12, 0.15]), np.array([0.08, 0.1, 0.2])  # m
REACH = float(sum(np.linalg.norm(edges) / 2 for edges in EDGES))

# Two boxes that fly at each other, most of them not centrally. In units of their reach and of their speed.
BOXES = {
    "mass": magnitude(0.2, 20, (2,)),
    "towards": direction(),
    "aside": direction(),
    "offset": uniform(0, 0.4),
    "apart": uniform(1.05, 1.6),
    "speed": magnitude(1e-3, 3),
    "drift": normal(1, 3),
    "spin": normal(1, (2, 3)),
    "turns": turn(2),
    "restitution": uniform(0.1, 0.95, most=1.0),
    "friction": uniform(0, 0.8, least=0.0),
    "depth": magnitude(1e-4, 1e-3),
    "cohesion": uniform(0, 0.01, least=0.0),
    "time": uniform(1, 2),
}


@cache
def make_boxes():
    """Return both stones, of 1 kg: made when the first scene needs them, also while that is traced."""
    with jax.ensure_compile_time_eval():
        return tuple(Stone.from_mesh(box(tuple(edges)), mass=1.0, shape=Box(edges / 2)) for edges in EDGES)


def collide(law, n):
    """Return both boxes with a law of the stiffness N/m, the depth m and the step s of a contact."""
    stones = [
        eqx.tree_at(lambda s: s.body, stone, RigidBody(mass, mass * stone.body.inertia))
        for stone, mass in zip(make_boxes(), n["mass"], strict=True)
    ]
    speed, towards = n["speed"], safe.unit(n["towards"])
    stiffness = jnp.prod(n["mass"]) / jnp.sum(n["mass"]) * speed**2 / n["depth"] ** 2
    pair = Pair(*stones, law(n, stiffness, jnp.pi * n["depth"] / speed / 100))
    second = REACH * (n["apart"] * towards + n["offset"] * jnp.cross(towards, n["aside"]))
    velocity = speed * (jnp.stack([jnp.zeros(3), -towards]) + n["drift"][None])
    attitudes = [Rotation.from_rotation_vector(turn) for turn in n["turns"]]
    states = map(RigidState, (jnp.zeros(3), second), velocity, attitudes, speed / REACH * n["spin"])
    return pair, PairState(*states), until_time(n["time"] * n["apart"] * REACH / speed)


def newton(n, stiffness, step):
    """Return rigid bodies with the kinematic restitution."""
    return HardPair(Newton(n["restitution"], n["friction"]))


def stronge(n, stiffness, step):
    """Return rigid bodies with the energetic restitution."""
    return HardPair(Stronge(n["restitution"], n["friction"]))


def smooth(n, stiffness, step):
    """Return springs and dampers along and across."""
    normal = CalibratedNormal(n["restitution"], PowerLaw(stiffness, 1.0))
    return SmoothPair(normal, TangentialSpring(n["friction"], 0.3 * stiffness), 0.0, step)


def compliant(n, stiffness, step):
    """Return an elastic gap with cohesion, and rigid friction."""
    pull = n["cohesion"] * stiffness * n["depth"]
    return CompliantPair(1 / stiffness, n["restitution"], n["friction"], pull, step)


def units(n):
    """Return the reach and the speed for both bodies."""
    speed = jnp.max(jnp.abs(n["speed"]))
    each = RigidState(REACH * jnp.ones(3), speed * jnp.ones(3), jnp.ones(4), speed / REACH * jnp.ones(3))
    return PairState(each, each)


def gained_share(pair, solution):
    """Return the share of the kinetic energy that the contacts made."""
    before, after = solution.impacts.kinetic_energy_cm
    return safe.divide(jnp.maximum(after - before, 0.0), before)


def momenta(pair, solution):
    """Return momentum and angular momentum of both."""
    states = solution.states
    momentum, angular = jax.vmap(lambda s: (pair.momentum(s), pair.angular_momentum(s)))(states)
    each = [(pair.first, states.first), (pair.second, states.second)]
    push = sum(stone.body.mass * jnp.max(safe.norm(state.velocity)) for stone, state in each)
    reach = REACH + jnp.maximum(*(jnp.max(safe.norm(state.position)) for _, state in each))
    return [(momentum, push), (angular, push * reach)]


RIGID = BOXES | {"restitution": uniform(0.1, 0.95, least=0.0, most=1.0)}
SCENES = tuple(
    Scene(name, draws, partial(collide, law), Collision(), units=units, conserved=momenta, gain=gained_share)
    for name, draws, law in (
        ("two boxes, Newton", RIGID, newton),
        ("two boxes, Stronge", RIGID, stronge),
        ("two boxes, smooth", BOXES, smooth),
        ("two boxes, compliant", BOXES, compliant),
    )
)
