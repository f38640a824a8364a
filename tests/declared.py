"""An object of each public class, made from its declarations: a new class is tested without a line here.

Only what declarations do not say is written out: the shapes of meshes, landers and beds, and what a rule relates.
"""

import functools
import inspect
import itertools
from types import UnionType
from typing import Any, get_args, get_origin

import equinox as eqx
import numpy as np

import difsim
from difsim import beds, body, camera, contact, dem, dynamics, gravity, sensors, shape, sph
from difsim.curve import Curve
from difsim.declarations import Quantity, UnitQuaternion, declared_fields
from difsim.mesh import box
from difsim.spline import GridSpline

PACKAGES = [difsim, beds, body, camera, contact, dem, dynamics, gravity, sensors, shape, sph]
AROUND = np.radians([0, 120, 240])
FEET = np.stack([1.2 * np.cos(AROUND), 1.2 * np.sin(AROUND), np.full(3, -0.75)], 1)
HIPS = np.stack([0.2 * np.cos(AROUND), 0.2 * np.sin(AROUND), np.full(3, -0.40)], 1)


TABLE = {"origin": (-2.0, -2.0, -2.0), "spacing": 1.0, "coefficients": np.zeros((5, 5, 5))}
CLUMP = {"body": body.RigidBody(1.0, np.eye(3)), "centre": np.zeros((1, 3)), "radius": [0.05]}
# By class: what a constructor takes beside, or in place of, what its declarations say.
ARGUMENTS: dict[type, dict[str, Any]] = {
    beds.GaussianSizes: {"mean": 0.01, "deviation": 0.001},
    body.RigidBody: {"inertia": np.eye(3)},
    body.Lander: {"feet": FEET, "hips": HIPS, "footpad_radius": 0.1},
    body.Stone: {"points": np.eye(3)},
    contact.NormalForce: {"regularisation": 1e-3},
    contact.PowerLaw: {"exponent": 1.5},
    contact.Poncelet: {"strength": 1e3, "hardening": 1e4},
    contact.Boulder: {"edge_point": (0.7, 0.0, 0.2), "edge_direction": (0.0, 1.0, 0.0)},
    dem.LeggedClump: {"legs": (dem.Clump(**CLUMP),) * 3, "seat": FEET, "attachment": np.zeros((3, 3))},
    dynamics.Touchdown: {"scenario": 0.0},
    Curve: {
        "times": [0.0, 1.0],
        "values": np.eye(2, 4),
        "slopes": np.zeros((2, 4)),
        "curvatures": np.zeros((2, 4)),
    },
    gravity.Ellipsoid: {"axes": np.eye(3)},
    GridSpline: TABLE,
    gravity.Gridded: {
        "near": GridSpline(**TABLE),
        "far": GridSpline(**TABLE),
        "centre": np.zeros(3),
        "inner": 0.5,
        "outer": 0.9,
    },
    gravity.Harmonics: {"cosine": np.eye(3), "sine": np.zeros((3, 3))},
    gravity.Polyhedron: {"mesh": box((1.0, 1.0, 1.0)), "density": 2e3},
    shape.Union: {"solids": (shape.Sphere(np.zeros(3), 1.0),)},
    shape.Rough: {"amplitude": 0.1, "seed": 0},
    sph.Tool: {"members": np.array([0, 1])},
    shape.Posed: {"rotation": np.eye(3)},
}


def public_classes() -> list[type]:
    """All Modules that a user can make, of the public names."""
    named = {x for package in PACKAGES for x in vars(package).values() if inspect.isclass(x)}
    found = {x for x in named if issubclass(x, eqx.Module) and not x.__name__.startswith("Abstract")}
    return sorted(found - {difsim.Solution}, key=lambda kind: (kind.__module__, kind.__name__))


def middle(number: Quantity) -> float:
    """A number that is possible, and usual where the declaration says what is."""
    if number.usual is not None:
        low, high = number.usual
        return float(np.sqrt(low * high)) if low > 0 else 0.5 * (low + high)
    low, high = number.possible
    if np.isfinite(low) and np.isfinite(high):
        return 0.5 * (low + high)
    return low + 1 if np.isfinite(low) else high - 1 if np.isfinite(high) else 1.0


def wrong_numbers(number: Quantity) -> list[float]:
    """Numbers that are out of the bounds, at the bounds and far beyond, and those that are not finite."""
    if isinstance(number, UnitQuaternion):
        return []  # a constructor takes any length, since a rate has the structure of a state
    ends = [bound for bound in (number.gt, number.ge, number.lt, number.le) if bound is not None]
    tries = [-1e9, 1e9, *ends, *(end + step for end, step in itertools.product(ends, (-1e-3, 1e-3)))]
    found = [x for x in tries if not np.all(number.contains(np.asarray(x)))]
    return found + ([np.nan, np.inf, -np.inf] if number.is_finite else [])


def right_value(annotation: Any, declared: Any) -> Any:
    if annotation is int:
        return 3
    if declared.quantity is None:
        return example(annotation)
    if isinstance(declared.quantity, UnitQuaternion):
        return np.array([1.0, 0.0, 0.0, 0.0])
    sizes = getattr(annotation, "dim_str", "").split()
    return np.full([int(size) if size.isdigit() else 2 for size in sizes], middle(declared.quantity))


@functools.cache
def example(annotation: Any) -> Any:
    """An object of the class in an annotation; of an abstract one, of its first public class."""
    if get_origin(annotation) is tuple:
        return ()
    if isinstance(annotation, UnionType):
        return None if type(None) in get_args(annotation) else example(get_args(annotation)[0])
    if annotation in public_classes() or annotation in ARGUMENTS:
        return annotation(**arguments(annotation))
    kinds = [kind for kind in public_classes() if issubclass(kind, annotation)]
    return example(min(kinds, key=lambda kind: sum(each.quantity is None for *_, each in declared_fields(kind))))


def arguments(kind: type) -> dict[str, Any]:
    """Right arguments of the constructor of a class."""
    given = dict(ARGUMENTS.get(kind, {}))
    parameters = inspect.signature(kind).parameters
    for name, annotation, declared in declared_fields(kind):
        if name in parameters and name not in given:
            default = parameters[name].default
            given[name] = right_value(annotation, declared) if default is inspect.Parameter.empty else default
    return given
