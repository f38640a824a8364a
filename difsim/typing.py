"""Shape aliases and the converter that every physical number of a Module goes through."""

import dataclasses
import operator
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import UnionType
from typing import Any, get_args, get_origin

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

Scalar = Float[Array, ""]
Vec2 = Float[Array, "2"]
Vec3 = Float[Array, "3"]
Quat = Float[Array, "4"]
Mat3 = Float[Array, "3 3"]


def as_float(x: Any) -> Array:
    """`x` as a floating-point array; an array that is floating already keeps its precision.

    Physical numbers of a Module are arrays because a Python float is static to `jit`: each new value would be
    traced again, and its gradient would be missing without a warning. The array of a Python number is weakly
    typed, so that a float32 state stays float32 in sessions with float64 enabled.

    **Raises:** ValueError for what is no real number, and no array of them.
    """
    try:
        x = jnp.asarray(None if isinstance(x, str) else x)
        real = x.dtype == bool or jnp.issubdtype(x.dtype, jnp.integer) or jnp.issubdtype(x.dtype, jnp.floating)
    except (TypeError, ValueError, OverflowError):
        real = False
    if not real:
        raise ValueError(f"got {came(x)}: give a real number, or an array of them") from None
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x * 1.0


def came(x: Any) -> str:
    """What came in place of something else, for a message: a short value, and its type."""
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"an array of {x.dtype} {list(x.shape)}"
    if isinstance(x, tuple | list) and len(x) < 5:
        return f"a {type(x).__name__} of {', '.join(type(each).__name__ for each in x) or 'nothing'}"
    short = "" if x is None else repr(x)[:40] if isinstance(x, str | complex | int | float) else ""
    return "None" if x is None else f"{short} of type {type(x).__name__}".strip()


def is_known(x: Any) -> bool:
    """True if all arrays of `x` have values now, and none is traced by `jit`, `vmap` or `grad`."""
    return not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(x))


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
        if is_finite and is_known(x) and not np.isfinite(x).all():
            raise ValueError(f"{name} = {x} must be finite: look at what it was computed from")
        return x

    return eqx.field(converter=Declared(convert, is_finite), **kwargs)


ATTITUDE = "attitude"  # in the metadata of a field


def quaternion() -> Any:
    """A Module field that holds an attitude, a unit quaternion [4], converted by `as_float`.

    Runs refuse a state whose attitude has another length (`difsim.body.attitude.require_attitude`).
    """
    return number(is_finite=False, metadata={ATTITUDE: True})


def as_scalar(x: Any) -> Array:
    """`as_float` of one number.

    **Raises:** ValueError for several numbers.
    """
    x = as_float(x)
    if x.ndim:
        raise ValueError(
            f"{x} has shape {x.shape} where one number belongs: for a batch make the object inside `jax.vmap` "
            "(or `equinox.filter_vmap`) over a function of one number"
        )
    return x


def scalar(**kwargs: Any) -> Any:
    """A Module field that holds one finite physical number, converted by `as_scalar`.

    A vector would act as a batch, and the results would belong to no single law.
    """

    def convert(name, annotation, given):
        x = named(name, as_scalar, given)
        if is_known(x) and not np.isfinite(x):
            raise ValueError(f"{name} = {x} must be finite: look at what it was computed from")
        return x

    return eqx.field(converter=Declared(convert, is_finite=True), **kwargs)


def whole(least: int = 1, **kwargs: Any) -> Any:
    """A static Module field that holds an integer, `least` or more."""

    def convert(name, annotation, given):
        return named(name, lambda x: as_integer(x, least), given)

    return eqx.field(converter=Declared(convert), static=True, **kwargs)


def as_integer(x: Any, least: int = 1) -> int:
    """`x` as an integer. **Raises:** ValueError for another number, or one below `least`."""
    if isinstance(x, bool | np.bool_) or not hasattr(type(x), "__index__") or np.ndim(x) or not is_known(x):
        raise ValueError(f"got {came(x)}: give an integer, {least} or more")
    if (x := operator.index(x)) < least:
        raise ValueError(f"{x} must be {least} or more")
    return x


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


