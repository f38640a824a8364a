"""The end of a search, and its cost."""

import enum
from typing import NamedTuple


class Status(enum.IntEnum):
    """The reason for the end of a search."""

    RUNNING = 0
    GRADIENT = 1  # the gradient vanished
    MISFIT = 2  # neither the model nor the simulator promises a lower misfit
    STEP = 3  # the steps vanished
    TARGET = 4  # the misfit fell below the target: stopped on purpose
    LIMIT = 5  # out of iterations or generations
    BLOCKED = 6  # the steps shrank against failing simulations
    FAILED = 7  # no valid simulation at the start
    STALLED = 8  # evolution: no better member for too many generations

    @property
    def converged(self) -> bool:
        return self in (Status.GRADIENT, Status.MISFIT, Status.STEP)


class Calls(NamedTuple):
    """Numbers of simulator calls: forward, with all sensitivities, and failed ones of both."""

    forward: int = 0
    jacobian: int = 0
    failed: int = 0

    def __add__(self, other: "Calls") -> "Calls":
        return Calls(*(int(a) + int(b) for a, b in zip(self, other, strict=True)))
