"""What every model of particles offers to the steps."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Float

from difsim.particles.neighbours import Neighbours
from difsim.typing import Scalar


class AbstractParticles(eqx.Module):
    """Particles of short reach.

    Arrays of a state have the particles as their last axis; `state.position` is [d, n] m. A model makes its own
    steps, since a good step hangs on the law: `begin` once, then `step` again and again, from one *motion* to the
    next: `motion.time` s, `motion.state`, and what of the last step the next one needs.
    """

    @property
    @abstractmethod
    def reach(self) -> Scalar:
        """Particles further apart than this, m, do not meet."""

    @property
    @abstractmethod
    def rigid(self) -> Bool[Array, " n"]:
        """Particles of walls and tools: they do not meet each other."""

    @abstractmethod
    def begin(self, time: Scalar, state: Any, neighbours: Neighbours) -> Any:
        """The motion that starts from `state` at `time` s."""

    @abstractmethod
    def step(self, motion: Any, neighbours: Neighbours, dt: Scalar) -> Any:
        """The motion `dt` s later; `neighbours` are those of where it is before the step."""

    @abstractmethod
    def attempt(self, motion: Any, neighbours: Neighbours, dt: Scalar) -> tuple[Any, Float[Array, " n"]]:
        """The motion `dt` s later by a method that tells its error, and the relative error of each particle."""

    @abstractmethod
    def longest_step(self, motion: Any) -> Scalar:
        """The longest stable step from here, s."""

    @abstractmethod
    def broken(self, motion: Any) -> Bool[Array, " n"]:
        """Particles whose state says nothing any more: not finite, or past what the law holds for."""
