"""Bad calls of `difsim`: each is refused by our own code, by the name of the argument, with a remedy."""

import dataclasses

import numpy as np
import pytest

from difsim.fields import Declared
from tests.public import public_classes, refused, right_arguments

NUMBERS = {"a text": "1.0", "None": None, "complex": 1j, "a dict": {"x": 1.0}, "ragged": [[1.0], [1.0, 2.0]]}
OBJECTS = {"a number": 3.0, "a text": "plane", "a dict": {"x": 1.0}}
COUNTS = {
    "not whole": 2.5,
    "a text": "3",
    "None": None,
    "a Boolean": True,
    "an array": np.ones(2, int),
    "negative": -1,
}


def declared(kind: type, way: str) -> list[str]:
    """The names of a class's fields that one function of `difsim.fields` made."""
    fields = [(f.name, f.metadata.get("converter")) for f in dataclasses.fields(kind)]
    return [n for n, c in fields if isinstance(c, Declared) and c.convert.__qualname__.startswith(f"{way}.")]


def wrong(ways: tuple[str, ...], values: dict) -> list:
    found = [(kind, name) for kind in public_classes() for way in ways for name in declared(kind, way)]
    found = sorted(found, key=lambda x: (x[0].__module__, x[0].__name__, x[1]))
    return [
        pytest.param(kind, name, value, id=f"{kind.__name__}.{name}: {what}")
        for kind, name in found
        for what, value in values.items()
    ]


def made(kind: type, name: str, value):
    arguments = right_arguments()[kind]
    if name not in arguments and "None" not in str(kind.__annotations__[name]):
        pytest.skip("the class makes it by itself")
    return kind(**arguments | {name: value})


def test_each_public_class_is_tried():
    missing = public_classes() - set(right_arguments())
    assert not missing, f"give right arguments of {missing} in tests/public.py"


@pytest.mark.parametrize(
    ("kind", "name", "value"), wrong(("number", "scalar", "quaternion", "tolerance"), NUMBERS)
)
def test_what_is_no_number_is_refused(kind, name, value):
    refused(lambda: made(kind, name, value), name)


@pytest.mark.parametrize(("kind", "name", "value"), wrong(("part",), OBJECTS))
def test_an_object_of_another_class_is_refused(kind, name, value):
    refused(lambda: made(kind, name, value), name)


@pytest.mark.parametrize(("kind", "name", "value"), wrong(("whole",), COUNTS))
def test_what_is_no_count_is_refused(kind, name, value):
    refused(lambda: made(kind, name, value), name)
