"""The range of a physical quantity: a number outside of the possible is refused, outside of the plausible doubted."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Range:
    """The numbers that a physical quantity can have, and those that it usually has.

    **Arguments:** `unit`; `possible`, the closed range outside of which a number is a mistake; `plausible`, the
    closed range outside of which it may be one; `slip`, the units that are usually mistaken for `unit`.
    """

    unit: str
    possible: tuple[float, float]
    plausible: tuple[float, float]
    slip: str = ""

    def refuse(self, numbers: np.ndarray) -> str:
        """The fault of impossible numbers, or nothing."""
        low, high = self.possible
        inside = ((low <= numbers) & (numbers <= high)).all()
        return "" if inside else f"must be {_words(self.possible, self.unit)}{self._remedy()}"

    def doubt(self, numbers: np.ndarray) -> str:
        """The reason to doubt possible numbers, or nothing."""
        low, high = self.plausible
        outside = numbers[(numbers < low) | (numbers > high)]
        if not outside.size:
            return ""
        return f"is implausible, {_words(self.plausible, self.unit)} is usual{self._remedy() or '.'}"

    def _remedy(self) -> str:
        return f": is it in {self.slip}?" if self.slip else ""


def _words(range: tuple[float, float], unit: str) -> str:
    return f"{range[0]:g} to {range[1]:g}{' ' if unit else ''}{unit}"


def check_options(options: Any, ranges: Mapping[str, Range]) -> None:
    """Check the numbers of a command line; one on a command line needs no confirmation beyond a warning.

    **Arguments:** `options`, an object with an attribute for each of the `ranges`: a number, several, or None.
    **Raises:** ValueError that names the option.
    """
    for name, range in ranges.items():
        given = getattr(options, name)
        numbers = np.atleast_1d(np.asarray(() if given is None else given, float))
        if wrong := range.refuse(numbers):
            raise ValueError(f"--{name} {given} {wrong}")
        if doubt := range.doubt(numbers):
            warnings.warn(f"--{name} {given} {doubt}", stacklevel=3)


SEED = Range("", (0, 2**32 - 1), (0, 2**32 - 1))  # what NumPy and JAX take alike
