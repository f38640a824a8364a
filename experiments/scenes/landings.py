"""Scenes of a lander that touches down, with several gears, with a boulder and without."""

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
from experiments.scenes.parts import until_time, vector
from experiments.scenes.scene import Scene

AZIMUTH = np.radians([0.0, 120.0, 240.0])

# A lander of a tenth to ten times the size of Philae, on any soil that the inversion's priors hold. In units of its
# size: stroke, edge, edge_at, clearance; of its mass and size: inertia, wheel; of its speed: velocity, spin, time.
LANDER = (
    magnitude(
        size=(0.2, 3), mass=(5, 500), speed=(0.1, 1.5), gravity=(1e-5, 2), damping=(0.2, 3), rundown=(1, 2000)
    )
    | uniform(
        inertia=([0.15, 0.15, 0.2], [0.22, 0.22, 0.29]), stroke=(0.02, 0.1), stiffness=(0.2, 2), wheel=(0, 0.05)
    )
    | magnitude(thickness=(0.1, 2), grain_diameter=(1e-5, 1e-2), grain_modulus=(1e6, 1e9))
    | uniform(grain_density=(500, 3000), friction=(0.1, 1))
    | uniform(clearance=(0.02, 0.1), heading=(-0.5, 0.6), time=(0.3, 1.5))
    | normal(tilt=(0.08, 2), along=(0.3, 2), spin=(0.05, 3))
)
BOULDER = uniform(
    edge=(0.1, 0.25), edge_at=(0.5, 0.9), edge_heading=(-0.1, 0.12), scenario=(0.05, 0.95, 0.0, 1.0)
) | magnitude(modulus=(1e6, 1e8))


def touch_down(n, gear, hull, boulder, height, scenario):
    """Return a lander above regolith, its feet above the `height` m of the boulder."""
    size, mass, speed = n["size"], n["mass"], n["speed"]
    around = np.stack([np.cos(AZIMUTH), np.sin(AZIMUTH)], axis=1)
    stroke = size * n["stroke"]
    stiffness = n["stiffness"] * mass * speed**2 / stroke**2
    lander = Lander(
        RigidBody(mass, mass * size**2 * jnp.diag(n["inertia"])),
        size * np.c_[1.2 * around, np.full(3, -0.75)],
        size * np.c_[0.2 * around, np.full(3, -0.4)],
        0.1 * size,
        stiffness,
        gear(n["damping"] * jnp.sqrt(stiffness * mass), stroke),
        Flywheel(n["wheel"] * mass * size**2, n["rundown"]),
        hull,
    )
    grains = n["grain_diameter"], n["grain_density"], n["grain_modulus"]
    regolith = Regolith(n["thickness"], *grains, n["friction"], gravity=n["gravity"])
    gravity = Uniform(vector(z=-n["gravity"]))
    model = Touchdown(lander, regolith, boulder, gravity, scenario, smoothing=1e-3 * size)
    # No tilt of this size brings a foot below the boulder's top.
    above = (0.75 + 0.3 + n["clearance"]) * size + height
    attitude = Rotation.from_rotation_vector(jnp.append(n["tilt"], n["heading"]))
    state = RigidState(vector(z=above), speed * jnp.append(n["along"], -1.0), attitude, speed / size * n["spin"])
    return model, model.start(state), until_time((n["time"] + 0.3) * size / speed)


def land_on_boulder(n):
    """Return a lander with a central damper above a boulder, whose edge lies under the second leg."""
    heading = n["heading"] + n["edge_heading"] + AZIMUTH[1]
    out, along = vector(jnp.cos(heading), jnp.sin(heading)), vector(-jnp.sin(heading), jnp.cos(heading))
    size, height = n["size"], n["edge"] * n["size"]
    edge = size * n["edge_at"] * out + vector(z=height)
    boulder = Boulder(edge, along, 0.5 * size, n["modulus"], 0.2 * size, n["friction"])
    return touch_down(n, CentralDamper, None, boulder, height, n["scenario"])


def land_on_hull(n):
    """Return a lander with a hull and a damper in each leg, without an end, above level ground."""
    hull = Hull(n["size"] * jnp.array([1.0, 1.0, 0.7]))
    return touch_down(n, lambda damping, stroke: MaxwellLegs(damping), hull, None, 0.0, jnp.zeros(()))


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


def scene(name, draws, build, reverse=None):
    options = {"integrals": pushes, "drives": ("flywheel",), "conserved": momenta}
    return Scene(f"touchdown, {name}", draws, build, Motion(reverse=reverse), **options)


SCENES = (
    scene("central damper, boulder", LANDER | BOULDER, land_on_boulder, Unrolled()),
    scene("damped legs, hull", LANDER, land_on_hull),
)
