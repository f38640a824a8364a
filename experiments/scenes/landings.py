"""Scenes of a lander that touches down, with several gears, with a boulder and without."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Unrolled, safe
from difsim.body import CentralDamper, Flywheel, Hull, Lander, MaxwellLegs, RigidBody, RigidState
from difsim.contact import Boulder, Regolith
from difsim.dynamics import Touchdown
from difsim.gravity import Uniform
from difsim.rotation import Rotation
from experiments.scenes.draws import magnitude, normal, uniform
from experiments.scenes.engines import Motion
from experiments.scenes.hard import vertical
from experiments.scenes.scene import Scene, until_time

AZIMUTH = np.radians([0.0, 120.0, 240.0])

# A lander of a tenth to ten times the size of Philae, on any soil that the inversion's priors hold. In units of its
# size: stroke, edge, edge_at, clearance; of its mass and size: inertia, wheel; of its speed: velocity, spin, time.
LANDER = {
    "size": magnitude(0.2, 3),
    "mass": magnitude(5, 500),
    "inertia": uniform([0.15, 0.15, 0.2], [0.22, 0.22, 0.29]),
    "speed": magnitude(0.1, 1.5),
    "stroke": uniform(0.02, 0.1),
    "stiffness": uniform(0.2, 2),
    "damping": magnitude(0.2, 3),
    "wheel": uniform(0, 0.05),
    "rundown": magnitude(1, 2000),
    "thickness": magnitude(0.1, 2),
    "grain_diameter": magnitude(1e-5, 1e-2),
    "grain_density": uniform(500, 3000),
    "grain_modulus": magnitude(1e6, 1e9),
    "friction": uniform(0.1, 1),
    "gravity": magnitude(1e-5, 2),
    "edge": uniform(0.1, 0.25),
    "edge_at": uniform(0.5, 0.9),
    "edge_heading": uniform(-0.1, 0.12),
    "modulus": magnitude(1e6, 1e8),
    "scenario": uniform(0.05, 0.95, least=0.0, most=1.0),
    "tilt": normal(0.08, 2),
    "heading": uniform(-0.5, 0.6),
    "along": normal(0.3, 2),
    "spin": normal(0.05, 3),
    "clearance": uniform(0.02, 0.1),
    "time": uniform(0.3, 1.5),
}


def touch_down(gear, has_boulder, has_hull, n):
    """Return a lander above regolith, its feet above the boulder if there is one."""
    size, mass, speed = n["size"], n["mass"], n["speed"]
    feet = size * np.stack([1.2 * np.cos(AZIMUTH), 1.2 * np.sin(AZIMUTH), np.full(3, -0.75)], 1)
    hips = size * np.stack([0.2 * np.cos(AZIMUTH), 0.2 * np.sin(AZIMUTH), np.full(3, -0.4)], 1)
    stroke = size * n["stroke"]
    stiffness = n["stiffness"] * mass * speed**2 / stroke**2
    lander = Lander(
        RigidBody(mass, mass * size**2 * jnp.diag(n["inertia"])),
        feet,
        hips,
        0.1 * size,
        stiffness,
        gear(n["damping"] * jnp.sqrt(stiffness * mass), stroke),
        Flywheel(n["wheel"] * mass * size**2, n["rundown"]),
        Hull(size * jnp.array([1.0, 1.0, 0.7])) if has_hull else None,
    )
    grains = n["grain_diameter"], n["grain_density"], n["grain_modulus"]
    regolith = Regolith(n["thickness"], *grains, n["friction"], gravity=n["gravity"])
    height = n["edge"] * size if has_boulder else 0.0
    scenario = n["scenario"] if has_boulder else jnp.zeros_like(size)
    gravity = Uniform(vertical(-n["gravity"]))
    model = Touchdown(
        lander, regolith, make_boulder(n) if has_boulder else None, gravity, scenario, smoothing=1e-3 * size
    )
    # No tilt of this size brings a foot below the boulder's top.
    above = (0.75 + 0.3 + n["clearance"]) * size + height
    velocity = speed * jnp.append(n["along"], -1.0)
    attitude = Rotation.from_rotation_vector(jnp.append(n["tilt"], n["heading"]))
    state = RigidState(vertical(above), velocity, attitude, speed / size * n["spin"])
    return model, model.start(state), until_time((n["time"] + 0.3) * size / speed)


def make_boulder(n):
    """Return a boulder whose edge lies under the second leg."""
    heading = n["heading"] + n["edge_heading"] + AZIMUTH[1]
    out = jnp.stack([jnp.cos(heading), jnp.sin(heading), jnp.zeros_like(heading)])
    along = jnp.stack([-jnp.sin(heading), jnp.cos(heading), jnp.zeros_like(heading)])
    edge = n["size"] * (n["edge_at"] * out + vertical(n["edge"]))
    return Boulder(edge, along, 0.5 * n["size"], n["modulus"], 0.2 * n["size"], n["friction"])


def pushes(model, t, state):
    """Return the rates of both momenta."""
    force, moment = model.wrench(t, state)
    return {"impulse": force, "angular_impulse": moment}


def momenta(model, solution):
    """Return both momenta less what forces gave."""
    momentum, angular = jax.vmap(model.momentum)(solution.times, solution.states)
    push = model.lander.body.mass * jnp.max(safe.norm(solution.states.body.velocity))
    turning = jnp.max(jnp.abs(angular)) + push * jnp.max(safe.norm(solution.states.body.position))
    given = solution.integrals
    return [(momentum - given["impulse"], push), (angular - given["angular_impulse"], turning)]


def damped_legs(damping, stroke):
    """Return a damper in each leg, without an end."""
    return MaxwellLegs(damping)


def scene(name, gear, has_boulder, has_hull, reverse=None):
    """Return a scene of one touchdown."""
    return Scene(
        name,
        LANDER,
        partial(touch_down, gear, has_boulder, has_hull),
        Motion(reverse=reverse),
        integrals=pushes,
        drives=("flywheel",),
        conserved=momenta,
    )


SCENES = (
    scene("touchdown, central damper, boulder", CentralDamper, True, False, Unrolled()),
    scene("touchdown, damped legs, hull", damped_legs, False, True),
)
