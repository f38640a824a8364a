"""Hoppers for tests: a ball and a cube whose laws are chosen by a number, so that one compiled run serves all."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import contact, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import AbstractNormalForce, Ball, NoSmoothing, SurfaceContact, Vertices
from difsim.contact.friction_distribution import AbstractFrictionDistribution
from difsim.contact.regularisation import AbstractRegularisation, Smoothing
from difsim.declarations import quantity
from difsim.dynamics import Hopper
from difsim.gravity import PointMass, Uniform
from difsim.shape import Plane
from difsim.typing import Scalar
from tests.ways import forward

MASS, RADIUS, EDGE = 2.0, 0.3, 0.4
STIFFNESS = 1e5
CUBE = MASS * EDGE**2 / 6 * np.eye(3)  # kg m²
FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
TIGHT = forward(1e-9, 1e-9, max_steps=20_000)
LINEAR = ["linear", "linear clipped", "linear compressive"]
POWER = [f"power {p:g}{clipped}" for clipped in ("", " clipped") for p in (1, 1.5, 2)]
NORMALS = [*LINEAR, *POWER, "hertz", "hunt-crossley"]
IMPACT = 0.1  # m/s, at which the last has its restitution
# A ball in plain laws, for tests of what is around the contact.
BALL = SurfaceContact(
    Ball(RADIUS),
    contact.NormalForce(contact.PowerLaw(1e4, 1.5), contact.HuntCrossley(0.8), 1e-3),
    contact.AtEachPoint(contact.RegularisedCoulomb(0.6, 1e-2)),
)
FRICTIONS = ["each point", "effective point", "spring", "Mindlin"]


class Width(AbstractRegularisation):
    """`Smoothing(width)`, or `NoSmoothing()` for width 0."""

    width: Scalar = quantity("", "a number of a toy")

    @property
    def is_smooth(self):
        return True

    @property
    def reach(self):
        return 20 * self.width

    def penetration(self, depth):
        smooth = Smoothing(jnp.where(self.width > 0, self.width, 1.0)).penetration(depth)
        return jnp.where(self.width > 0, smooth, NoSmoothing().penetration(depth))


class OneNormal(AbstractNormalForce):
    laws: tuple[AbstractNormalForce, ...]
    which: Scalar = quantity("", "a number of a toy")
    regularisation: AbstractRegularisation

    @property
    def is_discontinuous(self):
        return True

    def force(self, depth, rate):
        return self._choose([lambda law=law: law.force(depth, rate) for law in self.laws])

    def elastic_energy(self, depth):
        return self._choose([lambda law=law: law.elastic_energy(depth) for law in self.laws])

    def _choose(self, options):
        return jax.lax.switch(self.which.astype(int), options)


class OneFriction(AbstractFrictionDistribution):
    friction_laws: tuple[AbstractFrictionDistribution, ...]
    which: Scalar = quantity("", "a number of a toy")

    def memory(self, points):
        return jnp.zeros((points, 3))

    def __call__(self, *args):
        return jax.lax.switch(
            self.which.astype(int),
            [lambda friction_law=friction_law: friction_law(*args) for friction_law in self.friction_laws],
        )


def normal(name, e=1.0, width=0.0, mass=MASS) -> OneNormal:
    """One of `NORMALS` of `STIFFNESS` that returns `e` for `mass`."""
    width, tensile, clipped = Width(width), contact.TensileDamping, contact.ClippedDamping

    def viscous(elastic, damping):
        return contact.NormalForce.from_restitution(e, elastic, width, mass=mass, damping=damping)

    laws = [
        viscous(contact.Hooke(STIFFNESS), damping) for damping in (tensile, clipped, contact.CompressionDamping)
    ]
    for damping in (tensile, clipped):
        laws += [viscous(contact.PowerLaw(STIFFNESS, p), damping) for p in (1, 1.5, 2)]
    laws.append(contact.NormalForce(contact.Hertz(0.75 * STIFFNESS, 1.0), contact.Undamped(), width))
    power = contact.PowerLaw(STIFFNESS, 1.5)
    laws.append(contact.NormalForce.from_restitution(e, power, width, speed=IMPACT))
    return OneNormal(tuple(laws), float(NORMALS.index(name)), width)


def friction_law(name, friction=0.0, speed=1e-3, spring=4e4, sticking=None) -> OneFriction:
    """One of `FRICTIONS` with a coefficient of friction."""
    sticking = friction if sticking is None else sticking
    friction_laws = (
        contact.AtEachPoint(contact.RegularisedCoulomb(friction, speed)),
        contact.AtEffectivePoint(contact.StickSlip(friction, sticking, speed)),
        contact.SpringAtEachPoint(contact.TangentialSpring(friction, spring)),
        contact.SpringAtEachPoint(contact.MindlinSpring(friction, 2e4, 1.0)),
    )
    return OneFriction(friction_laws, float(FRICTIONS.index(name)))


def hopper(
    outline,
    inertia,
    law,
    friction_law,
    surface=FLOOR,
    gravity=(0.0, 0.0, 0.0),
    attractor=0.0,
    omega=(0.0, 0.0, 0.0),
    torque=0.0,
    paper=0.0,
    spinning=0.0,
    pull_off=0.0,
    resolution=1e-2,
) -> Hopper:
    """A hopper of one structure; lengths of rolling resistances and the pull of cohesion may be 0."""
    rolling = (
        contact.RollingTorque(torque, 1e-4),
        contact.RollingForceAndTorque(paper, 1e-4),
        contact.SpinningResistance(spinning, 1e-4),
    )
    cohesion = (contact.LinearCohesion(float(pull_off), 2e-3),)
    return Hopper(
        RigidBody(MASS, inertia),
        SurfaceContact(outline, law, friction_law, rolling, cohesion),
        surface,
        PointMass(attractor, (0.0, 0.0, -3.0)) + Uniform(gravity),
        omega,
        resolution,
    )


def ball(law, friction_law, **numbers) -> Hopper:
    return hopper(Ball(RADIUS), 0.4 * MASS * RADIUS**2 * np.eye(3), law, friction_law, **numbers)


def cube(law, friction_law, inertia=CUBE, **numbers) -> Hopper:
    return hopper(Vertices.box((EDGE, EDGE, EDGE)), inertia, law, friction_law, **numbers)


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


def with_surface(model: Hopper, surface) -> Hopper:
    return eqx.tree_at(lambda m: m.surface, model, surface)
