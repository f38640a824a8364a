"""Arguments of the constructors of Modules, written into their docstrings from the declarations of their fields."""

import inspect
from typing import Any

import equinox as eqx

from difsim.declarations.fields import Declared, declared_fields

HEAD = "**Arguments:**"


def add_arguments(words: str, kind: type) -> str:
    """A class's docstring with a line for each declared field: name, shape, unit, meaning and bounds.

    **Arguments:** `words`, the docstring; `kind`, the class. **Returns:** the whole docstring; the same for a class
    without fields, or with a constructor of its own, whose arguments its docstring describes.
    """
    fields = declared_fields(kind)
    if not fields or HEAD in words:
        return words
    return "\n".join([words.rstrip(), "", HEAD, "", *(f"* {_describe(*field)}" for field in fields), ""])


def _describe(name: str, annotation: Any, declared: Declared) -> str:
    number = declared.quantity
    if number is None:
        return f"`{name}`: {declared.meaning}."
    sizes = getattr(annotation, "dim_str", "").split()
    shape, unit = f" [{', '.join(sizes)}]" if sizes else "", f", {number.unit}" if number.unit else ""
    usual = f"usually {number.usual[0]:g} to {number.usual[1]:g}" if number.usual else ""
    bounds = "; ".join(each for each in (number.requirement and f"must {number.requirement}", usual) if each)
    return f"`{name}`{shape}: {number.meaning}{unit}{f' ({bounds})' if bounds else ''}."


def complete_docstrings(package: str, kind: type = eqx.Module) -> None:
    """Append the arguments to the docstring of each Module of a package, for `help` and notebooks.

    **Arguments:** `package`, its name; `kind`, below which the classes are.
    """
    for below in kind.__subclasses__():
        if below.__module__.split(".")[0] == package and below.__doc__:
            below.__doc__ = add_arguments(inspect.cleandoc(below.__doc__), below)
        complete_docstrings(package, below)
