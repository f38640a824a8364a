"""What files that are drawn at random share: their verdict, and the odd but legal forms of numbers."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

VERDICTS = ("right", "refused by name", "told by a warning", "wrong")


@dataclass
class Drawn:
    """A file, what reads it into arrays, and the arrays that are right; `damage`, empty for a legal one."""

    path: Path
    read: Callable[[Path], Any]
    right: Any
    damage: str = ""


def judge(drawn: Drawn) -> str:
    """One of VERDICTS. A damaged file may be read where the damage changed nothing, never as something else."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = drawn.read(drawn.path)
        except ValueError as refused:
            assert str(drawn.path) in str(refused), f"{drawn.damage}: the file is not named: {refused}"
            return "refused by name"
    if told and drawn.damage:
        return "told by a warning"
    return "right" if same(found, drawn.right) else "wrong"


def same(found: Any, right: Any) -> bool:
    return len(found) == len(right) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-6, atol=1e-9)
        for a, b in zip(found, right, strict=True)
    )


def pick(rng, *choices):
    return choices[rng.integers(len(choices))]


def number(rng, x: float) -> str:
    """A number in one of the forms that all programs read."""
    x = float(x) + 0.0  # no -0.0
    return pick(rng, repr(x), f"{x:.17g}", f"{x:.16e}", f"{x:.16E}", f"+{x!r}" if x >= 0 else repr(x))


def row(rng, values, mark=" ") -> str:
    return mark.join(number(rng, x) for x in np.ravel(values))


def replaced(rng, text: str, old: str, new: str) -> str:
    """The text with one of the places of `old` changed, or None where there is none."""
    places = [i for i in range(len(text)) if text.startswith(old, i)]
    assert places, f"nothing to damage: {old}"
    at = pick(rng, *places)
    return text[:at] + new + text[at + len(old) :]
