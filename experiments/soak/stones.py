"""Random collisions of two boxes in free space, by the three laws of a pair."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from difsim import MaxImpacts, rotation, safe, simulate
from difsim.body import RigidBody, RigidState, Stone
from difsim.contact import Newton, PowerLaw, Stronge, TangentialSpring
from difsim.dynamics import Calibrated, CompliantPair, HardPair, Pair, PairState, SmoothPair
from difsim.dynamics.pair import AbstractPairLaw
from difsim.mesh import box
from difsim.shape import Box
from experiments.soak.draws import direction, magnitude, turn
from experiments.soak.kinds import Kind, Numbers, Told, all_finite, drift_of
from experiments.soak.motions import until_time

EDGES = np.array([0.1, 0.12, 0.15]), np.array([0.08, 0.1, 0.2])  # m
ERRORS = 1e-4, 1e-6  # of a derivative after a contact and without one: a pair states no validity of its own
REACH = float(sum(np.linalg.norm(edges) / 2 for edges in EDGES))


def pair_numbers(rng):
    """Two boxes that fly at each other, most of them not centrally, and a contact of some thousandths of their way."""
    speed, towards = magnitude(rng, 1e-3, 3), direction(rng)
    apart = rng.uniform(1.05, 1.6) * REACH
    mass = np.array([magnitude(rng, 0.2, 20) for _ in range(2)])
    depth = 1e-3 * magnitude(rng, 0.1, 1)
    stiffness = mass.prod() / mass.sum() * speed**2 / depth**2
    return {
        "mass": mass,
        "second": apart * towards + 0.4 * REACH * rng.uniform(0, 1) * np.cross(towards, direction(rng)),
        "velocity": np.stack([np.zeros(3), -speed * towards]) + rng.normal(size=3) * speed,
        "spin": rng.normal(size=(2, 3)) * speed / REACH,
        "turns": np.stack([turn(rng), turn(rng)]),
        "restitution": rng.uniform(0.1, 0.95),
        "friction": rng.uniform(0, 0.8),
        "stiffness": stiffness,
        "depth": depth,
        "cohesion": rng.uniform(0, 0.01),
        "step": np.pi * depth / speed / 100,
        "time": rng.uniform(1.0, 2.0) * apart / speed,
    }


@cache
def shapes():
    """Both stones, of 1 kg: made when the first scene needs them, also while that is traced."""
    with jax.ensure_compile_time_eval():
        return tuple(Stone.from_mesh(box(edges), mass=1.0, shape=Box(edges / 2)) for edges in EDGES)


def with_mass(stone, mass):
    """The stone with another mass, and the inertia that goes with it."""
    return eqx.tree_at(lambda s: s.body, stone, RigidBody(mass, mass * stone.body.inertia))


@dataclass(frozen=True, kw_only=True, eq=False)
class Stones(Kind):
    """A kind of collision. **Arguments:** `law` of the numbers."""

    law: Callable[[Numbers], AbstractPairLaw]

    def prepare(self, numbers):
        """The unit of speed."""
        return jnp.max(jnp.abs(numbers["velocity"]))

    def end(self, numbers, prepared, tolerance, mode):
        first, second = (with_mass(shape, mass) for shape, mass in zip(shapes(), numbers["mass"], strict=True))
        pair = Pair(first, second, self.law(numbers))
        attitudes = jax.vmap(rotation.from_rotation_vector)(numbers["turns"])
        places = jnp.zeros(3), numbers["second"]
        state = PairState(
            *(
                RigidState(place, numbers["velocity"][i], attitudes[i], numbers["spin"][i])
                for i, place in enumerate(places)
            )
        )
        solution = simulate(pair, state, until_time(numbers["time"]), until=MaxImpacts(4), throw=False)
        speed = prepared
        units = RigidState(REACH * jnp.ones(3), speed * jnp.ones(3), jnp.ones(4), speed / REACH * jnp.ones(3))
        last = jax.tree.map(jnp.divide, solution.last, PairState(units, units))
        before, after = solution.impacts.kinetic_energy_cm
        return ravel_pytree(last)[0], jax.lax.stop_gradient(
            Told(
                status=solution.status,
                finite=all_finite((solution.states, solution.energy)),
                energy=jnp.zeros_like(before),
                allowed=jnp.asarray(1e-4),
                gain=safe.divide(jnp.maximum(after - before, 0.0), before),
                drift=drift_of(momenta(pair, solution.states)),
                contacts=solution.impacts.count,
                error=jnp.where(solution.impacts.count > 0, *ERRORS),
            )
        )


def momenta(pair, states):
    """Momentum and angular momentum of both."""
    momentum, angular = jax.vmap(lambda s: (pair.momentum(s), pair.angular_momentum(s)))(states)
    each = [(pair.first, states.first), (pair.second, states.second)]
    push = sum(stone.body.mass * jnp.max(safe.norm(state.velocity)) for stone, state in each)
    reach = REACH + jnp.maximum(*(jnp.max(safe.norm(state.position)) for _, state in each))
    return [(momentum, push), (angular, push * reach)]


def smooth(n):
    """Springs and dampers along and across."""
    normal = Calibrated(n["restitution"], PowerLaw(n["stiffness"], 1.0))
    return SmoothPair(normal, TangentialSpring(n["friction"], 0.3 * n["stiffness"]), 0.0, n["step"])


def compliant(n):
    """An elastic gap with cohesion, and rigid friction."""
    return CompliantPair(
        1 / n["stiffness"], n["restitution"], n["friction"], n["cohesion"] * n["stiffness"] * n["depth"], n["step"]
    )


def collision(name, law, is_rigid=False):
    """A kind of collision; its steps have no tolerance, and its derivatives are forward ones."""
    least = {"friction": 0.0, "cohesion": 0.0} | ({"restitution": 0.0} if is_rigid else {})
    return Stones(
        name,
        pair_numbers,
        1e-8,
        has_tolerance=False,
        reverse=None,
        law=law,
        least=least,
        most={"restitution": 1.0},
        zeros=("spin", "turns"),
    )


KINDS = (
    collision("two boxes, Newton", lambda n: HardPair(Newton(n["restitution"], n["friction"])), True),
    collision("two boxes, Stronge", lambda n: HardPair(Stronge(n["restitution"], n["friction"])), True),
    collision("two boxes, smooth", smooth),
    collision("two boxes, compliant", compliant),
)
