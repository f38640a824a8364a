"""The cost of a search, and the weight of a combination of discrete values."""

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


class Leaf(NamedTuple):
    """One combination of discrete values.

    `probability` with its standard `error`; `log_evidence` of the data if this combination is the true one, -infinity
    where no draw has fallen into it.
    """

    assignment: dict[str, float]
    probability: float
    error: float
    log_evidence: float
