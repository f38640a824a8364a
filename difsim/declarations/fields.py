"""The fields of Modules, which refuse what is wrong by the names of class and field."""

import dataclasses
from collections.abc import Callable
from types import UnionType
from typing import Any, get_args, get_origin

import equinox as eqx

from difsim.declarations.bounds import Quantity, UnitQuaternion
from difsim.typing import as_float, as_integer, as_scalar, convert_named, describe, require_sizes


class Declared:
    """The converter of a declared field, which names the field where it refuses a value.

    Equinox tells a converter neither the field nor its class, so they are looked up where they are first needed.
    """

    def __init__(self, convert: Callable[[str, Any, Any], Any], meaning: str, quantity: Quantity | None = None):
        self.convert, self.meaning, self.quantity = convert, meaning, quantity
        self.place: tuple[str, Any] | None = None  # `Class: field`, and the annotation

    def __call__(self, given: Any) -> Any:
        if self.place is None:
            _find_places(eqx.Module)
        return self.convert(*(self.place or ("a field", Any)), given)


def _find_places(kind: type) -> None:
    """Tell the converters of all Modules where they are."""
    for name, annotation, converter in declared_fields(kind):
        converter.place = converter.place or (f"{kind.__name__}: {name}", annotation)
    for below in kind.__subclasses__():
        _find_places(below)


def declared_fields(kind: type) -> list[tuple[str, Any, Declared]]:
    """The name, annotation and declaration of each declared field of a class."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    found = ((field.name, field.type, field.metadata.get("converter")) for field in fields)
    return [(name, kind, given) for name, kind, given in found if isinstance(given, Declared)]


def quantities(kind: type) -> dict[str, Quantity]:
    """The declarations of a class's numbers, by the names of fields."""
    return {name: given.quantity for name, _, given in declared_fields(kind) if given.quantity is not None}


def custom_field(
    convert: Callable[[str, Any, Any], Any],
    meaning: str,
    quantity: Quantity | None = None,
    *,
    default: Any = dataclasses.MISSING,
    static: bool = False,
) -> Any:
    """A Module field with a conversion of its own.

    **Arguments:** `convert`, a function of the field's name in messages, of its annotation and of what is given;
    `meaning`; `quantity`, the declaration of a number; `default`, or a class for a new object of it at each use, since
    an object with numbers would make arrays at import; `static`, as of `equinox.field`.
    **Returns:** the field.
    """
    given = {} if default is dataclasses.MISSING else {"default": default}
    if isinstance(default, type):
        given = {"default_factory": default}
    return eqx.field(converter=Declared(convert, meaning, quantity), static=static, **given)


def quantity(unit: str, meaning: str, *, default: Any = dataclasses.MISSING, **declaration: Any) -> Any:
    """A Module field that holds a finite physical number, or an array of them, as a JAX array of floats.

    The annotation gives its shape: `Scalar` holds one number, since a vector would act as a batch whose results belong
    to no single law; `Vec3` or `Float[Array, "n 3"]` hold exactly these axes.

    **Arguments:** `unit` and `meaning`; `default`; `declaration`, the other arguments of `Quantity`.
    **Returns:** the field.
    """
    number = Quantity(unit, meaning, **declaration)

    def convert(name, annotation, given):
        sizes = getattr(annotation, "dim_str", "*")
        x = convert_named(name, as_float if sizes else as_scalar, given)
        require_sizes(name, sizes, x)
        is_open = any(size.startswith(("*", ".")) for size in sizes.split())
        if not is_open and x.ndim != len(sizes.split()):
            raise ValueError(
                f"{name} has shape {x.shape}: give [{', '.join(sizes.split())}], for several in `jax.vmap`"
            )
        number.check(name, x)
        return x

    return custom_field(convert, meaning, number, default=default)


def variable(unit: str, meaning: str, *, default: Any = dataclasses.MISSING) -> Any:
    """A Module field that holds a component of a state: numbers of any batch, finite or not.

    The sizes in its annotation, such as the 3 of `Vec3`, are those of its last axes.

    **Arguments:** `unit` and `meaning`; `default`. **Returns:** the field.
    """
    number = Quantity(unit, meaning, is_finite=False)
    return custom_field(_convert_component, meaning, number, default=default)


def quaternion(meaning: str = "attitude, a unit quaternion from the body's frame to the outer one") -> Any:
    """A Module field that holds an attitude [4] of a state. **Arguments:** `meaning`. **Returns:** the field."""

    def convert(name, annotation, given):
        return _convert_component(name, annotation, getattr(given, "quaternion", given))  # of a Rotation

    return custom_field(convert, meaning, UnitQuaternion("", meaning, is_finite=False))


def _convert_component(name: str, annotation: Any, given: Any) -> Any:
    x = convert_named(name, as_float, given)
    require_sizes(name, getattr(annotation, "dim_str", "*"), x)
    return x


def count(meaning: str, *, least: int = 1, default: Any = dataclasses.MISSING) -> Any:
    """A static Module field that holds an integer.

    **Arguments:** `meaning`; `least`, its smallest value; `default`. **Returns:** the field.
    """

    def convert(name, annotation, given):
        return convert_named(name, lambda x: as_integer(x, least), given)

    return custom_field(convert, meaning, default=default, static=True)


def part(meaning: str, *, default: Any = dataclasses.MISSING) -> Any:
    """A Module field that holds an object of the class in its annotation, or a tuple of such objects.

    **Arguments:** `meaning`; `default`, an object or a class, as of `custom_field`. **Returns:** the field.
    """

    def convert(name, annotation, given):
        if get_origin(annotation) is tuple and isinstance(given, list):
            given = tuple(given)
        if not _is_a(annotation, given):
            raise ValueError(f"{name}: got {describe(given)}: give {_describe(annotation)}, the {meaning}")
        return given

    return custom_field(convert, meaning, default=default)


def _is_a(annotation: Any, given: Any) -> bool:
    inner = get_args(annotation)
    if get_origin(annotation) is tuple:
        return isinstance(given, tuple) and all(_is_a(inner[0], x) for x in given)
    if isinstance(annotation, UnionType):
        return any(_is_a(each, given) for each in inner)
    return isinstance(given, annotation)


def _describe(annotation: Any) -> str:
    inner = get_args(annotation)
    if get_origin(annotation) is tuple:
        return f"a tuple, each of it {_describe(inner[0])}"
    if isinstance(annotation, UnionType):
        return " or ".join(_describe(each) for each in inner)
    return "None" if annotation is type(None) else f"a {annotation.__name__.removeprefix('Abstract')}"
