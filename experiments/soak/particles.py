"""Random scenes of few particles: grains that meet in free space or fall on a floor, and blocks of soil."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from difsim import FixedSteps, Reverse, Unrolled, allocate, safe, simulate
from difsim.contact import LinearCohesion
from difsim.dem import Grains, HertzMindlin, LinearSprings
from difsim.particles.model import AbstractParticles
from difsim.shape import Plane
from difsim.sph import Continuum, CubicSpline, DruckerPrager, Murnaghan, Tool, Viscosity
from difsim.stepping.marching import initialise
from experiments.soak.draws import magnitude
from experiments.soak.kinds import REVERSE, Kind, Numbers, Told, all_finite, drift_of
from experiments.soak.motions import SAVED, until_time

STEPS = 60  # in each interval of the saved times
PART = 0.3  # of the longest stable step
ERROR = 1e-6  # of a derivative, which is that of the steps: what differences cannot do better
GAIN = 1e-2  # of the energy: steps of a thirtieth of a contact keep it to some 1e-3
SKIN, SLACK = 0.3, 8.0  # of the neighbour lists, which get no more room inside `jit`
RADIUS, SPACING = 0.01, 0.01  # m: one length for all scenes, since lists of other lengths are other programs


@dataclass(frozen=True, kw_only=True, eq=False)
class Particles(Kind):
    """A kind of particles.

    **Arguments:** `build`, the model and its state, from the numbers; `units` m and m/s of a position and of a
    velocity; `total`, of (model, states), the energy [T] J that can only fall, and `conserved`, vectors [T, 3] that
    stay, each with its size.
    """

    build: Callable[[Numbers], tuple[AbstractParticles, Any]]
    units: Callable[[Numbers], tuple[Any, Any]]
    total: Callable[[Any, Any], Array] | None = None
    conserved: Callable[[Any, Any], list[tuple[Array, Array]]] = lambda model, states: []

    def prepare(self, numbers):
        return _begin(self, numbers, room(self))

    def end(self, numbers, prepared, tolerance, mode):
        near, step, length, speed = prepared
        model, state = self.build(numbers)
        times = until_time(step * STEPS * (SAVED - 1))
        way = Reverse() if mode == REVERSE else Unrolled()
        solver = FixedSteps(STEPS, neighbours=near)
        solution = simulate(model, state, times, solver=solver, derivative=way, throw=False)
        last, none, gain = solution.last, jnp.zeros_like(length), jnp.zeros_like(length)
        if self.total is not None:
            energy = self.total(model, solution.states)
            gain = jnp.max(energy - energy[0]) / jnp.max(jnp.abs(energy))
        vector = jnp.concatenate([(last.position / length).ravel(), (last.velocity / speed).ravel()])
        return vector, jax.lax.stop_gradient(
            Told(
                status=solution.status,
                finite=all_finite(solution.states),
                energy=none,
                allowed=none + GAIN,
                gain=gain,
                drift=drift_of(self.conserved(model, solution.states)),
                contacts=jnp.asarray(0),
                error=none + ERROR,
            )
        )


@cache
def room(kind):
    """The neighbour list of the first scene, with room for any other."""
    model, state = kind.build(jax.tree.map(jnp.asarray, kind.numbers(0, 0)))
    return allocate(model, state, SKIN, SLACK)


@eqx.filter_jit
def _begin(kind, numbers, near):
    """The list of this scene, the time of a step, and the units."""
    model, state = kind.build(numbers)
    if isinstance(model, Grains):
        near = eqx.tree_at(lambda n: n.near.pairs.radius, near, model.radius)
    motion = initialise(model, state, listed=near).motion
    return near, PART * model.stable_time_step(motion), *map(jnp.asarray, kind.units(numbers))


def cluster_numbers(rng):
    """Grains on a loose lattice that fly towards their middle, or down."""
    speed = magnitude(rng, 1e-2, 1)
    density = rng.uniform(1000, 4000)
    places = 2.1 * RADIUS * np.array([(x, y, z) for x in (-1, 0, 1) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]).T
    velocity = -speed * places / np.abs(places).max() + 0.3 * speed * rng.normal(size=places.shape)
    return {
        # The largest is as large in all scenes, as the list needs.
        "radius": RADIUS * np.append(1.0, rng.uniform(0.6, 1, places.shape[1] - 1)),
        "density": density,
        "places": places,
        "velocity": velocity,
        "spin": rng.normal(size=places.shape) * speed / RADIUS,
        "modulus": density * speed**2 * magnitude(rng, 1e4, 1e6),
        "poisson": rng.uniform(0, 0.4),
        "restitution": rng.uniform(0.2, 0.95),
        "friction": rng.uniform(0, 1),
        "pressure": density * speed**2,
        "pull": rng.uniform(0, 1e-2),
        "gravity": speed**2 / RADIUS * magnitude(rng, 0.01, 1),
    }


def moving(model, n):
    """The state with velocities and spins."""
    return eqx.tree_at(lambda s: (s.velocity, s.spin), model.at_rest(n["places"]), (n["velocity"], n["spin"]))


def hertz_cluster(n):
    """Elastic spheres in free space."""
    law = HertzMindlin(n["modulus"], n["poisson"], n["restitution"], n["friction"])
    model = Grains(law, n["radius"], n["density"])
    return model, moving(model, n)


def spring_cluster(n):
    """Springs with cohesion, on a floor."""
    law = LinearSprings(
        n["modulus"] * RADIUS,
        0.5,
        n["restitution"],
        n["friction"],
        cohesion=(LinearCohesion(n["pull"] * n["pressure"] * RADIUS**2, 0.05 * RADIUS),),
    )
    floor = Plane((0.0, 0.0, -2.2 * RADIUS), (0.0, 0.0, 1.0))
    model = Grains(law, n["radius"], n["density"], n["gravity"] * jnp.array([0.0, 0.0, -1.0]), (floor,))
    return model, moving(model, n)


def grain_units(n):
    """The largest radius, and the greatest speed."""
    return RADIUS, jnp.max(jnp.abs(n["velocity"]))


def grain_energy(model, states):
    """Their energy at each time without that of friction's springs, of which they have none at the start.

    While a contact slides, the springs are said to hold more than friction gave them (`Grains.energy`).
    """
    parts = jax.vmap(model.energy, in_axes=(None, 0))(0.0, states)
    return sum(part for name, part in parts.items() if name != "tangential")


def grain_momenta(model, states):
    """Momentum and angular momentum."""
    push = jnp.max(jnp.sum(model.mass[None] * safe.norm(jnp.moveaxis(states.velocity, 1, -1)), axis=1))
    momentum = jnp.einsum("n,tin->ti", model.mass, states.velocity)
    orbital = jnp.einsum("n,tin->ti", model.mass, jnp.cross(states.position, states.velocity, axis=1))
    spin = jnp.einsum("n,tin->ti", model.inertia, states.spin)
    return [(momentum, push), (orbital + spin, push * jnp.max(jnp.abs(states.position)))]


BLOCK = np.stack(np.meshgrid(np.arange(6), np.arange(5), indexing="ij")).reshape(2, -1).astype(float)
FLOOR = np.stack(np.meshgrid(np.arange(-3, 10), np.arange(-3, 0), indexing="ij")).reshape(2, -1).astype(float)


def soil_numbers(rng):
    """A block of soil on a floor, some of its own speed of fall into it."""
    density, gravity = rng.uniform(1000, 3000), magnitude(rng, 1e-2, 10)
    weight = density * gravity * 5 * SPACING
    return {
        "density": density,
        "gravity": gravity,
        "young": weight * magnitude(rng, 100, 1e4),
        "poisson": rng.uniform(0.1, 0.4),
        "friction": rng.uniform(0.2, 0.8),
        "weight": weight,
        "cohesion": rng.uniform(0, 1),
        "velocity": np.sqrt(gravity * SPACING) * rng.normal(0, 0.5, 2),
    }


def block(material, n):
    """The block and its floor in the plane."""
    places = SPACING * np.concatenate([BLOCK, FLOOR], axis=1)
    count, soil = places.shape[1], BLOCK.shape[1]
    solid = material(n)
    model = Continuum(
        solid,
        CubicSpline(2.5 * SPACING),
        Viscosity(0.3, 0.7, solid.sound),
        n["gravity"] * jnp.array([0.0, -1.0]),
        n["density"] * SPACING**2 * jnp.ones(count),
        (Tool(np.arange(soil, count), SPACING * FLOOR),),
    )
    state = model.at_rest(places)
    velocity = jnp.zeros((2, count)).at[:, :soil].set(n["velocity"][:, None])
    return model, eqx.tree_at(lambda s: s.velocity, state, velocity)


def soil(n):
    """Soil of Drucker and Prager."""
    return DruckerPrager(
        n["young"], n["poisson"], n["friction"], n["cohesion"] * n["weight"], density=n["density"]
    )


def elastic(n):
    """An elastic solid."""
    return Murnaghan(n["young"], n["poisson"], n["density"])


def soil_units(n):
    """The spacing, and the speed of a fall through it."""
    return SPACING, jnp.sqrt(n["gravity"] * SPACING)


def grains(name, build, **options):
    """A kind of grains, whose steps are equal: no tolerance, and both derivatives are those of the steps."""
    return Particles(
        name,
        cluster_numbers,
        1e-8,
        False,
        build=build,
        units=grain_units,
        total=grain_energy,
        least={"friction": 0.0, "pull": 0.0},
        most={"restitution": 1.0},
        zeros=("poisson", "spin"),
        **options,
    )


def continuum(name, material):
    """A kind of soil."""
    return Particles(
        name,
        soil_numbers,
        1e-8,
        False,
        build=partial(block, material),
        units=soil_units,
        least={"friction": 0.0, "cohesion": 0.0},
        zeros=("velocity",),
    )


KINDS = (
    grains("grains, Hertz and Mindlin", hertz_cluster, conserved=grain_momenta),
    grains("grains, springs, cohesion, floor", spring_cluster),
    continuum("soil, Drucker and Prager", soil),
    continuum("soil, elastic", elastic),
)
