"""Arguments of the constructors of Modules, written into their docstrings from the declarations of their fields."""

from typing import Any

import equinox as eqx

from difsim.declarations.fields import Declared, declared_fields

HEAD = "**Arguments:**"


def describe_arguments(kind: type) -> list[str]:
    """A line for each declared field of a class: name, shape, unit, meaning and bounds."""
    return [_describe(*field) for field in declared_fields(kind)]


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
        words, lines = below.__doc__ or "", describe_arguments(below)
        # A class with a constructor of its own describes its arguments itself.
        if below.__module__.split(".")[0] == package and words and lines and HEAD not in words:
            below.__doc__ = "\n".join([words.rstrip(), "", HEAD, "", *(f"* {line}" for line in lines), ""])
        complete_docstrings(package, below)
