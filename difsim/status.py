"""Status codes of simulations and searches, each with a message and a remedy.

A code is a value, so that it can be read where nothing can be raised (inside `jit`, `vmap` or a derivative). It is
raised once, at the outermost call. UNDER_RESOLVED and PAST_VALIDITY concern derivatives only; the values hold.
"""

from enum import IntEnum

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int
from numpy.typing import ArrayLike


class Status(IntEnum):
    """Result codes. Of the codes of a simulation the larger one wins where two apply; those of a search follow.

    The last one is of a simulator of a fit that returns a Boolean.
    """

    OK = 0
    UNDER_RESOLVED = 1
    PAST_VALIDITY = 2
    STEP_LIMIT = 3
    IMPACT_LIMIT = 4
    NO_CONTACT = 5
    INSIDE = 6
    SEVERAL_POINTS = 7
    UNSETTLED = 8
    LEFT = 9
    OVERFLOW = 10
    STEP_TOO_LONG = 11
    NOT_FINITE = 12
    STEP_TOO_SHORT = 13
    BEYOND_LAW = 14
    ENERGY = 15
    INVALID_STATE = 16
    INVALID_MODEL = 17
    RUNNING = 100
    GRADIENT = 101
    MISFIT = 102
    STEP = 103
    TARGET = 104
    LIMIT = 105
    BLOCKED = 106
    FAILED = 107
    NOISE = 108
    UNEXPLAINED = 109

    @property
    def message(self) -> str:
        """The event, as a clause."""
        return _TEXTS[self][0]

    @property
    def remedy(self) -> str:
        """The advice to a user; empty if nothing needs to be done."""
        return _TEXTS[self][1]

    @property
    def is_converged(self) -> bool:
        """Whether a search ended at a minimum."""
        return self in (Status.GRADIENT, Status.MISFIT, Status.STEP, Status.NOISE)

    @staticmethod
    def tally(codes: ArrayLike) -> "dict[Status, int]":
        """The number of runs of a batch that ended with each status; print the keys for messages and remedies.

        **Arguments:** `codes`, of any shape. **Returns:** status -> number, the most frequent first.
        """
        found, counts = np.unique(np.asarray(codes), return_counts=True)
        return {Status(int(found[i])): int(counts[i]) for i in np.argsort(-counts, kind="stable")}

    @staticmethod
    def summary(codes: "ArrayLike | dict[Status, int]") -> str:
        """Tell how many runs of a batch failed, and why, in words.

        **Arguments:** `codes`, of any shape, or their `tally`. **Returns:** a line, and a further one for each status
        but OK.
        """
        counts = codes if isinstance(codes, dict) else Status.tally(codes)
        failures = {status: n for status, n in counts.items() if status is not Status.OK}
        lines = [f"{sum(failures.values())} of {sum(counts.values())} runs failed"]
        return "\n".join([*lines, *(f"  {n} {status}" for status, n in failures.items())])

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" + (f": {self.remedy}" if self.remedy else "")


_TEXTS = {
    Status.OK: ("all is well", ""),
    Status.UNDER_RESOLVED: (
        "there are too few steps per contact for a derivative",
        "tighten the tolerance, or the step",
    ),
    Status.PAST_VALIDITY: (
        "contacts amplify a small change so much that the derivative says nothing",
        "end earlier, fit arc by arc, or smooth it (inversion.smoothed_gradient)",
    ),
    Status.STEP_LIMIT: (
        "max_steps was reached before the last time",
        "raise it, or loosen the tolerance (float32 holds none below 1e-6)",
    ),
    Status.IMPACT_LIMIT: (
        "there are more impacts than `MaxImpacts(n)` allows",
        "raise n, or end earlier",
    ),
    Status.NO_CONTACT: (
        "there is no contact until the last time",
        "the flight misses, or needs longer",
    ),
    Status.INSIDE: (
        "the motion starts inside the body, or on its surface and moving into it",
        "start outside",
    ),
    Status.SEVERAL_POINTS: (
        "the body went into the ground beside the one point that hard contact holds",
        "take regularised contact, `Hopper`, and a table of the ground that is finer than the body",
    ),
    Status.UNSETTLED: (
        "the body still moves at the last time",
        "give it longer, or call a larger speed rest",
    ),
    Status.LEFT: (
        "the body left the region",
        "make the region larger, or release it slower",
    ),
    Status.OVERFLOW: (
        "particles crowd more than their neighbour list has room for",
        "give more of it, `allocate(model, state, slack=...)`, or take `run`, which makes room by itself",
    ),
    Status.STEP_TOO_LONG: (
        "a step is longer than the model is stable for, or than a twentieth of a contact (of grains: a tenth)",
        "shorten it, or take `Courant()` (SPH, grains)",
    ),
    Status.NOT_FINITE: (
        "a state is not finite",
        "look at the parameters and the initial state",
    ),
    Status.STEP_TOO_SHORT: (
        "a millionth of the longest stable step still errs by more than rtol",
        "loosen it, or look at what jumps there",
    ),
    Status.BEYOND_LAW: (
        "a particle is outside the validity of its law: a sphere half a radius deep in another or in a wall, a "
        "soil of twice its density",
        "look at where it began, at speeds and stiffness",
    ),
    Status.ENERGY: (
        "the energy balance does not close",
        "tighten the tolerance, or take more steps (float32 cannot: enable jax_enable_x64); where that does not "
        "help, a force of the model is wrong there",
    ),
    Status.INVALID_STATE: (
        "an attitude is no unit quaternion, or the times do not increase",
        "divide the attitude by its length, sort the times",
    ),
    Status.INVALID_MODEL: (
        "a number of the model, the solver or a stopping rule is outside of what that requires",
        "build it outside of `jit`, where it is refused by name",
    ),
    Status.RUNNING: ("the search goes on", ""),
    Status.GRADIENT: ("the gradient vanished", ""),
    Status.MISFIT: ("neither the model nor the simulator promises a lower misfit", ""),
    Status.STEP: ("the steps vanished", ""),
    Status.TARGET: ("the misfit fell below the target", ""),
    Status.LIMIT: (
        "the iterations or generations were used up",
        "allow more (`Stops(iterations=...)`, `steps` of `descend`)",
    ),
    Status.BLOCKED: (
        "the steps shrank against failing simulations",
        "look at the status of the simulations near the best parameters, or narrow the prior",
    ),
    Status.FAILED: (
        "no simulation at the start is valid",
        "look at the status of the simulation there, or give another start",
    ),
    Status.NOISE: ("the gradient is zero within its noise", "take more seeds or longer windows to resolve more"),
    Status.UNEXPLAINED: (
        "the simulator says no more than that it failed",
        "return `solution.status` in the place of `solution.ok`: it has the reason",
    ),
}


def raise_unless_ok(status: Int[Array, "*n"]) -> None:
    """Raise the worst of the statuses, unless all are OK. **Raises:** `RuntimeError` with the remedy."""
    worst = Status(int(jnp.max(status)))
    if worst is not Status.OK:
        several = f"{int(jnp.sum(status == worst))} of {status.size} runs: " if status.size > 1 else ""
        raise RuntimeError(f"{several}{worst} (throw=False returns the status instead)")
