"""Declarations of the fields of Modules: meaning, unit, shape and bounds of each number, once.

    class Regolith(eqx.Module):
        thickness: Scalar = quantity("m", "depth h_c of the layer", gt=0, usual=(0.01, 50), slip="cm")

A constructor refuses a wrong number by class, field and bound. `difsim.rules` has relations between numbers, and finds
wrong ones that are traced. `quantities` gives the declarations to files, options, documentation and tests.
"""

import dataclasses
import operator
from collections.abc import Callable
from types import UnionType
from typing import Any, get_args, get_origin

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim.typing import as_float, as_integer, as_scalar, came, is_known, named, require_finite, require_sizes

UNIT_LENGTH = 1e-3  # tolerance of an attitude: solvers leave 3e-5 at 1e-6, finite differences some 1e-4


@dataclasses.dataclass(frozen=True)
class Quantity:
    """The declaration of a number or an array of numbers.

    **Arguments:** `unit`, "" for none; `meaning`, a noun phrase with the symbol of the formulas in it; `gt`, `ge`, `lt`,
    `le`, its bounds; `usual`, the closed range of what it is in practice; `slip`, units that are often mistaken for
    `unit`; `hint`, what to do about a number out of bounds; `is_finite`: False where infinity means no limit, and for
    states, which may be what a failed run left.
    """

    unit: str
    meaning: str
    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None
    usual: tuple[float, float] | None = None
    slip: str = ""
    hint: str = ""
    is_finite: bool = True

    def contains(self, x: Any) -> Any:
        """Whether numbers are within the bounds, an array of the shape of `x`, of NumPy or JAX."""
        inside = True
        for compare in (operator.gt, operator.ge, operator.lt, operator.le):
            bound = getattr(self, compare.__name__)
            inside = inside if bound is None else inside & compare(x, bound)
        return inside

    @property
    def requirement(self) -> str:
        """What a number must be, such as "be positive"; empty without bounds."""
        low, high = (self.ge if self.gt is None else self.gt), (self.le if self.lt is None else self.lt)
        if high is None:
            if low is None:
                return ""
            if low == 0:
                return "not be negative" if self.gt is None else "be positive"
            return f"be {low:g} or more" if self.gt is None else f"be above {low:g}"
        if low is None:
            return f"be {high:g} or less" if self.lt is None else f"be below {high:g}"
        return f"be in {'[' if self.gt is None else '('}{low:g}, {high:g}{']' if self.lt is None else ')'}"

    def check(self, name: str, x: Any) -> None:
        """Refuse known numbers that are out of bounds or not finite.

        **Arguments:** `name` of the number in the message; `x`. **Raises:** ValueError.
        """
        if not is_known(x):
            return
        if self.is_finite:
            require_finite(name, x)
        x = np.asarray(x)
        wrong = ~(self.contains(x) | (x != x))
        if not wrong.any():
            return
        shown = f"{x}" if x.size < 10 else f"{x[wrong][0]} at {np.argwhere(wrong)[0].tolist()}"
        remedy = (
            f": {self.hint}" if self.hint else f": is it in {self.slip}?" if self.slip and (x > 0).all() else ""
        )
        raise ValueError(f"{name} = {shown}{' ' * bool(self.unit)}{self.unit} must {self.requirement}{remedy}")


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
    found = [(field.name, field.type, field.metadata.get("converter")) for field in fields]
    return [each for each in found if isinstance(each[2], Declared)]


def quantities(kind: type) -> dict[str, Quantity]:
    """The declarations of a class's numbers, by the names of fields."""
    return {name: given.quantity for name, _, given in declared_fields(kind) if given.quantity is not None}


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
        x = named(name, as_float if sizes else as_scalar, given)
        require_sizes(name, sizes, x)
        is_open = any(size.startswith(("*", ".")) for size in sizes.split())
        if not is_open and x.ndim != len(sizes.split()):
            raise ValueError(
                f"{name} has shape {x.shape}: give [{', '.join(sizes.split())}], for several in `jax.vmap`"
            )
        number.check(name, x)
        return x

    return eqx.field(converter=Declared(convert, meaning, number), **_default(default))


def variable(unit: str, meaning: str, *, default: Any = dataclasses.MISSING) -> Any:
    """A Module field that holds a component of a state: numbers of any batch, finite or not.

    The sizes in its annotation, such as the 3 of `Vec3`, are those of its last axes.

    **Arguments:** `unit` and `meaning`; `default`. **Returns:** the field.
    """

    def convert(name, annotation, given):
        x = named(name, as_float, given)
        require_sizes(name, getattr(annotation, "dim_str", "*"), x)
        return x

    number = Quantity(unit, meaning, is_finite=False)
    return eqx.field(converter=Declared(convert, meaning, number), **_default(default))


class UnitQuaternion(Quantity):
    """An attitude, whose length must be 1: any other quaternion stretches or flattens what it rotates.

    A constructor does not check it, since a rate has the structure of a state, and the rate of an attitude any length.
    """

    def contains(self, x: Any) -> Any:
        """Whether quaternions [..., 4] are of unit length. One that is not finite passes: other checks report it."""
        length2 = (x * x).sum(axis=-1)
        # 1 ± 2 δ for the square, without a root, which has no derivative at 0.
        return (abs(length2 - 1) <= 2 * UNIT_LENGTH) | ~(abs(length2) < jnp.inf)

    def check(self, name: str, x: Any) -> None:
        """Refuse known quaternions of another length. **Arguments:** `name`; `x`. **Raises:** ValueError."""
        if is_known(x) and not np.all(self.contains(np.asarray(x))):
            length = np.linalg.norm(x, axis=-1)
            remedy = "divide it by its length" if np.all(length > 0) else "give (1, 0, 0, 0) for no turn"
            raise ValueError(f"{name} = {x} has the length {length}, and is no unit quaternion: {remedy}")


def quaternion(meaning: str = "attitude, a unit quaternion from the body's frame to the outer one") -> Any:
    """A Module field that holds an attitude [4] of a state. **Arguments:** `meaning`. **Returns:** the field."""

    def convert(name, annotation, given):
        x = named(name, as_float, given)
        require_sizes(name, "4", x)
        return x

    return eqx.field(converter=Declared(convert, meaning, UnitQuaternion("", meaning, is_finite=False)))


def count(meaning: str, *, least: int = 1, default: Any = dataclasses.MISSING) -> Any:
    """A static Module field that holds an integer.

    **Arguments:** `meaning`; `least`, its smallest value; `default`. **Returns:** the field.
    """

    def convert(name, annotation, given):
        return named(name, lambda x: as_integer(x, least), given)

    return eqx.field(converter=Declared(convert, meaning), static=True, **_default(default))


def part(meaning: str, *, default: Any = dataclasses.MISSING) -> Any:
    """A Module field that holds an object of the class in its annotation, or a tuple of such objects.

    **Arguments:** `meaning`; `default`. **Returns:** the field.
    """

    def convert(name, annotation, given):
        if get_origin(annotation) is tuple and isinstance(given, list):
            given = tuple(given)
        if not _is_a(annotation, given):
            raise ValueError(f"{name}: got {came(given)}: give {_in_words(annotation)}")
        return given

    return eqx.field(converter=Declared(convert, meaning), **_default(default))


def _default(given: Any) -> dict[str, Any]:
    return {} if given is dataclasses.MISSING else {"default": given}


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