def named(name: str, convert: Callable[[Any], Any], given: Any) -> Any:
    """The result of a conversion, whose error is given the `name` of what is converted."""
    try:
        return convert(given)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def require_sizes(name: str, dimensions: str, x: Array) -> None:
    """Check the last axes of an array.

    **Arguments:** `name` of it in the message; `dimensions` in the words of jaxtyping, such as "n 3"; with a * in them
    any are right; `x`. **Raises:** ValueError for other sizes, or fewer axes.
    """
    sizes = dimensions.split()
    if any(size.startswith("*") for size in sizes):
        return
    last = x.shape[x.ndim - len(sizes) :]
    fits = x.ndim >= len(sizes) and all(
        not size.isdigit() or int(size) == n for size, n in zip(sizes, last, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} has shape {x.shape}: give [{', '.join(sizes)}]")


def all_of(name: str, given: Any, *kinds: type) -> tuple[Any, ...]:
    """The objects `given` as a tuple, after a check of their types.

    **Arguments:** `name`, of the argument in the message; `given`, a tuple or a list; `kinds`, the types allowed.
    **Returns:** the objects as a tuple. **Raises:** ValueError for another container or an object of another type.
    """
    if not isinstance(given, tuple | list) or not all(isinstance(x, kinds) for x in given):
        known = " or ".join(kind.__name__ for kind in kinds)
        found = [type(x).__name__ for x in given] if isinstance(given, tuple | list) else type(given).__name__
        raise ValueError(f"{name} is {found}: give a tuple, each of it a {known}")
    return tuple(given)


def instants(times: Any, function: str) -> Float[Array, " T"]:
    """`times` as an array, after a check that they increase.

    **Arguments:** `times` [T], s; `function`, the name of the caller in the message.
    **Returns:** the times [T], s. **Raises:** ValueError unless there are two or more, all finite and increasing;
    values are checked only where they are not traced.
    """
    times = named(f"{function}: times", as_float, times)
    if times.ndim != 1 or times.shape[0] < 2:
        raise ValueError(f"{function}: times must be a vector of at least two times, got shape {times.shape}")
    if is_known(times) and not (np.isfinite(times).all() and (np.diff(np.asarray(times)) > 0).all()):
        raise ValueError(f"{function}: times must be finite and increase; they are {times}")
    return times


_TRACED: ContextVar[list[Array] | None] = ContextVar("conditions on traced values", default=None)


def require(condition: Any, message: str) -> None:
    """Raise a `ValueError` if a known condition is false.

    Traced values cannot be checked here: `is_valid` collects their conditions for a whole model, for a status.

    **Arguments:** `condition`, one boolean or an array of them; `message` of the error.
    **Raises:** ValueError.
    """
    if is_known(condition):
        if not np.all(condition):
            raise ValueError(message)
    elif (conditions := _TRACED.get()) is not None:
        conditions.append(jnp.all(condition))


def is_valid(model: Any) -> Bool[Array, ""]:
    """True if all Modules in a pytree satisfy what their `__check_init__` requires, also for traced values.

    **Raises:** ValueError for a known value that is wrong, for instance one set by `eqx.tree_at`.
    """
    conditions: list[Array] = []
    token = _TRACED.set(conditions)
    try:
        for module in _modules(model):
            conditions += _finite(module)
            for kind in type(module).__mro__:
                if "__check_init__" in vars(kind):
                    vars(kind)["__check_init__"](module)
    finally:
        _TRACED.reset(token)
    return jnp.all(jnp.stack(conditions)) if conditions else jnp.asarray(True)


def _finite(module: eqx.Module) -> Iterator[Array]:
    """Whether the traced numbers of a Module are finite. **Raises:** ValueError for known ones that are not."""
    for field in dataclasses.fields(module):
        converter, value = field.metadata.get("converter"), getattr(module, field.name)
        if isinstance(converter, Declared) and converter.is_finite and value is not None:
            if is_known(value):
                converter(value)
            else:
                yield jnp.all(jnp.isfinite(value))


def _modules(tree: Any) -> Iterator[eqx.Module]:
    """All Modules in a pytree, nested ones too."""
    is_inner = lambda x: isinstance(x, eqx.Module) and x is not tree  # noqa: E731
    if isinstance(tree, eqx.Module):
        yield tree
    for inner in jax.tree.leaves(tree, is_leaf=is_inner):
        if is_inner(inner):
            yield from _modules(inner)


def require_last(name: str, value: Array, *shape: int) -> None:
    """Check the last axes of an array; axes before them are those of a batch.

    **Arguments:** `name`, of the argument in the message; `value`, the array; `shape` that its last axes must
    have.
    **Raises:** ValueError for another shape.
    """
    require(
        value.shape[max(0, value.ndim - len(shape)) :] == shape,
        f"{name} has shape {value.shape}: give [{', '.join(map(str, shape))}]",
    )
