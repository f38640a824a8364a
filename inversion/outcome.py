"""The cost of a search."""

from typing import NamedTuple


class Calls(NamedTuple):
    """Numbers of points: simulated, with sensitivities that were used, and failed ones of both.

    A light problem (`programs.LIGHT`) computes the sensitivities of every point: its simulator ran `forward` times.
    That of another one ran `forward` + `jacobian` times.
    """

    forward: int = 0
    jacobian: int = 0
    failed: int = 0

    def __add__(self, other: "Calls") -> "Calls":
        return Calls(*(int(a) + int(b) for a, b in zip(self, other, strict=True)))
