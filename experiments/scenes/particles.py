"""Scenes of few particles: grains that meet in free space or fall on a floor, and blocks of soil."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim.contact import LinearCohesion
from difsim.dem import Grains, HertzMindlin, LinearSprings
from difsim.shape import Plane
from difsim.sph import Continuum, CubicSpline, DruckerPrager, Murnaghan, Tool, Viscosity
from experiments.scenes import parts
from experiments.scenes.draws import magnitude, normal, uniform
from experiments.scenes.engines import Particles
from experiments.scenes.parts import SAVED, motion_of_point, vector
from experiments.scenes.scene import Scene

RADIUS, SPACING = 0.01, 0.01  # m: one length for all scenes, since lists of other lengths are other programs
LATTICE = 2.1 * RADIUS * np.array([(x, y, z) for x in (-1, 0, 1) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]).T
INTERVALS = jnp.arange(SAVED, dtype=float)  # of the engine, whose length is that of the steps

# Grains on a loose lattice that fly towards their middle, or down. In units of their speed and of the largest radius.
CLUSTER = (
    uniform(radius=(0.6 * np.ones(LATTICE.shape[1] - 1), 1), density=(1000, 4000))
    | magnitude(speed=(1e-2, 1), modulus=(1e4, 1e6), gravity=(0.01, 1))
    | normal(shift=(0.02, LATTICE.shape), velocity=(0.3, LATTICE.shape), spin=(1, LATTICE.shape))
    | uniform(poisson=(0, 0.4, 0.0), restitution=(0.2, 0.95, None, 1.0), friction=(0, 1, 0.0), pull=(0, 1e-2, 0.0))
)


def pressure(n):
    """Return that of grains at their speed, Pa."""
    return n["density"] * n["speed"] ** 2


def scatter(n, law, gravity=0.0, walls=()):
    """Return grains of a law, the largest as large in all scenes, as the neighbour list needs."""
    radius = RADIUS * jnp.append(1.0, n["radius"])
    model = Grains(law, radius, n["density"], vector(z=-gravity), walls)
    inwards = -LATTICE / np.abs(LATTICE).max()
    state = model.at_rest(LATTICE + RADIUS * n["shift"])
    moving = n["speed"] * (inwards + n["velocity"]), n["speed"] / RADIUS * n["spin"]
    return model, eqx.tree_at(lambda s: (s.velocity, s.spin), state, moving), INTERVALS


def scatter_spheres(n):
    """Return elastic spheres in free space."""
    return scatter(n, HertzMindlin(n["modulus"] * pressure(n), n["poisson"], n["restitution"], n["friction"]))


def scatter_on_floor(n):
    """Return springs with cohesion, on a floor."""
    stiffness = n["modulus"] * pressure(n) * RADIUS
    cohesion = (LinearCohesion(n["pull"] * pressure(n) * RADIUS**2, 0.05 * RADIUS),)
    law = LinearSprings(stiffness, 0.5, n["restitution"], n["friction"], cohesion=cohesion)
    floor = Plane((0.0, 0.0, -2.2 * RADIUS), (0.0, 0.0, 1.0))
    return scatter(n, law, n["speed"] ** 2 / RADIUS * n["gravity"], (floor,))


def momenta(model, solution):
    """Return momentum and angular momentum."""
    states = solution.states
    place, velocity, spin = (jnp.moveaxis(x, 1, -1) for x in (states.position, states.velocity, states.spin))
    return parts.momenta(model.mass, place, velocity, model.inertia[None, :, None] * spin)


BLOCK = np.stack(np.meshgrid(np.arange(6), np.arange(5), indexing="ij")).reshape(2, -1).astype(float)
FLOOR = np.stack(np.meshgrid(np.arange(-3, 10), np.arange(-3, 0), indexing="ij")).reshape(2, -1).astype(float)

# A block on a floor. In units of its weight: young, cohesion; of a fall through the spacing: velocity.
HEAP = (
    uniform(density=(1000, 3000), poisson=(0.1, 0.4), friction=(0.2, 0.8, 0.0), cohesion=(0, 1, 0.0))
    | magnitude(gravity=(1e-2, 10), young=(100, 1e4))
    | normal(velocity=(0.5, 2))
)


def weight(n):
    """Return that of a block, Pa."""
    return n["density"] * n["gravity"] * 5 * SPACING


def stand_block(n, solid):
    """Return a block of a material and its floor in the plane."""
    places = SPACING * np.concatenate([BLOCK, FLOOR], axis=1)
    count, soil = places.shape[1], BLOCK.shape[1]
    model = Continuum(
        solid,
        CubicSpline(2.5 * SPACING),
        Viscosity(0.3, 0.7, solid.sound),
        n["gravity"] * jnp.array([0.0, -1.0]),
        n["density"] * SPACING**2 * jnp.ones(count),
        (Tool(np.arange(soil, count), SPACING * FLOOR),),
    )
    speed = jnp.sqrt(n["gravity"] * SPACING)
    velocity = jnp.zeros((2, count)).at[:, :soil].set(speed * n["velocity"][:, None])
    return model, eqx.tree_at(lambda s: s.velocity, model.at_rest(jnp.asarray(places)), velocity), INTERVALS


def stand_soil(n):
    young, cohesion = n["young"] * weight(n), n["cohesion"] * weight(n)
    return stand_block(n, DruckerPrager(young, n["poisson"], n["friction"], cohesion, density=n["density"]))


def stand_elastic(n):
    return stand_block(n, Murnaghan(n["young"] * weight(n), n["poisson"], n["density"]))


def scene(name, draws, build, **options):
    return Scene(name, draws, build, Particles(), motion_of_point, **options)


# The springs along a contact that slides are said to hold more than friction gave them (`Grains.energy`).
SCENES = (
    scene("grains, Hertz and Mindlin", CLUSTER, scatter_spheres, conserved=momenta, drives=("tangential",)),
    scene("grains, springs, cohesion, floor", CLUSTER, scatter_on_floor, drives=("tangential",)),
    scene("soil, Drucker and Prager", HEAP, stand_soil),
    scene("soil, elastic", HEAP, stand_elastic),
)
