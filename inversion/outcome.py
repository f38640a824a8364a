"""The cost of a search."""

from typing import NamedTuple


class Calls(NamedTuple):
    """Numbers of simulator calls: forward, with all sensitivities, and failed ones of both."""

    forward: int = 0
    jacobian: int = 0
    failed: int = 0

    def __add__(self, other: "Calls") -> "Calls":
        return Calls(*(int(a) + int(b) for a, b in zip(self, other, strict=True)))
