"""The interface of a particle model to the time steps."""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from difsim.typing import Scalar


class AbstractParticles(eqx.Module):
    """Particles with an interaction of short range.

    Arrays of a state have the particles (or their pairs) as their last axis; `state.position` is [d, n] m. A model
    makes its own steps, since a good step depends on the law: `begin` once, then `step` repeatedly, from one
    *motion* to the next: `motion.time` s, `motion.state`, `motion.lost`, and the results of the last step that the
    next one needs.

    The energy balance of a run is `energy(motion.time, motion.state) | motion.lost`. `lost` is what has left the state
    since `begin`, J by name: dissipation, and the work done on tools. It has no derivatives. The sum of all parts is
    constant but for the error of the steps. A model without an account of its losses has none in `lost`: then the sum
    may fall, and only a rise is an error.

    Near particles are in a list, `Neighbours` or `Pairs`, which the steps update.
    """

    state_kinds: ClassVar[tuple[type, ...]] = (object,)  # classes of its state; `simulate` refuses any other

    @abstractmethod
    def allocate(self, state: Any, skin: float, slack: float) -> Any:
        """A neighbour list with room for a state, on the host: runs fill it by `rebuild`.

        **Arguments:** `state`; `skin`, the share by which the list extends beyond the model's reach; `slack`, its
        capacity over the present need. **Returns:** the list.
        """

    def prepare(self) -> "AbstractParticles":
        """The model with what follows from its numbers alone, found once for all steps of a run."""
        return self

    def check_sizes(self, name: str, state: Any) -> None:
        """Refuse a state of other particles than the model's.

        **Arguments:** `name` of the state in the message; `state`. **Raises:** ValueError.
        """

    def positions(self, state: Any) -> Float[Array, "d n"]:
        """The positions of the particles of the list, m."""
        return state.position

    @abstractmethod
    def fastest(self, state: Any) -> tuple[Scalar, Scalar]:
        """The largest speed m/s and the largest spin rad/s of particles that move freely."""

    @abstractmethod
    def begin(self, time: Scalar, state: Any, near: Any) -> Any:
        """The motion that starts from a state.

        **Arguments:** `time`, s; `state`; `near`, the list. **Returns:** the motion.
        """

    def memory(self, motion: Any) -> Any:
        """The part of a motion that belongs to the pairs of a list; nothing, unless pairs remember."""
        return ()

    def remap_memory(self, motion: Any, near: Any) -> Any:
        """The memory of `memory`, in the order of the pairs of a new list.

        **Arguments:** `motion`; `near`, the new list. **Returns:** the memory.
        """
        return ()

    def with_memory(self, motion: Any, memory: Any) -> Any:
        """The motion with another history of its pairs.

        **Arguments:** `motion`; `memory`, the history. **Returns:** the motion.
        """
        return motion

    @abstractmethod
    def step(self, motion: Any, near: Any, dt: Scalar) -> Any:
        """The motion one time step later.

        **Arguments:** `motion`; `near`, the list at the start of the step; `dt`, s. **Returns:** the motion.
        """

    @abstractmethod
    def stable_time_step(self, motion: Any) -> Scalar:
        """The longest stable step from here, s."""

    @abstractmethod
    def energy(self, t: Scalar, state: Any) -> dict[str, Scalar]:
        """The parts of the energy that a state has.

        **Arguments:** `t`, s; `state`. **Returns:** J by name.
        """

    def loads(self, motion: Any, near: Any) -> tuple[Any, ...]:
        """The forces and torques on bodies among the particles, which a solution has at each of its times.

        **Arguments:** `motion`; `near`, the list there. **Returns:** the load of each body; none by default.
        """
        return ()

    @abstractmethod
    def nonfinite(self, motion: Any) -> Int[Array, ""]:
        """The index of a particle whose state is not finite, -1 where there is none (`one_of`)."""

    @abstractmethod
    def find_outside_validity(self, motion: Any) -> Int[Array, ""]:
        """The index of a particle that is outside the validity of its law, -1 where there is none."""


def one_of(mask: Bool[Array, " n"]) -> Int[Array, ""]:
    """The last particle of a mask, -1 where there is none: one pass, where `any` and `argmax` take two."""
    return jnp.max(jnp.where(mask, jnp.arange(mask.shape[0], dtype=jnp.int32), -1))


class AbstractEstimating(AbstractParticles):
    """Particles whose motion is smooth enough for an error estimate of a step."""

    @abstractmethod
    def attempt(self, motion: Any, near: Any, dt: Scalar) -> tuple[Any, Float[Array, " n"]]:
        """The motion one time step later by a method with an error estimate.

        **Arguments:** as `step`. **Returns:** the motion, and the relative error of each particle.
        """
