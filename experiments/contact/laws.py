"""The law of a number of a case: the number itself, or the prior of what is not known."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiments.agilkia.keys import ANY, Numbers
from inversion import Bounded, Discrete, Fixed, Gaussian, Log
from inversion.unknowns import AbstractParameter

TWO = "two numbers, the first one less"
FORMS = {
    "uniform": TWO,
    "log_uniform": TWO,
    "normal": "a mean and a standard deviation",
    "choice": "two values or more",
}


@dataclass(frozen=True)
class Law:
    """The prior of a number that is not known, one of FORMS within the limits of `holds`; or the number itself."""

    holds: Numbers

    def refuse(self, value: Any) -> str:
        """Say why `value` is no law and no number, or nothing."""
        if isinstance(value, int | float):
            return self.holds.refuse(value)
        if not isinstance(value, Mapping) or len(value) != 1 or not value.keys() <= FORMS.keys():
            return f"must be one of {', '.join(f'{{ {name} = {what} }}' for name, what in FORMS.items())}"
        ((form, given),) = value.items()
        if wrong := dataclasses.replace(self.holds, shapes=((ANY,),)).refuse(
            given[:1] if form == "normal" else given
        ):
            return wrong
        try:
            self.prior(value)
        except (TypeError, ValueError) as error:
            return f"must be {FORMS[form]}: {error}"
        return ""

    def doubt(self, value: Any) -> str:
        """The reason to doubt a `value` that is possible, or nothing."""
        if isinstance(value, int | float):
            return self.holds.doubt(value)
        ((form, given),) = value.items()
        return self.holds.doubt(given[:1] if form == "normal" else given)

    def prior(self, value: Any) -> AbstractParameter:
        """The prior of a law. **Raises:** `ValueError` for numbers that make none."""
        unit = self.holds.quantity.plain_unit or "1"
        if isinstance(value, int | float):
            return Fixed(float(value), unit)
        ((form, given),) = value.items()
        if form == "choice":
            return Discrete(given, unit)
        return {"uniform": Bounded, "log_uniform": Log, "normal": Gaussian}[form](*given, unit=unit)
