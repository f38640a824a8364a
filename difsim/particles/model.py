"""What every model of particles offers to the steps."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Float

from difsim.typing import Scalar


class AbstractParticles(eqx.Module):
    """Particles of short reach.

    Arrays of a state have the particles (or their pairs) as their last axis; `state.position` is [d, n] m. A model
    makes its own steps, since a good step hangs on the law: `begin` once, then `step` again and again, from one
    *motion* to the next: `motion.time` s, `motion.state`, and what of the last step the next one needs.

    Who may meet whom is in a list, `Neighbours` or `Pairs`, which the steps keep fresh.
    """

    @abstractmethod
    def allocate(self, state: Any, skin: float, slack: float) -> Any:
        """The list for `state`, on the host: it sees further than the model's reach by the share `skin` of it, and
        has room for `slack` times what it holds now."""

    def positions(self, state: Any) -> Float[Array, "d n"]:
        """The positions of the particles of the list, m."""
        return state.position

    @abstractmethod
    def fastest(self, state: Any) -> tuple[Scalar, Scalar]:
        """The largest speed m/s and the largest spin rad/s of particles that move freely."""

    @abstractmethod
    def begin(self, time: Scalar, state: Any, near: Any) -> Any:
        """The motion that starts from `state` at `time` s."""

    def memory(self, motion: Any) -> Any:
        """The part of a motion that belongs to the pairs of a list; nothing, unless pairs remember."""
        return ()

    def remapped_memory(self, motion: Any, near: Any) -> Any:
        """That memory in the order of the pairs of a new list."""
        return ()

    def with_memory(self, motion: Any, memory: Any) -> Any:
        """The same motion with this memory."""
        return motion

    @abstractmethod
    def step(self, motion: Any, near: Any, dt: Scalar) -> Any:
        """The motion `dt` s later; `near` is the list of where it is before the step."""

    @abstractmethod
    def stable_time_step(self, motion: Any) -> Scalar:
        """The longest stable step from here, s."""

    @abstractmethod
    def nonfinite(self, motion: Any) -> Bool[Array, " n"]:
        """Particles whose state is not finite."""

    @abstractmethod
    def outside_validity(self, motion: Any) -> Bool[Array, " n"]:
        """Particles that are outside the validity of their law."""


class AbstractEstimating(AbstractParticles):
    """Particles whose motion is smooth enough for a step to tell its error."""

    @abstractmethod
    def attempt(self, motion: Any, near: Any, dt: Scalar) -> tuple[Any, Float[Array, " n"]]:
        """The motion `dt` s later by a method that tells its error, and the relative error of each particle."""
