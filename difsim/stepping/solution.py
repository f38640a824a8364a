"""The result of `simulate`, the same for every model, solver and stopping rule."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int

from difsim.status import Status
from difsim.stepping.validity import Validity
from difsim.typing import Scalar


class Stats(eqx.Module):
    """Numbers of steps and contacts of a run, and the times of its first contact and of rest.

    `steps` accepted; `steps_per_contact`, their mean number between touch and lift-off (inf without contact);
    `contacts` begun. `rest_time` s since when the body is at rest (NaN where it is not, or where nobody asked);
    `contact_time` s of the first step in contact and `contact_state` there (NaN where there was none; None where
    the rule `AtRest` was not given). Of particles: `steps` until each of the times; `particle`, which one ended the
    run (-1: none); `lists`, how often a neighbour list ran out of room; no contacts.
    """

    steps: Int[Array, "*T"]
    steps_per_contact: Float[Array, ""] | None = None
    contacts: Int[Array, ""] | None = None
    rest_time: Scalar | None = None
    contact_time: Scalar | None = None
    contact_state: Any = None
    particle: Int[Array, ""] | None = None
    lists: Int[Array, ""] | None = None


class Solution(eqx.Module):
    """A motion and what is known about it.

    `times` [T] s of the states; those after an early end are the end's (`run` leaves them out). `states`, the model's
    state with a leading axis of T, or what the `save` of `run` made of it. `last`, the state at the end. `status`, a
    `difsim.Status`. `energy` [T] J, its parts by name, with what has left the motion: their sum is constant.
    `energy_error`, the largest drift of that sum, as a share of the energy that is there. `integrals` [T], what was
    integrated with the state. `stats`, what the run took. `validity`, how far its forward derivatives can be trusted.
    `impacts`, where and how two stones met. `loads` [T], of particles: the force N and the torque N m on each tool of a
    continuum, or on each clump among grains with its weight. `progress`, from which `resume` goes on with particles,
    bit for bit. `unknown`, the figures that this solution does not have (NaN, None or empty there), each with the
    reason in words.
    """

    times: Float[Any, "T"]
    states: Any
    last: Any
    status: Int[Array, ""]
    stats: Stats
    energy: dict[str, Any]
    integrals: dict[str, Any]
    energy_error: Scalar
    validity: Validity
    impacts: Any = None
    loads: Any = ()
    progress: Any = None
    unknown: tuple[str, ...] = eqx.field(static=True, default=())

    @property
    def ok(self) -> Array:
        """Whether the status is OK."""
        return self.status == Status.OK

    @property
    def values_are_valid(self) -> Array:
        """Whether the values hold: OK, or PAST_VALIDITY, which concerns derivatives only."""
        return self.ok | (self.status == Status.PAST_VALIDITY)

    def at(self, index: int) -> Any:
        """The state at `times[index]`."""
        return jax.tree.map(lambda x: x[index], self.states)


def failure(solution: Solution) -> str:
    """The reason why a run of particles stopped, in words.

    **Arguments:** `solution`, of a run that failed, with known values.
    **Returns:** the status, when it happened, at which particle, and the remedy.
    """
    status, progress = Status(int(solution.status)), solution.progress
    where = f" at particle {int(progress.particle)}" if progress.particle >= 0 else ""
    when = f"at {float(progress.motion.time):.6g} s, step {int(progress.steps)}{where}"
    return f"{status.name}: {when}: {status.message}: {status.remedy}"
