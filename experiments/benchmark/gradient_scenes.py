"""The scenes of `difsim benchmark gradients` that are no others': falls on several laws, a ball that rubs, a cube."""

import jax.numpy as jnp
import numpy as np

from difsim import contact
from difsim.body import RigidBody, RigidState
from difsim.contact import NormalForce, NoSmoothing
from difsim.dynamics import Hopper
from difsim.gravity import Uniform
from experiments.hopper.scenes import GRAVITY, Ground, cube, throw_cube
from experiments.scenes.draws import uniform
from experiments.scenes.engines import Motion
from experiments.scenes.hard import BOUNCE
from experiments.scenes.impacts import Line, LineState
from experiments.scenes.parts import EARTH, IDENTITY, LEVEL, ZERO, until_time, vector
from experiments.scenes.scene import Scene

# A ball of 1 kg falls 1.2 m and sinks 1 mm: k δ^2.5/2.5 = ½ m v²; ten contacts of 0.6 ms delay it little.
DEPTH, HERTZIAN, STIFF = 1e-3, contact.PowerLaw(9.3e8, 1.5), contact.Hooke(2.4e7)
SPEED = np.sqrt(2 * EARTH * 1.2)


def fall(name, *law, **options):
    """Return a scene of a ball of 1 kg that bounces on a law, which returns its restitution."""

    def build(n):
        normal = NormalForce.from_restitution(n["restitution"], *law, **options)
        state = LineState(jnp.stack([0.0 * n["height"], n["height"]]), (0.0, 0.0))
        return Line(normal, gravity=EARTH, is_held=True), state, until_time(n["time"], 2)

    return Scene(name, BOUNCE, build, Motion(), lambda state: state.x[1:])


SMOOTHED = fall("smoothed", HERTZIAN, 0.05 * DEPTH, mass=1.0, damping=contact.TensileDamping)
CLIPPED = fall("clipped force", HERTZIAN, 0.05 * DEPTH, mass=1.0)
KINKED = fall("kinked", HERTZIAN, NoSmoothing(), mass=1.0, damping=contact.TensileDamping)
PROPORTIONAL = fall("proportional", HERTZIAN, NoSmoothing(), speed=SPEED)
# The damper of the hopper paper jumps at touch.
JUMPING = fall("jumping", STIFF, NoSmoothing(), mass=1.0, damping=contact.CompressionDamping)


def collide(n):
    """Return two elastic balls of 1 kg that collide."""
    law = NormalForce.from_restitution(0.8, HERTZIAN, 1e-5, mass=0.5, damping=contact.TensileDamping)
    return Line(law, 0.2), LineState(n["place"], n["velocity"]), until_time(1.0, 2)


def rub(n, depth, height, down, end):
    """Return a ball of 1 kg and 0.1 m that rubs on the ground."""
    spring = contact.PowerLaw(EARTH / depth**1.5, 1.5)
    law = NormalForce.from_restitution(0.6, spring, 0.05 * depth, mass=1.0, damping=contact.TensileDamping)
    friction = contact.AtEachPoint(contact.RegularisedCoulomb(n["friction"], 1e-2))
    touch = contact.SurfaceContact(contact.Ball(0.1), law, friction)
    model = Hopper(RigidBody(1.0, 4e-3 * np.eye(3)), touch, LEVEL, Uniform(vector(z=-EARTH)), resolution=1e-3)
    state = RigidState(vector(z=height), vector(n["along"], 0.0, -down), IDENTITY, ZERO)
    return model, model.start(state), until_time(end, 2)


def make_rubbing(name, friction, along, *numbers):
    """Return a scene of the ball, of which place and speed along the ground and the speed of the rim are seen."""
    return Scene(
        name,
        uniform(friction=(0.9 * friction, 1.1 * friction), along=(0.9 * along, 1.1 * along)),
        lambda n: rub(n, *numbers),
        Motion(),
        lambda s: jnp.stack([s.body.position[0], s.body.velocity[0], 0.1 * s.body.spin[1]]),
    )


def tumble(name, gravity, slowness, height, time):
    """Return a scene of the hopper paper's cube, until its flight after the first contact."""

    def build(n):
        model = cube(gravity, Ground(restitution=n["restitution"], friction=n["friction"]))
        body = throw_cube(model).body
        place = body.position.at[2].set(n["height"])
        start = RigidState(place, slowness * body.velocity, body.attitude, slowness * body.spin)
        return model, model.start(start), until_time(n["time"], 2)

    draws = uniform(restitution=(0.55, 0.65), friction=(0.4, 0.6), height=(0.96 * height, 1.04 * height))
    return Scene(
        name, draws | uniform(time=(0.98 * time, 1.02 * time)), build, Motion(), lambda state: state.body.position
    )


PAIR = Scene(
    "soft pair of balls",
    uniform(place=([-0.05, 0.5], [0.05, 0.54]), velocity=([0.9, -0.1], [1.1, 0.1])),
    collide,
    Motion(),
    lambda state: state.x[1:],
)
# It slides at 1 m/s and rolls after 2 v/(7 μ g) = 0.1 s.
ROLLING = make_rubbing("ball, slides and rolls", 0.3, 1.0, 1e-3, 0.099, 0.0, 0.3)
# It slides through its impact on stiff ground.
OBLIQUE = make_rubbing("ball, oblique impact", 0.1, 4.0, 1e-5, 0.2, 2.0, 0.12)
# Flights after so many contacts of the cube thrown over Phobos, and in microgravity at a tenth of the speed, s.
TIMES = {1: 7.0, 4: 25.0, 6: 40.0, 10: 50.0}
SLOW_TIMES = {1: 50.0, 4: 150.0, 8: 250.0}
TUMBLING = tumble("cube of paper 003", GRAVITY["phobos"], 1.0, 0.5, TIMES[1])
SLOW = tumble("cube of paper 003, microgravity", 6e-5, 0.1, 0.2, SLOW_TIMES[1])

SCENES = (SMOOTHED, CLIPPED, PAIR, ROLLING, OBLIQUE, TUMBLING, SLOW)  # with derivatives that are right
