"""Declared quantities: a constructor refuses what is out of bounds by name, and a run finds the same inside `jit`."""

import functools
import inspect
import itertools
import re
import traceback
from collections.abc import Callable
from types import UnionType
from typing import Any, get_args, get_origin

import equinox as eqx
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

import difsim
from difsim import Status, beds, body, camera, contact, dem, dynamics, gravity, sensors, shape, simulate, sph
from difsim.curve import Curve
from difsim.declarations import Quantity, UnitQuaternion, declared_fields, is_valid, quantities
from difsim.mesh import box
from difsim.spline import GridSpline

PACKAGES = [difsim, beds, body, camera, contact, dem, dynamics, gravity, sensors, shape, sph]
AROUND = np.radians([0, 120, 240])
FEET = np.stack([1.2 * np.cos(AROUND), 1.2 * np.sin(AROUND), np.full(3, -0.75)], 1)
HIPS = np.stack([0.2 * np.cos(AROUND), 0.2 * np.sin(AROUND), np.full(3, -0.40)], 1)

TABLE = {"origin": (-2.0, -2.0, -2.0), "spacing": 1.0, "coefficients": np.zeros((5, 5, 5))}
CLUMP = {"body": body.RigidBody(1.0, np.eye(3)), "centre": np.zeros((1, 3)), "radius": [0.05]}
# By class: what a constructor takes on top, or in place, of what its declarations say.
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


REMEDY = re.compile(r"give|must|return|write|use|look|swap|correct|make|made of|divide|leave|widen|need", re.I)
OURS = re.compile(r"/(difsim|inversion)/")
NO_NUMBERS = ["1.0", None, 1j, {"x": 1.0}, [[1.0], [1.0, 2.0]]]
NO_OBJECTS = ["plane", {"x": 1.0}]
NO_COUNTS = [2.5, "3", None, True, np.ones(2, int), -1]
RESULTS = {dynamics.Approach}  # which models return
CLASSES = [kind for kind in public_classes() if declared_fields(kind) and kind not in RESULTS]


def refuse(call: Callable, word: str) -> str:
    """The message of a call that our own code refuses, with the word that says what is wrong, and with a remedy.

    Types are not checked meanwhile, as they are in other tests, and not for users.
    """
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    where = traceback.extract_tb(caught.value.__traceback__)[-1].filename
    message = str(caught.value)
    assert OURS.search(where), f"raised by {where}: {message}"
    assert word in message and REMEDY.search(message), message
    return message


def bad_values(annotation, declared, right):
    if declared.quantity is not None:
        return NO_NUMBERS + [np.full_like(np.asarray(right, float), x) for x in wrong_numbers(declared.quantity)]
    # A field with a converter of its own may take a number for an object.
    return (
        NO_COUNTS if annotation is int else NO_OBJECTS + [3.0] * declared.convert.__qualname__.startswith("part.")
    )


def spoil_rows(kind):
    """The numbers of a class, right ones first, and then with one of them wrong in each row."""
    right = arguments(kind)
    names = [name for name in quantities(kind) if right.get(name) is not None]
    numbers = {name: np.asarray(right[name], float) for name in names}
    rows = [numbers]
    for name in names:
        rows += [numbers | {name: np.full_like(numbers[name], x)} for x in wrong_numbers(quantities(kind)[name])]
    return {name: np.stack([row[name] for row in rows]) for name in names}


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.__name__) for kind in CLASSES])
def test_what_is_wrong_is_refused_by_name(kind):
    right = arguments(kind)
    assert is_valid(kind(**right))
    for name, annotation, declared in declared_fields(kind):
        if name not in right:
            continue  # the constructor makes it by itself
        for value in bad_values(annotation, declared, right[name]):
            if not (value is None and (right[name] is None or "None" in str(annotation))):
                refuse(lambda name=name, value=value: kind(**right | {name: value}), name)


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.__name__) for kind in CLASSES])
def test_new_numbers_make_no_new_program(kind):
    """The numbers, Python's or numpy's, are leaves of the same types, so that new ones trace nothing again."""
    right = arguments(kind)
    numbers = {name: np.asarray(right[name], float) for name in quantities(kind) if right.get(name) is not None}
    plain = kind(**right | {name: x.tolist() for name, x in numbers.items()})
    other = kind(**right | {name: (1 + 1e-9) * x for name, x in numbers.items()})
    assert jax.tree.structure(plain) == jax.tree.structure(other)
    kinds = [[(x.shape, x.dtype) for x in jax.tree.leaves(one)] for one in (plain, other)]
    assert kinds[0] == kinds[1]


def test_the_same_is_found_inside_jit():
    """One program for all wrong numbers of all classes, each in its place."""
    rows = {kind.__name__: spoil_rows(kind) for kind in CLASSES}
    kinds = {kind.__name__: kind for kind in CLASSES}

    @jax.jit
    def judge(rows):
        make = lambda kind, values: is_valid(kind(**arguments(kind) | values))  # noqa: E731
        return {name: jax.vmap(lambda values: make(kinds[name], values))(rows[name]) for name in rows}  # noqa: B023

    found = judge({name: values for name, values in rows.items() if values})
    assert [name for name, valid in found.items() if not valid[0]] == []
    assert {name: np.flatnonzero(valid[1:]) for name, valid in found.items() if valid[1:].any()} == {}


def test_a_wrong_number_deep_inside_a_model_is_found():
    model = example(dynamics.Hopper)
    deep = lambda m: m.contact.normal.elastic  # noqa: E731
    kind = type(deep(model))
    name = next(iter(quantities(kind)))
    spoil = lambda x: eqx.tree_at(lambda m: getattr(deep(m), name), model, jnp.asarray(x))  # noqa: E731
    assert is_valid(({"model": [model]}, 3.0)) and not jax.jit(lambda x: is_valid([spoil(x)]))(-1.0)
    with pytest.raises(ValueError, match=f"{kind.__name__}: {name} = -1"):
        is_valid([spoil(-1.0)])


def test_a_wrong_model_made_in_jit_is_refused_by_name():
    right = arguments(dynamics.Flight)
    model = eqx.filter_jit(lambda x: dynamics.Flight(**right | {"resolution": x}))(-1.0)
    state = example(dynamics.FlightState)
    with pytest.raises(ValueError, match="resolution = -1"):
        simulate(model, state, [0.0, 1.0])
    assert simulate(model, state, [0.0, 1.0], throw=False).status == Status.INVALID_MODEL
