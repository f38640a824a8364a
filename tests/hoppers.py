"""Hoppers for tests: a ball and a cube in chosen laws."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import contact, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import Ball, NormalForce, NoSmoothing, SurfaceContact, Vertices
from difsim.dynamics import Hopper
from difsim.gravity import Uniform
from difsim.shape import Plane
from tests.ways import forward

MASS, RADIUS, EDGE = 2.0, 0.3, 0.4
STIFFNESS = 1e5
CUBE = MASS * EDGE**2 / 6 * np.eye(3)  # kg m²
FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
TIGHT = forward(1e-9, 1e-9, max_steps=20_000)
IMPACT = 0.1  # m/s, at which Hunt and Crossley's law has its restitution
# A ball in plain laws, for tests of what is around the contact.
BALL = SurfaceContact(
    Ball(RADIUS),
    NormalForce(contact.PowerLaw(1e4, 1.5), contact.HuntCrossley(0.8), 1e-3),
    contact.AtEachPoint(contact.RegularisedCoulomb(0.6, 1e-2)),
)


def normal(name, e, width=0.0, mass=MASS) -> NormalForce:
    """A law of `STIFFNESS` that returns `e`: of which force and damping, by the words of its name."""
    smoothing = width if width else NoSmoothing()
    elastic = contact.Hooke(STIFFNESS) if name.startswith("linear") else contact.PowerLaw(STIFFNESS, 1.5)
    if name == "hunt-crossley":
        return NormalForce.from_restitution(e, elastic, smoothing, speed=IMPACT)
    damping = contact.ClippedDamping if name.endswith("clipped") else contact.CompressionDamping
    return NormalForce.from_restitution(e, elastic, smoothing, mass=mass, damping=damping)


FRICTIONS = {
    "each point": lambda mu, speed: contact.AtEachPoint(contact.RegularisedCoulomb(mu, speed)),
    "effective point": lambda mu, speed: contact.AtEffectivePoint(contact.StickSlip(mu, mu, speed)),
    "spring": lambda mu, _: contact.SpringAtEachPoint(contact.TangentialSpring(mu, 4e4)),
}


def friction_law(name, friction, speed=1e-3):
    """One of `FRICTIONS` with a coefficient of friction."""
    return FRICTIONS[name](friction, speed)


def hopper(outline, inertia, law, friction_law, gravity=(0.0, 0.0, 0.0), pull_off=0.0) -> Hopper:
    """A hopper of one structure; the pull of cohesion may be 0."""
    cohesion = (contact.LinearCohesion(float(pull_off), 2e-3),)
    touch = SurfaceContact(outline, law, friction_law, cohesion=cohesion)
    return Hopper(RigidBody(MASS, inertia), touch, FLOOR, Uniform(gravity), resolution=1e-2)


def ball(law, friction_law, gravity=(0.0, 0.0, 0.0)) -> Hopper:
    return hopper(Ball(RADIUS), 0.4 * MASS * RADIUS**2 * np.eye(3), law, friction_law, gravity)


def cube(law, friction_law, **numbers) -> Hopper:
    return hopper(Vertices.box((EDGE, EDGE, EDGE)), CUBE, law, friction_law, **numbers)


def state(position, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), attitude=(1.0, 0.0, 0.0, 0.0)) -> RigidState:
    attitude = np.asarray(attitude) / np.linalg.norm(attitude)
    return RigidState(position, velocity, attitude, spin)


def follow(model, start: RigidState, end, way=TIGHT):
    """The solution at five times from 0 to `end`."""
    return simulate(model, model.start(start), jnp.linspace(0.0, end, 5), **way)


def account(solution) -> tuple[np.ndarray, dict]:
    """The energy's sum at each time, and its parts."""
    parts = jax.tree.map(np.asarray, solution.energy)
    return sum(parts.values()), parts


def static_depth(weight, points=1):
    """Of a linear law under a weight in N."""
    return weight / (points * STIFFNESS)
