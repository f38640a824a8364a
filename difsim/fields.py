"""The fields of Modules: each says what it holds, and refuses anything else by the names of class and field.

`is_valid` finds the same of numbers that are traced, and what the classes themselves require.
"""

import dataclasses
from collections.abc import Callable, Iterator
from types import UnionType
from typing import Any, get_args, get_origin

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from difsim.typing import (
    TRACED,
    as_float,
    as_integer,
    as_scalar,
    came,
    is_known,
    named,
    require_finite,
    require_sizes,
)


class Declared:
    """The converter of one field of a Module, which names that field where it refuses a value.

    Equinox tells a converter neither the field nor its class, so they are looked up where they are first needed.
    """

    def __init__(self, convert: Callable[[str, Any, Any], Any], is_finite: bool = False):
        self.convert, self.is_finite = convert, is_finite
        self.place: tuple[str, Any] | None = None  # `Class: field`, and the annotation

    def __call__(self, given: Any) -> Any:
        if self.place is None:
            _find_places(eqx.Module)
        return self.convert(*(self.place or ("a field", Any)), given)


def _find_places(kind: type) -> None:
    """Tell the converters of all Modules where they are."""
    if dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            converter = field.metadata.get("converter")
            if isinstance(converter, Declared) and converter.place is None:
                converter.place = f"{kind.__name__}: {field.name}", field.type
    for below in kind.__subclasses__():
        _find_places(below)


def number(*, is_finite: bool = True, **kwargs: Any) -> Any:
    """A Module field that holds a physical number (or an array of them), converted by `as_float`.

    The sizes in its annotation, such as the 3 of `Vec3`, are those of its last axes; axes before them are those of a
    batch. `is_finite`: a value that is not finite is refused (traced ones are found by `is_valid`). It is False for a
    state, which may be what a failed run left, and where infinity means that there is no limit.
    """

    def convert(name, annotation, given):
        x = named(name, as_float, given)
        require_sizes(name, getattr(annotation, "dim_str", "*"), x)
        if is_finite:
            require_finite(name, x)
        return x

    return eqx.field(converter=Declared(convert, is_finite), **kwargs)


ATTITUDE = "attitude"  # in the metadata of a field


def quaternion() -> Any:
    """A Module field that holds an attitude, a unit quaternion [4], converted by `as_float`.

    Runs refuse a state whose attitude has another length (`difsim.body.attitude.require_attitude`).
    """
    return number(is_finite=False, metadata={ATTITUDE: True})


def scalar(**kwargs: Any) -> Any:
    """A Module field that holds one finite physical number, converted by `as_scalar`.

    A vector would act as a batch, and the results would belong to no single law.
    """

    def convert(name, annotation, given):
        x = named(name, as_scalar, given)
        require_finite(name, x)
        return x

    return eqx.field(converter=Declared(convert, is_finite=True), **kwargs)


def whole(least: int = 1, **kwargs: Any) -> Any:
    """A static Module field that holds an integer, `least` or more."""

    def convert(name, annotation, given):
        return named(name, lambda x: as_integer(x, least), given)

    return eqx.field(converter=Declared(convert), static=True, **kwargs)


def part(**kwargs: Any) -> Any:
    """A Module field that holds an object of the class in its annotation, or a tuple of such objects."""

    def convert(name, annotation, given):
        if get_origin(annotation) is tuple and isinstance(given, list):
            given = tuple(given)
        if not _is_a(annotation, given):
            raise ValueError(f"{name}: got {came(given)}: give {_in_words(annotation)}")
        return given

    return eqx.field(converter=Declared(convert), **kwargs)


def _is_a(annotation: Any, given: Any) -> bool:
    inner = get_args(annotation)
    if get_origin(annotation) is tuple:
        return isinstance(given, tuple) and all(_is_a(inner[0], x) for x in given)
    if isinstance(annotation, UnionType):
        return any(_is_a(each, given) for each in inner)
    return isinstance(given, annotation)


def _in_words(annotation: Any) -> str:
    inner = get_args(annotation)
    if get_origin(annotation) is tuple:
        return f"a tuple, each of it {_in_words(inner[0])}"
    if isinstance(annotation, UnionType):
        return " or ".join(_in_words(each) for each in inner)
    return "None" if annotation is type(None) else f"a {annotation.__name__.removeprefix('Abstract')}"


def is_valid(model: Any) -> Bool[Array, ""]:
    """True if all Modules in a pytree satisfy what their `__check_init__` requires, also for traced values.

    **Raises:** ValueError for a known value that is wrong, for instance one set by `eqx.tree_at`.
    """
    conditions: list[Array] = []
    token = TRACED.set(conditions)
    try:
        for module in _modules(model):
            conditions += _finite(module)
            for kind in type(module).__mro__:
                if "__check_init__" in vars(kind):
                    vars(kind)["__check_init__"](module)
    finally:
        TRACED.reset(token)
    return jnp.all(jnp.stack(conditions)) if conditions else jnp.asarray(True)


def _finite(module: eqx.Module) -> Iterator[Array]:
    """Whether the traced numbers of a Module are finite. **Raises:** ValueError for known ones that are not."""
    for field in dataclasses.fields(module):
        converter, value = field.metadata.get("converter"), getattr(module, field.name)
        if isinstance(converter, Declared) and converter.is_finite and value is not None:
            if is_known(value):
                converter(value)
            else:
                # Zero of finite numbers, else NaN. XLA adds up a table that is a constant of a program at once; for the
                # `all` of 8e5 `isfinite` it needed 10 s, and a message on the screen.
                x = jax.lax.stop_gradient(value)
                yield jnp.sum(x - x) == 0


def _modules(tree: Any) -> Iterator[eqx.Module]:
    """All Modules in a pytree, nested ones too."""
    is_inner = lambda x: isinstance(x, eqx.Module) and x is not tree  # noqa: E731
    if isinstance(tree, eqx.Module):
        yield tree
    for inner in jax.tree.leaves(tree, is_leaf=is_inner):
        if is_inner(inner):
            yield from _modules(inner)
