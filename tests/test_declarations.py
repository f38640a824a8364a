"""Declared quantities: a constructor refuses what is out of bounds by name, and a run finds the same inside `jit`."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.declarations import declared_fields, quantities
from difsim.rules import is_valid
from tests.declared import arguments, public_classes, wrong
from tests.refusals import refused

NO_NUMBERS = ["1.0", None, 1j, {"x": 1.0}, [[1.0], [1.0, 2.0]]]
NO_OBJECTS = [3.0, "plane", {"x": 1.0}]
NO_COUNTS = [2.5, "3", None, True, np.ones(2, int), -1]
CLASSES = [pytest.param(kind, id=kind.__name__) for kind in public_classes() if declared_fields(kind)]


def settable(kind):
    """The declared fields that the constructor takes."""
    return [each for each in declared_fields(kind) if each[0] in arguments(kind)]


@pytest.mark.parametrize("kind", CLASSES)
def test_what_is_wrong_is_refused_by_name(kind):
    right = arguments(kind)
    is_valid(kind(**right))
    for name, annotation, declared in settable(kind):
        if declared.quantity is not None:
            bad = NO_NUMBERS + [np.full_like(np.asarray(right[name], float), x) for x in wrong(declared.quantity)]
        else:
            bad = NO_COUNTS if annotation is int else NO_OBJECTS
        for value in bad:
            if not (value is None and "None" in str(annotation)):
                refused(lambda name=name, value=value: kind(**right | {name: value}), name)


@pytest.mark.parametrize("kind", CLASSES)
def test_the_same_is_found_inside_jit(kind):
    """One program for all wrong numbers of a class, each in its place."""
    right = arguments(kind)
    names = [name for name in quantities(kind) if name in right and right[name] is not None]
    numbers = {name: np.asarray(right[name], float) for name in names}
    rows = [numbers]
    for name in names:
        rows += [numbers | {name: np.full_like(numbers[name], x)} for x in wrong(quantities(kind)[name])]
    stacked = {name: np.stack([row[name] for row in rows]) for name in names}
    found = jax.vmap(lambda values: is_valid(kind(**right | values)))(stacked)
    assert found[0] and not found[1:].any()


def test_numbers_keep_their_bounds_wherever_they_sit():
    ...
