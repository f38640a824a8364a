"""Scenes of few particles: grains that meet in free space or fall on a floor, and blocks of soil."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import safe
from difsim.contact import LinearCohesion
from difsim.dem import Grains, HertzMindlin, LinearSprings
from difsim.shape import Plane
from difsim.sph import Continuum, CubicSpline, DruckerPrager, Murnaghan, Tool, Viscosity
from experiments.scenes.draws import magnitude, normal, uniform
from experiments.scenes.engines import Particles
from experiments.scenes.scene import SAVED, Scene

RADIUS, SPACING = 0.01, 0.01  # m: one length for all scenes, since lists of other lengths are other programs
LATTICE = 2.1 * RADIUS * np.array([(x, y, z) for x in (-1, 0, 1) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]).T
TIMES = jnp.arange(SAVED, dtype=float)  # in intervals, whose length is that of the steps

# Grains on a loose lattice that fly towards their middle, or down. In units of their speed and of the largest radius.
CLUSTER = {
    "radius": uniform(0.6 * np.ones(LATTICE.shape[1] - 1), 1),
    "density": uniform(1000, 4000),
    "speed": magnitude(1e-2, 1),
    "shift": normal(0.02, LATTICE.shape),
    "velocity": normal(0.3, LATTICE.shape, vanishes=False),
    "spin": normal(1, LATTICE.shape),
    "modulus": magnitude(1e4, 1e6),
    "poisson": uniform(0, 0.4, least=0.0),
    "restitution": uniform(0.2, 0.95, most=1.0),
    "friction": uniform(0, 1, least=0.0),
    "pull": uniform(0, 1e-2, least=0.0),
    "gravity": magnitude(0.01, 1),
}


def scatter(law, n, gravity=0.0, walls=()):
    """Return grains of a law, the largest as large in all scenes, as the neighbour list needs."""
    radius = RADIUS * jnp.append(1.0, n["radius"])
    down = jnp.array([0.0, 0.0, -1.0]) * gravity
    model = Grains(law(n, n["modulus"] * n["density"] * n["speed"] ** 2), radius, n["density"], down, walls)
    inwards = -LATTICE / np.abs(LATTICE).max()
    state = model.at_rest(LATTICE + RADIUS * n["shift"])
    moving = n["speed"] * (inwards + n["velocity"]), n["speed"] / RADIUS * n["spin"]
    return model, eqx.tree_at(lambda s: (s.velocity, s.spin), state, moving), TIMES


def hertz(n, modulus):
    """Return elastic spheres."""
    return HertzMindlin(modulus, n["poisson"], n["restitution"], n["friction"])


def springs(n, modulus):
    """Return springs with cohesion."""
    pull = n["pull"] * n["density"] * n["speed"] ** 2 * RADIUS**2
    cohesion = (LinearCohesion(pull, 0.05 * RADIUS),)
    return LinearSprings(modulus * RADIUS, 0.5, n["restitution"], n["friction"], cohesion=cohesion)


def build_on_floor(n):
    """Return springs with cohesion, on a floor."""
    floor = Plane((0.0, 0.0, -2.2 * RADIUS), (0.0, 0.0, 1.0))
    return scatter(springs, n, n["speed"] ** 2 / RADIUS * n["gravity"], (floor,))


def gained_share(model, solution):
    """Return the share of their energy that appears, without that of friction's springs.

    While a contact slides, the springs are said to hold more than friction gave them (`Grains.energy`).
    """
    parts = jax.vmap(model.energy, in_axes=(None, 0))(0.0, solution.states)
    energy = sum(part for name, part in parts.items() if name != "tangential")
    return jnp.max(energy - energy[0]) / jnp.max(jnp.abs(energy))


def momenta(model, solution):
    """Return momentum and angular momentum."""
    states = solution.states
    push = jnp.max(jnp.sum(model.mass[None] * safe.norm(jnp.moveaxis(states.velocity, 1, -1)), axis=1))
    momentum = jnp.einsum("n,tin->ti", model.mass, states.velocity)
    orbital = jnp.einsum("n,tin->ti", model.mass, jnp.cross(states.position, states.velocity, axis=1))
    spin = jnp.einsum("n,tin->ti", model.inertia, states.spin)
    return [(momentum, push), (orbital + spin, push * jnp.max(jnp.abs(states.position)))]


BLOCK = np.stack(np.meshgrid(np.arange(6), np.arange(5), indexing="ij")).reshape(2, -1).astype(float)
FLOOR = np.stack(np.meshgrid(np.arange(-3, 10), np.arange(-3, 0), indexing="ij")).reshape(2, -1).astype(float)

# A block on a floor. In units of its weight: young, cohesion; of a fall through the spacing: velocity.
HEAP = {
    "density": uniform(1000, 3000),
    "gravity": magnitude(1e-2, 10),
    "young": magnitude(100, 1e4),
    "poisson": uniform(0.1, 0.4),
    "friction": uniform(0.2, 0.8, least=0.0),
    "cohesion": uniform(0, 1, least=0.0),
    "velocity": normal(0.5, 2),
}


def stand_block(material, n):
    """Return a block of a material and its floor in the plane."""
    solid = material(n, n["density"] * n["gravity"] * 5 * SPACING)
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
    return model, eqx.tree_at(lambda s: s.velocity, model.at_rest(jnp.asarray(places)), velocity), TIMES


def drucker_prager(n, weight):
    """Return soil."""
    young, cohesion = n["young"] * weight, n["cohesion"] * weight
    return DruckerPrager(young, n["poisson"], n["friction"], cohesion, density=n["density"])


def murnaghan(n, weight):
    """Return an elastic solid."""
    return Murnaghan(n["young"] * weight, n["poisson"], n["density"])


def motion(state):
    """Return positions and velocities."""
    return state.position, state.velocity


def grain_units(n):
    """Return the largest radius, and the greatest speed."""
    return RADIUS, n["speed"]


def soil_units(n):
    """Return the spacing, and the speed of a fall through it."""
    return SPACING, jnp.sqrt(n["gravity"] * SPACING)


def soil(name, material):
    """Return a scene of a block."""
    return Scene(name, HEAP, partial(stand_block, material), Particles(), motion, soil_units)


SCENES = (
    Scene(
        "grains, Hertz and Mindlin",
        CLUSTER,
        partial(scatter, hertz),
        Particles(),
        motion,
        grain_units,
        conserved=momenta,
        gain=gained_share,
    ),
    Scene(
        "grains, springs, cohesion, floor",
        CLUSTER,
        build_on_floor,
        Particles(),
        motion,
        grain_units,
        gain=gained_share,
    ),
    soil("soil, Drucker and Prager", drucker_prager),
    soil("soil, elastic", murnaghan),
)
