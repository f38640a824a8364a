"""How a solve ended: a code in the result, raised once at the outermost call.

UNDER_RESOLVED and PAST_VALIDITY speak of derivatives; the values stand.
"""

from enum import IntEnum

import jax.numpy as jnp
from jaxtyping import Array, Int


class Status(IntEnum):
    """Result codes; the larger one wins where two apply."""

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


REMEDY = {
    Status.UNDER_RESOLVED: "too few steps per contact for a derivative: tighten the tolerance or the step",
    Status.PAST_VALIDITY: "contacts magnify a small change so much that the derivative says nothing: end earlier, "
    "fit arc by arc, or smooth it (inversion.smoothed_gradient)",
    Status.STEP_LIMIT: "max_steps was reached before the last time: raise it, or loosen the tolerance "
    "(float32 holds none below 1e-6)",
    Status.IMPACT_LIMIT: "more impacts than `Events(impacts=...)` or `collide(contacts=...)` allow: raise it, or "
    "end earlier",
    Status.NO_CONTACT: "no contact until the last time: the flight misses, or needs longer",
    Status.INSIDE: "the flight starts inside the body, or on its surface and moving into it: start outside",
    Status.SEVERAL_POINTS: "a second point of the body went into the ground: hard contact holds one; "
    "take regularised contact, `Hopper`",
    Status.UNSETTLED: "the body still moves at the last time: give it longer, or call a larger speed rest",
    Status.LEFT: "the body left the region of the model: make the region larger, or release it slower",
    Status.OVERFLOW: "particles crowd more than their neighbour list has room for: make the list again "
    "(`evolve` does), or start with more slack",
    Status.STEP_TOO_LONG: "a step is longer than the model is stable for, or than a twentieth of a contact (of "
    "grains: a tenth): shorten it, or take a `CourantStep` (SPH, grains)",
    Status.NOT_FINITE: "a state is not finite: look at the parameters and the initial state",
    Status.STEP_TOO_SHORT: "a millionth of the longest stable step still errs by more than rtol: loosen it, or "
    "look at what jumps there",
    Status.BEYOND_LAW: "a particle is past what its law holds for: a sphere half a radius deep in another or in a "
    "wall, a soil of twice its density: look at where it began, at speeds and stiffness",
    Status.ENERGY: "the energy account does not close: tighten the tolerance, or take more steps (float32 cannot: "
    "enable jax_enable_x64); where that does not help, a force of the model is wrong there",
    Status.INVALID_STATE: "an attitude is no unit quaternion: divide it by its length",
    Status.INVALID_MODEL: "a parameter is outside of what its model requires: build the model outside of `jit`, "
    "where it is refused by name",
}


def raise_unless_ok(status: Int[Array, "*n"]) -> None:
    """Raise `RuntimeError` with the remedy for the worst of the statuses, unless all are OK."""
    worst = Status(int(jnp.max(status)))
    if worst is not Status.OK:
        raise RuntimeError(f"{worst.name}: {REMEDY[worst]} (throw=False returns the status instead)")
