"""Random scenes of a lander that touches down, with several gears, with a boulder and without."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from difsim import rotation, safe
from difsim.body import CentralDamper, Flywheel, Hull, Lander, MaxwellLegs, RigidBody, RigidState
from difsim.contact import Boulder, CompressionDamping, Hooke, NormalForce, Regolith
from difsim.dynamics import Touchdown
from difsim.gravity import Uniform
from experiments.soak.draws import magnitude
from experiments.soak.hard import upwards
from experiments.soak.kinds import UNROLLED
from experiments.soak.motions import Motion, until_time

AZIMUTH = np.radians([0.0, 120.0, 240.0])


def lander_numbers(rng):
    """A lander of a tenth to ten times the size of Philae, on any soil that the inversion's priors hold."""
    size, mass, speed = magnitude(rng, 0.2, 3), magnitude(rng, 5, 500), magnitude(rng, 0.1, 1.5)
    stroke = size * rng.uniform(0.02, 0.1)
    stiffness = mass * speed**2 / stroke**2 * rng.uniform(0.2, 2)
    return {
        "size": size,
        "mass": mass,
        "inertia": mass * size**2 * rng.uniform([0.15, 0.15, 0.2], [0.22, 0.22, 0.29]),
        "leg_stiffness": stiffness,
        "damping": np.sqrt(stiffness * mass) * magnitude(rng, 0.2, 3),
        "stroke": stroke,
        "wheel": mass * size**2 * rng.uniform(0, 0.05),
        "rundown": magnitude(rng, 1, 2000),
        "thickness": magnitude(rng, 0.1, 2),
        "grain_diameter": magnitude(rng, 1e-5, 1e-2),
        "grain_density": rng.uniform(500, 3000),
        "grain_modulus": magnitude(rng, 1e6, 1e9),
        "friction": rng.uniform(0.1, 1),
        "gravity": magnitude(rng, 1e-5, 2),
        "edge": rng.uniform(0.1, 0.25) * size,
        "edge_at": rng.uniform(0.5, 0.9) * size,
        "edge_heading": rng.normal(0, 0.1),
        "modulus": magnitude(rng, 1e6, 1e8),
        "scenario": rng.choice([0.0, 1.0, rng.uniform(0.05, 0.95)]),
        "hull_restitution": rng.uniform(0.2, 0.8),
        "turn": np.array([*rng.normal(0, 0.08, 2), rng.uniform(-0.5, 0.5)]),
        "velocity": speed * np.array([*rng.normal(0, 0.3, 2), -1.0]),
        "spin": rng.normal(0, 0.05, 3) * speed / size,
        "clearance": size * rng.uniform(0.02, 0.1),
        "time": size / speed * rng.uniform(0.3, 1.5),
    }


def landing(gear, boulder, hull, n):
    """A lander above regolith, its feet above the boulder if there is one."""
    size = n["size"]
    feet = size * np.stack([1.2 * np.cos(AZIMUTH), 1.2 * np.sin(AZIMUTH), np.full(3, -0.75)], 1)
    hips = size * np.stack([0.2 * np.cos(AZIMUTH), 0.2 * np.sin(AZIMUTH), np.full(3, -0.4)], 1)
    depth = 0.02 * size
    box = NormalForce.from_restitution(
        n["hull_restitution"], Hooke(n["leg_stiffness"]), 0.05 * depth, mass=n["mass"], damping=CompressionDamping
    )
    lander = Lander(
        RigidBody(n["mass"], jnp.diag(n["inertia"])),
        feet,
        hips,
        0.1 * size,
        n["leg_stiffness"],
        gear(n),
        Flywheel(n["wheel"], n["rundown"]),
        Hull(size * jnp.array([1.0, 1.0, 0.7]), box) if hull else None,
    )
    regolith = Regolith(
        n["thickness"],
        n["grain_diameter"],
        n["grain_density"],
        n["grain_modulus"],
        n["friction"],
        gravity=n["gravity"],
    )
    attitude = rotation.from_rotation_vector(n["turn"])
    rock, height = None, jnp.zeros_like(size)
    if boulder:
        heading = n["turn"][2] + n["edge_heading"] + AZIMUTH[1]
        out = jnp.stack([jnp.cos(heading), jnp.sin(heading), jnp.zeros_like(heading)])
        along = jnp.stack([-jnp.sin(heading), jnp.cos(heading), jnp.zeros_like(heading)])
        height = n["edge"]
        rock = Boulder(
            n["edge_at"] * out + upwards(height), along, 0.5 * size, n["modulus"], 0.2 * size, n["friction"]
        )
    scenario = n["scenario"] if boulder else jnp.zeros_like(size)
    model = Touchdown(lander, regolith, rock, Uniform(upwards(-n["gravity"])), scenario, smoothing=1e-3 * size)
    # No tilt of this size brings a foot below the boulder's top.
    above = (0.75 + 0.3) * size + height + n["clearance"]
    state = RigidState(upwards(above), n["velocity"], attitude, n["spin"])
    fall = 0.3 * size / safe.norm(n["velocity"])
    return model, model.start(state), until_time(n["time"] + fall)


def pushes(model, t, state):
    """The rates of both momenta."""
    force, moment = model.wrench(t, state)
    return {"impulse": force, "angular_impulse": moment}


def momenta(model, solution):
    """Both momenta less what forces gave."""
    momentum, angular = jax.vmap(model.momentum)(solution.times, solution.states)
    push = model.lander.body.mass * jnp.max(safe.norm(solution.states.body.velocity))
    reach = jnp.max(safe.norm(solution.states.body.position))
    turning = jnp.max(jnp.abs(angular)) + push * reach
    return [
        (momentum - solution.integrals["impulse"], push),
        (angular - solution.integrals["angular_impulse"], turning),
    ]


def central(n):
    """One damper for all legs."""
    return CentralDamper(n["damping"], n["stroke"])


def maxwell(n):
    """A damper in each leg."""
    return MaxwellLegs(n["damping"])


def touchdown(name, gear, boulder, hull, reverse):
    """A kind of touchdown."""
    return Motion(
        name,
        lander_numbers,
        build=partial(landing, gear, boulder, hull),
        integrals=pushes,
        drives=("flywheel",),
        conserved=momenta,
        reverse=reverse,
        zeros=("turn", "spin", "velocity"),
    )


KINDS = (
    touchdown("touchdown, central damper, boulder", central, True, False, UNROLLED),
    touchdown("touchdown, damped legs, hull", maxwell, False, True, None),
)
