"""All laws, fields and shapes that general tests run over: a new one is one line here."""

import jax.numpy as jnp
import numpy as np
import pytest

from difsim import contact, gravity, shape
from difsim.contact.friction import TangentialHistory
from difsim.mesh import TriMesh


def rotation(seed: int) -> np.ndarray:
    """A random rotation matrix [3,3]."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q * np.linalg.det(q)


def catalogue(entries: dict) -> list:
    return [pytest.param(value, id=name) for name, value in entries.items()]


_G = 6.6743e-11
_MASCONS = gravity.Mascons([3.0, 1.0, 2.0], [[0.1, 0.2, 0.3], [-0.4, 0.1, 0.0], [0.3, -0.3, 0.2]])
_TETRAHEDRON = TriMesh(
    np.array([[-0.7, -0.6, -0.5], [1.1, -0.3, -0.6], [0.1, 1.2, -0.4], [0.2, 0.1, 1.3]]),
    np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]),
)
_ELLIPSOID = gravity.Ellipsoid((0.1, -0.2, 0.3), rotation(1), (1.2, 0.7, 0.5), 1 / _G)

# Bodies of about 1 m with GM about 1 m³/s² around the origin, so that one set of points serves all. The
# wrappers wrap mascons: the ellipsoid is the slow one to compile, and once is enough.
FIELDS = catalogue(
    {
        "uniform": gravity.Uniform((0.3, -0.2, -1.0)),
        "point mass": gravity.PointMass(2.0, (0.1, 0.0, -0.2)),
        "mascons": _MASCONS,
        "balls": gravity.Mascons([3.0, 1.0], [[0.1, 0.2, 0.3], [-0.4, 0.1, 0.0]], (0.5, 0.2)),
        "ellipsoid": _ELLIPSOID,
        "polyhedron": gravity.Polyhedron(_TETRAHEDRON, 1 / _G),
        "rotating": gravity.Rotating(_MASCONS, (0.1, 0.2, -0.3)),
        "sum": _MASCONS + gravity.Uniform((0.0, 0.0, -0.5)),
        "scaled": 2.5 * _MASCONS,
    }
)
POINTS = [jnp.array(x) for x in ([1.3, 0.4, -0.8], [-2.0, 1.0, 3.0], [0.2, -0.1, 0.25])]

_BOX = shape.Box((0.5, 0.8, 0.3))
_PRISM = shape.Prism(1.0, 0.2)

SHAPES = catalogue(
    {
        "plane": shape.Plane((0.1, 0.2, -0.3), (0.2, -0.3, 2.0)),
        "sphere": shape.Sphere((0.1, -0.2, 0.3), 0.7),
        "box": _BOX,
        "prism": _PRISM,
        "drum": shape.Complement(shape.Cylinder(0.6)),
        "posed": shape.Posed(_PRISM, (0.2, -0.1, 0.3), rotation(5)),
        "union": shape.Union((_BOX, shape.Sphere((0.6, 0.0, 0.2), 0.4))),
        "offset": shape.Offset(_BOX, 0.05),
        "ellipsoid": shape.Posed(shape.Ellipsoid((1.2, 0.7, 0.5)), (0.1, -0.2, 0.3), rotation(1)),
    }
)


def _normals(regularisation) -> dict:
    """Laws for about 1 kg at 1 m/s: depths of centimetres."""
    parts = {
        "linear": (contact.Hooke(1e4), contact.TensileDamping(30.0)),
        "linear clipped": (contact.Hooke(1e4), contact.ClippedDamping(60.0)),
        "linear compressive": (contact.Hooke(1e4), contact.CompressionDamping(90.0)),
        "power 1": (contact.PowerLaw(1e4, 1), contact.TensileDamping(30.0)),
        "power 1.5": (contact.PowerLaw(1e5, 1.5), contact.TensileDamping(100.0)),
        "power 1.5 clipped": (contact.PowerLaw(1e5, 1.5), contact.ClippedDamping(100.0)),
        "power 1.5 compressive": (contact.PowerLaw(1e5, 1.5), contact.CompressionDamping(100.0)),
        "power 2 clipped": (contact.PowerLaw(1e6, 2), contact.ClippedDamping(900.0)),
        "hunt-crossley 1.5": (contact.PowerLaw(1e5, 1.5), contact.HuntCrossley(0.8)),
        "hertz": (contact.Hertz(1e6, 0.1), contact.Undamped()),
    }
    return {name: contact.NormalForce(*of, regularisation) for name, of in parts.items()}


NORMALS = catalogue(
    {f"{name}, smoothed": law for name, law in _normals(1e-3).items()}
    | {f"{name}, not smoothed": law for name, law in _normals(contact.NoSmoothing()).items()}
)

# Every friction as a function of (normal force, slip velocity).
FRICTIONS = catalogue(
    {
        "Coulomb": (contact.RegularisedCoulomb(0.6, 1e-3), lambda law, N, v: law.force(N, v)),
        "stick-slip": (
            contact.StickSlip(0.5, 0.7, 1e-3),
            lambda law, N, v: law.force(N, v, jnp.array([0.3, 0.1, 0.0])),
        ),
        "spring": (contact.TangentialSpring(0.5, 1e3), lambda law, N, v: spring_force(law, N, v)),
        "Mindlin": (contact.MindlinSpring(0.5, 1e6, 0.1), lambda law, N, v: spring_force(law, N, v)),
    }
)
ROLLINGS = catalogue(
    {
        "torque": contact.RollingTorque(0.01, 1e-3),
        "paper 003": contact.RollingForceAndTorque(0.01, 1e-3),
        "spinning": contact.SpinningResistance(0.002, 1e-3),
    }
)

COHESIONS = catalogue(
    {"constant": contact.ConstantCohesion(2.0, 1e-3), "linear": contact.LinearCohesion(2.0, 1e-3)}
)


def spring_force(law, normal_force, slip_velocity):
    """Force after one step of a spring that was loaded a little before."""
    history = TangentialHistory(jnp.array([0.2, -0.1, 0.0]), 2e3)
    normal = jnp.array([0.0, 0.0, 1.0])
    return law.advance(history, jnp.array(1e-3), normal_force, slip_velocity, normal, 1e-4).force
