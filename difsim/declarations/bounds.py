"""The unit, meaning and bounds of a physical number, and the words of a message about a wrong one."""

import operator
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from difsim.typing import is_known, require_finite

FAR = 20.0  # times beyond the usual, where a number of a file is a mistake
UNIT_LENGTH = 1e-3  # tolerance of an attitude: solvers leave 3e-5 at 1e-6, finite differences some 1e-4


@dataclass(frozen=True)
class Quantity:
    """The declaration of a number or an array of numbers.

    **Arguments:** `unit`, "" for none; `meaning`, a noun phrase with the symbol of the formulas in it; its bounds `gt`,
    `ge`, `lt` and `le`; `usual`, the closed range of what it is in practice, of a vector its length; `slip`, units that
    are often mistaken for `unit`; `hint`, what to do about a number out of bounds; `is_finite`: False where infinity
    means no limit, and for states, which may be what a failed run left.
    """

    unit: str
    meaning: str
    gt: float | int | None = None
    ge: float | int | None = None
    lt: float | int | None = None
    le: float | int | None = None
    usual: tuple[float | int, float | int] | None = None
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
    def ends(self) -> tuple[float | int, float | int]:
        """The bounds, infinite where there are none."""
        low, high = (self.ge if self.gt is None else self.gt), (self.le if self.lt is None else self.lt)
        return -np.inf if low is None else low, np.inf if high is None else high

    @property
    def requirement(self) -> str:
        """The words after "must", such as "be positive"; empty without bounds."""
        low, high = self.ends
        if high == np.inf:
            if low == -np.inf:
                return ""
            if low == 0:
                return "not be negative" if self.gt is None else "be positive"
            return f"be {low:g} or more" if self.gt is None else f"be above {low:g}"
        if low == -np.inf:
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
        wrong = ~np.broadcast_to(self.contains(x), x.shape)  # NaN is within no bound
        if not wrong.any():
            return
        shown = f"{x}" if x.size < 10 else f"{x[wrong][0]} at {np.argwhere(wrong)[0].tolist()}"
        remedy = (
            f": {self.hint}" if self.hint else f": is it in {self.slip}?" if self.slip and (x > 0).all() else ""
        )
        raise ValueError(f"{name} = {shown}{' ' * bool(self.unit)}{self.unit} must {self.requirement}{remedy}")

    @property
    def plain_unit(self) -> str:
        """The unit in ASCII, as files have it: kg/m3."""
        return self.unit.translate(str.maketrans("²³", "23"))

    @property
    def possible(self) -> tuple[float | int, float | int]:
        """The range for a file or an option: within the bounds, and at most twenty times beyond the usual."""
        low, high = self.usual or (-np.inf, np.inf)
        low, high = (low / FAR if low > 0 else low * FAR), (high * FAR if high > 0 else high / FAR)
        return max(low, self.ends[0]), min(high, self.ends[1])

    def find_fault(self, numbers: Any, size: Any = None) -> str:
        """The fault of numbers in a file or an option.

        **Arguments:** `numbers`, finite; `size`, of which the range holds, such as the length of a vector; without it
        the numbers themselves. **Returns:** the end of a message, empty for possible numbers.
        """
        size = numbers if size is None else size
        low, high = self.possible
        requirement = self.requirement
        if np.all(self.contains(numbers)):
            if np.all((size >= low) & (size <= high)):
                return ""
            requirement = f"be {low:g} to {high:g} {self.unit}".rstrip()
        return f"must {requirement}" + (f": is it in {self.slip}?" if self.slip else "")

    def find_doubt(self, size: Any) -> str:
        """The reason to doubt possible numbers of this `size`, in words, or nothing."""
        if self.usual is None or np.all((size >= self.usual[0]) & (size <= self.usual[1])):
            return ""
        usual = f"{self.usual[0]:g} to {self.usual[1]:g} {self.unit}".rstrip()
        return f"is implausible, {usual} is usual" + (f": is it in {self.slip}?" if self.slip else ".")


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
