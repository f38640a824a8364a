"""Declared quantities: a constructor refuses what is out of bounds by name, and a run finds the same inside `jit`."""

import re
import traceback
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from difsim import Status, dynamics, simulate
from difsim.declarations import declared_fields, is_valid, quantities
from tests.declared import arguments, example, public_classes, wrong_numbers

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
def test_numbers_of_any_type_make_one_program(kind):
    """Python's numbers and numpy's make leaves of the same types, so that a new number traces nothing again."""
    right = arguments(kind)
    numbers = {name: np.asarray(right[name], float) for name in quantities(kind) if right.get(name) is not None}
    plain, numpys = kind(**right | {name: x.tolist() for name, x in numbers.items()}), kind(**right | numbers)
    assert jax.tree.structure(plain) == jax.tree.structure(numpys)
    kinds = [[(x.shape, x.dtype, x.weak_type) for x in jax.tree.leaves(one)] for one in (plain, numpys)]
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
