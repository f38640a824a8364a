"""Scenes of a ball that rubs on the ground, and of the hopper paper's tumbling cube: one contact after the other."""

from functools import partial

import jax.numpy as jnp
import numpy as np

from difsim.body import RigidBody, RigidState
from difsim.contact import (
    AtEachPoint,
    Ball,
    NormalForce,
    PowerLaw,
    RegularisedCoulomb,
    SurfaceContact,
    TensileDamping,
)
from difsim.dynamics import Hopper
from difsim.gravity import Uniform
from experiments.hopper.scenes import GRAVITY, Ground, cube, throw_cube
from experiments.scenes.closed import EARTH, FLOOR
from experiments.scenes.draws import uniform
from experiments.scenes.engines import Motion
from experiments.scenes.hard import IDENTITY, ZERO
from experiments.scenes.scene import Scene

MICROGRAVITY = 6e-5  # m/s²
# Flights after so many contacts of the cube thrown over Phobos, and in microgravity at a tenth of the speed, s.
TIMES = {1: 7.0, 4: 25.0, 6: 40.0, 10: 50.0}
SLOW_TIMES = {1: 50.0, 4: 150.0, 8: 250.0}


def rub(depth, height, down, end, n):
    """Return a ball of 1 kg and 0.1 m that rubs on the ground."""
    spring = PowerLaw(EARTH / depth**1.5, 1.5)
    law = NormalForce.from_restitution(0.6, spring, 0.05 * depth, mass=1.0, damping=TensileDamping)
    contact = SurfaceContact(Ball(0.1), law, AtEachPoint(RegularisedCoulomb(n["friction"], 1e-2)))
    body = RigidBody(1.0, 4e-3 * np.eye(3))
    model = Hopper(body, contact, FLOOR, Uniform((0.0, 0.0, -EARTH)), resolution=1e-3)
    velocity = jnp.stack([n["along"], 0.0 * n["along"], jnp.full_like(n["along"], -down)])
    return model, model.start(RigidState((0.0, 0.0, height), velocity, IDENTITY, ZERO)), jnp.array([0.0, end])


def rubbed_motion(state):
    """Return place and speed along the ground, and the speed of the rim."""
    body = state.body
    return jnp.stack([body.position[0], body.velocity[0], 0.1 * body.spin[1]])


def throw(gravity, slowness, n):
    """Return the cube that is thrown."""
    model = cube(gravity, Ground(restitution=n["restitution"], friction=n["friction"]))
    body = throw_cube(model).body
    place = body.position.at[2].set(n["height"])
    start = RigidState(place, slowness * body.velocity, body.attitude, slowness * body.spin)
    return model, model.start(start), jnp.stack([0.0 * n["time"], n["time"]])


def place_of_body(state):
    """Return the place of the centre of mass."""
    return state.body.position


def build_tumbling_scene(name, gravity, slowness, height, time):
    """Return a scene of the cube, until its flight after the first contact."""
    draws = {
        "restitution": uniform(0.55, 0.65),
        "friction": uniform(0.4, 0.6),
        "height": uniform(0.96 * height, 1.04 * height),
        "time": uniform(0.98 * time, 1.02 * time),
    }
    return Scene(name, draws, partial(throw, gravity, slowness), Motion(), place_of_body, lambda n: 1.0)


def build_rubbing_scene(name, friction, along, *numbers):
    """Return a scene of the ball that rubs."""
    draws = {"friction": uniform(0.9 * friction, 1.1 * friction), "along": uniform(0.9 * along, 1.1 * along)}
    return Scene(name, draws, partial(rub, *numbers), Motion(), rubbed_motion, lambda n: 1.0)


# It slides at 1 m/s and rolls after 2 v/(7 μ g) = 0.1 s.
ROLLING = build_rubbing_scene("ball, slides and rolls", 0.3, 1.0, 1e-3, 0.099, 0.0, 0.3)
# It slides through its impact on stiff ground.
OBLIQUE = build_rubbing_scene("ball, oblique impact", 0.1, 4.0, 1e-5, 0.2, 2.0, 0.12)
TUMBLING = build_tumbling_scene("cube of paper 003", GRAVITY["phobos"], 1.0, 0.5, TIMES[1])
SLOW = build_tumbling_scene("cube of paper 003, microgravity", MICROGRAVITY, 0.1, 0.2, SLOW_TIMES[1])

SCENES = (ROLLING, OBLIQUE, TUMBLING, SLOW)
