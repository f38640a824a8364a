"""One case of the validation: a number to hit, ours, and the tolerance that was fixed before the run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    """A number to hit and ours.

    **Arguments:** `subject`, the heading in the table; `name`; `expected`, from a closed form; `ours`; `tolerance`, of
    the difference, or relative to `expected` where `relative`; `unit`.
    """

    subject: str
    name: str
    expected: float
    ours: float
    tolerance: float
    unit: str = "1"
    relative: bool = False

    @property
    def error(self) -> float:
        """The difference, relative where the tolerance is."""
        difference = abs(self.ours - self.expected)
        return difference / abs(self.expected) if self.relative else difference

    @property
    def passes(self) -> bool:
        """Whether the error is within the tolerance; false for a number that is not finite."""
        return bool(self.error <= self.tolerance)

    def row(self) -> dict:
        """The case as a row of the summary."""
        return {
            "subject": self.subject,
            "case": self.name,
            "expected": float(self.expected),
            "ours": float(self.ours),
            "unit": self.unit,
            "error": float(self.error),
            "tolerance": self.tolerance,
            "relative": self.relative,
            "verdict": "pass" if self.passes else "FAIL",
        }


@dataclass(frozen=True)
class Convergence:
    """A number at three resolutions, each twice as fine as the one before, for the columns of ASME V&V 20.

    **Arguments:** `subject`; `name`; `values`, from the coarsest to the finest; `exact`; `order` expected; `unit`.
    """

    subject: str
    name: str
    values: tuple[float, float, float]
    exact: float
    order: float
    unit: str = "1"

    @property
    def observed_order(self) -> float:
        """p = log₂ ((f₃ - f₂)/(f₂ - f₁)), with f₁ the finest."""
        coarse, middle, fine = self.values
        return float(np.log2(abs((coarse - middle) / (middle - fine))))

    @property
    def uncertainty(self) -> float:
        """The grid convergence index 1.25 |f₂ - f₁|/(2ᵖ - 1): the numerical uncertainty of the finest value."""
        return float(1.25 * abs(self.values[1] - self.values[2]) / (2**self.observed_order - 1))

    def row(self) -> dict:
        """The case as a row of the summary; it passes where the exact value lies within the uncertainty."""
        error = abs(self.values[-1] - self.exact)
        right = error <= self.uncertainty and abs(self.observed_order - self.order) <= 0.2
        return {
            "subject": self.subject,
            "case": self.name,
            "values": list(map(float, self.values)),
            "exact": float(self.exact),
            "unit": self.unit,
            "observed_order": self.observed_order,
            "expected_order": self.order,
            "error": float(error),
            "uncertainty": self.uncertainty,
            "verdict": "pass" if right else "FAIL",
        }


Cases = Callable[[], Sequence[Case | Convergence]]
