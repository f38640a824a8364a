"""Griffe's view of the source, made to fit ours: constructors of Modules, and sections of docstrings as paragraphs."""

import importlib
import re
from collections.abc import Iterator
from typing import Any

import griffe

from difsim.declarations import add_arguments

SECTION = re.compile(r"\s+(\*\*(?:Arguments|Returns|Raises|Warns|Source|Sources|Yields):\*\*)")
ARGUMENTS = re.compile(r"\*\*Arguments:\*\*(?!\n\n)(.*?)(?=\n\n|\Z)", re.S)  # in one paragraph
# Items of **Arguments:** are separated by semicolons and begin with a name in backticks.
ITEM = re.compile(r";\s+(?=(?:the |its |an? )?(?:\([a-z]+\) )?`)")
FIELDS = ("quantity", "variable", "quaternion", "count", "part", "tolerance", "custom_field", "eqx.field")


def add_sections(text: str) -> str:
    """A docstring whose sections begin on lines of their own, and whose arguments are a list."""
    text = SECTION.sub(r"\n\n\1", text)

    def list_items(match: re.Match) -> str:
        items = ITEM.split(match[1].strip())
        return "**Arguments:**\n\n" + "\n".join(f"* {' '.join(item.split())}" for item in items)

    return ARGUMENTS.sub(list_items, text)


def default(value: Any) -> Any:
    """The default of a field as the source writes it; None where it has none."""
    if isinstance(value, griffe.ExprCall) and str(value.function) in FIELDS:
        named = {a.name: a.value for a in value.arguments if isinstance(a, griffe.ExprKeyword)}
        return value.arguments[0] if str(value.function) == "tolerance" else named.get("default")
    return value


def fields(cls: griffe.Class) -> dict[str, griffe.Attribute]:
    """The fields that a constructor takes: those of the bases first, as in a dataclass."""
    found: dict[str, griffe.Attribute] = {}
    for kind in [*reversed(cls.mro()), cls]:
        for name, member in kind.members.items():
            if (
                member.is_alias
                or not member.is_attribute
                or "property" in member.labels
                or member.annotation is None
                or "instance-attribute" not in member.labels  # a ClassVar
            ):
                continue
            if re.search(r"ClassVar|AbstractVar|AbstractClassVar", str(member.annotation)) or "init=False" in str(
                member.value
            ):
                continue
            found.pop(name, None)
            found[name] = member
    return found


def is_module(cls: griffe.Class) -> bool:
    """Whether a class is an equinox Module, whose constructor is made of its fields."""
    names = {str(base) for kind in [cls, *cls.mro()] for base in kind.bases}
    return bool(names & {"eqx.Module", "equinox.Module", "Module"})


class Docstrings(griffe.Extension):
    """Gives Modules their constructor, and docstrings their paragraphs."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = add_sections(_complete(obj))

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        # All are found before any is changed: a class inherits the constructor that its base is given here.
        for cls in list(_without_constructor(pkg)):
            cls.set_member("__init__", constructor(cls))


def _complete(obj: griffe.Object) -> str:
    """A docstring, that of a class with what its constructor takes."""
    words = obj.docstring.value
    return (
        add_arguments(words, getattr(importlib.import_module(obj.module.path), obj.name))
        if obj.is_class
        else words
    )


def constructor(cls: griffe.Class) -> griffe.Function:
    """The constructor that equinox makes of the fields of a class."""
    kind = griffe.ParameterKind.positional_or_keyword
    parameters = [griffe.Parameter("self", kind=kind)]
    for name, field in fields(cls).items():
        given = default(field.value)
        parameters.append(griffe.Parameter(name, annotation=field.annotation, kind=kind, default=given))
    return griffe.Function("__init__", parameters=griffe.Parameters(*parameters))


def _without_constructor(parent: griffe.Module | griffe.Class) -> Iterator[griffe.Class]:
    """The Modules inside of a module, whose source has no constructor."""
    for member in parent.members.values():
        if member.is_alias:
            continue
        if member.is_class and "__init__" not in member.all_members and is_module(member):
            yield member
        if member.is_class or member.is_module:
            yield from _without_constructor(member)
