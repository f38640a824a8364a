"""A wrong number of any public class, made inside `jit`, ends in INVALID_MODEL: in whatever model the object sits.

A new class is one line in tests/public.py: the model that holds it is found by the annotations of fields.
"""

import dataclasses
import functools
from types import UnionType
from typing import Any, get_args, get_origin

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difsim
from difsim import FixedSteps, Ignore, Status, Unrolled, allocate, beds, body, camera, dem, dynamics, simulate, sph
from difsim.dynamics import AbstractImpactModel, AbstractModel
from difsim.fields import Declared, is_valid
from difsim.particles.model import AbstractParticles
from difsim.stepping.derivatives import AbstractDerivative
from difsim.stepping.solvers import AbstractSolver
from difsim.stepping.stops import AbstractStop
from tests.public import public_classes, right_arguments

MODELS = AbstractModel | AbstractParticles | dynamics.Pair
OPTIONS = AbstractSolver | AbstractStop | AbstractDerivative  # of a run
# What no run holds: cameras, beds (made on the host), and what a model returns.
OUTSIDE = {
    camera.Camera,
    beds.BedSpecification,
    beds.BoxContainer,
    beds.CylindricalContainer,
    beds.GaussianSizes,
    dynamics.Approach,
}
# Wrong numbers of a state are one of these.
STATES = {
    body.RigidState,
    dynamics.FlightState,
    dynamics.HardState,
    dynamics.PairState,
    dynamics.PointState,
    dynamics.TwoBallState,
}
BAD = {"NaN": np.nan, "infinite": np.inf, "minus infinite": -np.inf, "negative": -1.0, "zero": 0.0, "huge": 1e9}


def right(kind: type) -> Any:
    return kind(**right_arguments()[kind])


def holds(annotation: Any, kind: type) -> bool:
    """Whether a field with this annotation may hold an object of this class."""
    inner = get_args(annotation)
    if get_origin(annotation) is tuple or isinstance(annotation, UnionType):
        return any(holds(each, kind) for each in inner)
    return isinstance(annotation, type) and annotation is not Any and issubclass(kind, annotation)


@functools.cache
def places() -> dict[type, tuple[type, str]]:
    """For each class that is no model a class that holds it, and the field; models hold the first ones."""
    others = sorted(public_classes(), key=lambda kind: (kind.__module__, kind.__name__))
    found, reached = {}, [kind for kind in others if issubclass(kind, MODELS)]
    for holder in reached:
        for field in dataclasses.fields(holder):
            if field.name not in right_arguments()[holder] and field.default is dataclasses.MISSING:
                continue  # the class makes it by itself
            for kind in others:
                if kind not in found and not issubclass(kind, MODELS) and holds(field.type, kind):
                    found[kind] = holder, field.name
                    reached.append(kind)
    return found


def model_of(thing: Any) -> Any:
    """A model that holds an object."""
    while not isinstance(thing, MODELS):
        holder, name = places()[type(thing)]
        several = any(
            get_origin(field.type) is tuple for field in dataclasses.fields(holder) if field.name == name
        )
        beside = {"clump_laws": (None,)} if name == "clumps" else {}
        thing = holder(**right_arguments()[holder] | {name: (thing,) if several else thing} | beside)
    return thing


def numbers_of(kind: type) -> list[str]:
    """The names of a class's numbers that are arguments, too."""
    fields = [(field.name, field.metadata.get("converter")) for field in dataclasses.fields(kind)]
    names = [name for name, made in fields if isinstance(made, Declared) and made.is_finite]
    return [name for name in names if right_arguments()[kind].get(name) is not None]


def numbered() -> list:
    kinds = sorted(public_classes() - OUTSIDE - STATES, key=lambda kind: (kind.__module__, kind.__name__))
    return [pytest.param(kind, id=kind.__name__) for kind in kinds if numbers_of(kind)]


