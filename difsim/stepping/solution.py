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
    the rule `AtRest` was not given). Of particles: `particle`, which one ended the run (-1: none), and `lists`, how
    often a neighbour list ran out of room.
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

    `times` [T] s of the states; those after an early end are the end's (of particles outside `jit` and without a
    derivative they are left out). `states`, the model's state with a leading axis of T, or what `save` made of it.
    `last`, the state at the end. `status`, a `difsim.Status`. `energy` [T] J, its parts by name, and `integrals` [T],
    what was integrated beside the state: the sum of the energies and of what `AbstractModel.power` took away is
    constant. `energy_error`, the largest drift of that sum, as a share of the energy that is there; particles, which do
    not count what they dissipate, have neither, and two stones no error. `stats`, what the run took. `validity`, how
    far its forward derivatives can be trusted, where their tangents are rows of the solve: NaN in reverse mode and with
    `Unrolled()`, whose solution is there before the tangents are, and None for particles and two stones. `impacts`,
    where and how two stones met. `progress`, from which a later run of particles goes on bit for bit (None otherwise).
    """

    times: Float[Any, "T"]
    states: Any
    last: Any
    status: Int[Array, ""]
    stats: Stats
    energy: dict[str, Any] = eqx.field(default_factory=dict)
    integrals: dict[str, Any] = eqx.field(default_factory=dict)
    energy_error: Scalar | None = None
    validity: Validity | None = None
    impacts: Any = None
    progress: Any = None

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
