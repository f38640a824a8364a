"""All laws, fields and shapes that general tests run over: a new one is one line here."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from difsim import contact, gravity, shape
from difsim.contact.friction import TangentialHistory
from difsim.dynamics.primary import Tide
from difsim.mesh import TriMesh


class Catalogue(Mapping):
    """Models by name. Each is made when it is first asked for: nothing is computed as tests are collected."""

    def __init__(self, makers: dict[str, Callable]):
        self.makers = makers
        self.make = cache(lambda name: makers[name]())

    def __getitem__(self, name: str) -> Any:
        return self.make(name)

    def __iter__(self):
        return iter(self.makers)

    def __len__(self):
        return len(self.makers)


def rotation(seed: int) -> np.ndarray:
    """A random rotation matrix [3,3]."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q * np.linalg.det(q)


_G = 6.6743e-11


def mascons():
    return gravity.Mascons([3.0, 1.0, 2.0], [[0.1, 0.2, 0.3], [-0.4, 0.1, 0.0], [0.3, -0.3, 0.2]])


def tetrahedron():
    corners = [[-0.7, -0.6, -0.5], [1.1, -0.3, -0.6], [0.1, 1.2, -0.4], [0.2, 0.1, 1.3]]
    return TriMesh(np.array(corners), np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]))


# Bodies of about 1 m with GM about 1 m³/s² around the origin, so that one set of points serves all. The
# wrappers wrap mascons: the ellipsoid is the slow one to compile, and once is enough.
FIELDS = Catalogue(
    {
        "uniform": lambda: gravity.Uniform((0.3, -0.2, -1.0)),
        "point mass": lambda: gravity.PointMass(2.0, (0.1, 0.0, -0.2)),
        "mascons": mascons,
        "balls": lambda: gravity.Mascons([3.0, 1.0], [[0.1, 0.2, 0.3], [-0.4, 0.1, 0.0]], (0.5, 0.2)),
        "ellipsoid": lambda: gravity.Ellipsoid((0.1, -0.2, 0.3), rotation(1), (1.2, 0.7, 0.5), 1 / _G),
        "polyhedron": lambda: gravity.Polyhedron(tetrahedron(), 1 / _G),
        "harmonics": lambda: gravity.Harmonics(5.0, 0.2, *np.random.default_rng(4).normal(0.0, 1.0, (2, 5, 5))),
        "rotating": lambda: gravity.Rotating(mascons(), (0.1, 0.2, -0.3)),
        "tide": lambda: Tide(gravity.PointMass(90.0, (0.1, 0.0, -0.2)), (4.0, 3.0, -1.0)),
        "sum": lambda: mascons() + gravity.Uniform((0.0, 0.0, -0.5)),
        "scaled": lambda: 2.5 * mascons(),
    }
)
POINTS = np.array([[1.3, 0.4, -0.8], [-2.0, 1.0, 3.0], [0.2, -0.1, 0.25]])


def block():
    return shape.Box((0.5, 0.8, 0.3))


def prism():
    return shape.Prism(1.0, 0.2)


SHAPES = Catalogue(
    {
        "plane": lambda: shape.Plane((0.1, 0.2, -0.3), (0.2, -0.3, 2.0)),
        "sphere": lambda: shape.Sphere((0.1, -0.2, 0.3), 0.7),
        "box": block,
        "prism": prism,
        "drum": lambda: shape.Complement(shape.Cylinder(0.6)),
        "posed": lambda: shape.Posed(prism(), (0.2, -0.1, 0.3), rotation(5)),
        "union": lambda: shape.Union((block(), shape.Sphere((0.6, 0.0, 0.2), 0.4))),
        "offset": lambda: shape.Offset(block(), 0.05),
        "ellipsoid": lambda: shape.Posed(shape.Ellipsoid((1.2, 0.7, 0.5)), (0.1, -0.2, 0.3), rotation(1)),
    }
)

# Laws for about 1 kg at 1 m/s: depths of centimetres.
_PARTS = {
    "linear": lambda: (contact.Hooke(1e4), contact.TensileDamping(30.0)),
    "linear compressive": lambda: (contact.Hooke(1e4), contact.CompressionDamping(90.0)),
    "power 1": lambda: (contact.PowerLaw(1e4, 1), contact.TensileDamping(30.0)),
    "power 1.5 clipped": lambda: (contact.PowerLaw(1e5, 1.5), contact.ClippedDamping(100.0)),
    "power 2 clipped": lambda: (contact.PowerLaw(1e6, 2), contact.ClippedDamping(900.0)),
    "hunt-crossley 1.5": lambda: (contact.PowerLaw(1e5, 1.5), contact.HuntCrossley(0.8)),
    "hertz": lambda: (contact.Hertz(1e6, 0.1), contact.Undamped()),
}
_WIDTHS = {"smoothed": lambda: 1e-3, "not smoothed": contact.NoSmoothing}
NORMALS = Catalogue(
    {
        f"{name}, {how}": lambda parts=parts, width=width: contact.NormalForce(*parts(), width())
        for how, width in _WIDTHS.items()
        for name, parts in _PARTS.items()
    }
)

FRICTIONS = Catalogue(
    {
        "Coulomb": lambda: contact.RegularisedCoulomb(0.6, 1e-3),
        "stick-slip": lambda: contact.StickSlip(0.5, 0.7, 1e-3),
        "spring": lambda: contact.TangentialSpring(0.5, 1e3),
        "Mindlin": lambda: contact.MindlinSpring(0.5, 1e6, 0.1),
    }
)
ROLLINGS = Catalogue(
    {
        "torque": lambda: contact.RollingTorque(0.01, 1e-3),
        "paper 003": lambda: contact.RollingForceAndTorque(0.01, 1e-3),
        "spinning": lambda: contact.SpinningResistance(0.002, 1e-3),
    }
)
COHESIONS = Catalogue(
    {
        "constant": lambda: contact.ConstantCohesion(2.0, 1e-3),
        "linear": lambda: contact.LinearCohesion(2.0, 1e-3),
    }
)


def friction_force(law, normal_force, slip_velocity):
    """Force of any friction; of a spring after one step, when it was loaded a little before."""
    if isinstance(law, contact.RegularisedCoulomb):
        return law.force(normal_force, slip_velocity)
    if isinstance(law, contact.StickSlip):
        return law.force(normal_force, slip_velocity, jnp.array([0.3, 0.1, 0.0]))
    history = TangentialHistory(jnp.array([0.2, -0.1, 0.0]), 2e3)
    normal = jnp.array([0.0, 0.0, 1.0])
    return law.advance(history, jnp.array(1e-3), normal_force, slip_velocity, normal, 1e-4).force
