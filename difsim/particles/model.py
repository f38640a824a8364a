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

    def places(self, state: Any) -> Float[Array, "d n"]:
        """Where the particles of the list are, m."""
        return state.position

    @abstractmethod
    def begin(self, time: Scalar, state: Any, near: Any) -> Any:
        """The motion that starts from `state` at `time` s."""

    def memory(self, motion: Any) -> Any:
        """What of a motion belongs to the pairs of a list; nothing, unless pairs remember."""
        return ()

    def carried(self, motion: Any, near: Any) -> Any:
        """That memory, in its place in a new list."""
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
    def beyond(self, motion: Any) -> Bool[Array, " n"]:
        """Particles that are past what the law holds for."""


class AbstractEstimating(AbstractParticles):
    """Particles whose motion is smooth enough for a step to tell its error."""

    @abstractmethod
    def attempt(self, motion: Any, near: Any, dt: Scalar) -> tuple[Any, Float[Array, " n"]]:
        """The motion `dt` s later by a method that tells its error, and the relative error of each particle."""
