"""Bad calls of `difsim`: each is refused by our own code, by the name of the argument, with a remedy."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import FixedSteps, Status, allocate, dem, dynamics, simulate
from difsim.fields import Declared, is_valid
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


def finite_fields() -> list:
    """The numbers of models: classes of states may hold what a failed run left."""
    found = [
        (kind, field.name)
        for kind in public_classes()
        for field in dataclasses.fields(kind)
        if isinstance(converter := field.metadata.get("converter"), Declared) and converter.is_finite
    ]
    found = sorted(found, key=lambda x: (x[0].__module__, x[0].__name__, x[1]))
    return [pytest.param(kind, name, id=f"{kind.__name__}.{name}") for kind, name in found]


@pytest.mark.parametrize(("kind", "name"), finite_fields())
def test_numbers_not_finite_are_refused_inside_jit_too(kind, name):
    """What a constructor refuses by name is found by `is_valid` where it is traced, as `simulate` does."""
    right = np.asarray(right_arguments()[kind].get(name, 1.0), float)
    for value in (np.nan, np.inf, -np.inf):
        refused(lambda value=value: made(kind, name, np.full_like(right, value)), name)
    inside = jax.vmap(lambda x: is_valid(made(kind, name, jnp.full(right.shape, x))))
    assert not inside(jnp.array([np.nan, np.inf, -np.inf])).any()


@pytest.mark.parametrize(("kind", "name"), finite_fields())
def test_impossible_numbers_are_found_inside_jit_as_outside(kind, name):
    right = np.asarray(right_arguments()[kind].get(name, 1.0), float)
    factors = np.array([-1.0, 0.0, 1.0, 1e9])
    outside = []
    for factor in factors:
        try:
            is_valid(made(kind, name, factor * right))
            outside.append(True)
        except ValueError:
            outside.append(False)
    inside = jax.vmap(lambda x: is_valid(made(kind, name, x * right)))(factors)
    assert outside[2] and inside.tolist() == outside


def test_a_wrong_model_made_in_jit_is_refused_by_name():
    right = right_arguments()
    model = eqx.filter_jit(lambda x: dynamics.Flight(**right[dynamics.Flight] | {"resolution": x}))(-1.0)
    state = dynamics.FlightState(**right[dynamics.FlightState])
    with pytest.raises(ValueError, match="resolution = -1"):
        simulate(model, state, [0.0, 1.0])
    assert simulate(model, state, [0.0, 1.0], throw=False).status == Status.INVALID_MODEL


@pytest.mark.slow
def test_a_wrong_model_of_particles_is_a_status_inside_jit():
    right = right_arguments()[dem.Grains]
    state = dem.Grains(**right).at_rest(np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))
    solver = FixedSteps(1, neighbours=allocate(dem.Grains(**right), state))

    @jax.jit
    def status(density):
        model = dem.Grains(**right | {"density": density})
        return simulate(model, state, [0.0, 1e-4], solver=solver, throw=False).status

    assert [int(status(x)) for x in (2e3, -2e3, np.nan)] == [Status.OK, Status.INVALID_MODEL, Status.INVALID_MODEL]