def wrong_rows(kind: type) -> tuple[list[str], dict[str, np.ndarray]]:
    """What the constructor refuses: its names, and all numbers of the class with that one wrong, row by row."""
    names = numbers_of(kind)
    arguments = {name: np.asarray(right_arguments()[kind][name], float) for name in names}
    said, rows = [], []
    for name in names:
        for word, factor in BAD.items():
            wrong = arguments[name] * factor if np.isfinite(factor) else np.full_like(arguments[name], factor)
            values = arguments | {name: wrong}
            try:
                is_valid(kind(**right_arguments()[kind] | values))
            except ValueError:
                said.append(f"{name}: {word}")
                rows.append(values)
    return said, {name: np.stack([row[name] for row in rows]) for name in names}


def test_each_public_class_is_in_some_run():
    held = {kind for kind in public_classes() if issubclass(kind, MODELS | OPTIONS)} | set(places())
    missing = {kind for kind in public_classes() - OUTSIDE - STATES if numbers_of(kind)} - held
    assert not missing, f"no field of a public class holds {missing}"


@pytest.mark.parametrize("kind", numbered())
def test_a_wrong_number_is_found_within_any_model(kind):
    said, rows = wrong_rows(kind)
    assert said

    def valid(values):
        made = kind(**right_arguments()[kind] | values)
        return is_valid(made if isinstance(made, OPTIONS) else model_of(made))

    found = jax.vmap(valid)(rows)
    assert not found.any(), [word for word, ok in zip(said, found, strict=True) if ok]


TIMES = jnp.array([0.0, 1e-3])
STEPS = {"derivative": Unrolled(), "trust": Ignore(), "throw": False}


def state_of(model: Any) -> Any:
    at = right(body.RigidState)
    if isinstance(model, dem.Grains):
        place = np.arange(float(model.radius.size)) * np.array([[1.0], [0.0], [0.0]])
        return model.at_rest(place)
    if isinstance(model, sph.Continuum):
        return model.at_rest(np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))
    if isinstance(model, dynamics.Wheeled):
        return model.start(model.hopper.start(at))
    if isinstance(model, dynamics.Pair):
        there = eqx.tree_at(lambda s: s.position, at, jnp.array([5.0, 0.0, 0.0]))
        return dynamics.PairState(at, there)
    for kind, state in ((dynamics.Bouncer, dynamics.PointState), (dynamics.TwoBalls, dynamics.TwoBallState)):
        if isinstance(model, kind):
            return right(state)
    if isinstance(model, dynamics.HardBody):
        return dynamics.HardState(at)
    if hasattr(model, "start"):
        return model.start(at)
    return right(dynamics.FlightState)


def run_with(made: Any, start: Any) -> Any:
    """The status of the shortest run that an object has a part in; `start` as `start_of` gives it."""
    of, state, near = start
    if isinstance(made, OPTIONS):
        if isinstance(made, difsim.Courant):
            made = eqx.tree_at(lambda s: s.neighbours, made, near, is_leaf=lambda x: x is None)
        name = {AbstractSolver: "solver", AbstractStop: "until", AbstractDerivative: "derivative"}
        option = next(word for kind, word in name.items() if isinstance(made, kind))
        return simulate(of, state, TIMES, **{option: made}, throw=False).status
    model = model_of(made)
    if isinstance(model, AbstractImpactModel | dynamics.Pair):
        return simulate(model, state, TIMES, throw=False).status
    return simulate(model, state, TIMES, solver=FixedSteps(1, neighbours=near), **STEPS).status


def start_of(kind: type) -> Any:
    """A model for a run of this class, its state and its neighbour list, which gets its capacity outside of `jit`."""
    if issubclass(kind, OPTIONS):
        needs = {difsim.Courant: dem.Grains, difsim.AtRest: dynamics.Hopper, difsim.Outside: dynamics.Hopper}
        model = right(needs.get(kind, dynamics.Flight))
    else:
        model = model_of(right(kind))
    state = state_of(model)
    return model, state, allocate(model, state) if isinstance(model, AbstractParticles) else None


@pytest.mark.slow
@pytest.mark.parametrize("kind", numbered())
def test_a_run_with_a_wrong_number_made_in_jit_says_so(kind):
    said, rows = wrong_rows(kind)
    start = start_of(kind)
    status = jax.jit(lambda values: run_with(kind(**right_arguments()[kind] | values), start))
    ends = {word: Status(int(status({name: x[i] for name, x in rows.items()}))) for i, word in enumerate(said)}
    assert {word: end for word, end in ends.items() if end != Status.INVALID_MODEL} == {}
