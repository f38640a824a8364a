"""What every model offers: a vector field, how near the next contact is, and its ledger."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from difsim.typing import Scalar, number


class Approach(eqx.Module):
    """What the step guard needs: `gap` m to the nearest contact (negative inside), bounds on the `speed` m/s
    at which any point can close it and on its `acceleration` m/s² in flight, and the `resolution` s that a
    contact must be resolved with."""

    gap: Scalar
    speed: Scalar
    resolution: Scalar
    acceleration: Scalar = number(default=0.0)


class AbstractModel(eqx.Module):
    """A forward model: a vector field over a state (any pytree of floating arrays)."""

    @abstractmethod
    def field(self, t: Scalar, state: Any) -> Any:
        """d state/dt, a pytree like `state`."""

    @abstractmethod
    def approach(self, t: Scalar, state: Any) -> Approach:
        """How near the next contact is."""

    @abstractmethod
    def ledger(self, t: Scalar, state: Any) -> dict[str, Array]:
        """The accounts that must not move: `energy` as a dict of parts in J whose sum is constant, and
        `momentum` N s and `angular_momentum` N m s [3], each less the impulses received.

        `simulate` gives the status ENERGY where the sum of `energy` drifts; without `energy` nothing is checked.
        """

    def buried(self, state: Any) -> Bool[Array, ""]:
        """Whether a body has its centre in the ground: no law of contact holds there, and it would be shot out."""
        return jnp.asarray(False)


class AbstractImpactModel(AbstractModel):
    """A model whose state jumps, or whose field changes, when its `boundary` falls through zero."""

    @abstractmethod
    def boundary(self, t: Scalar, state: Any) -> Scalar:
        """Positive, and smooth through zero: in flight the gap m to the ground."""

    @abstractmethod
    def impact(self, t: Scalar, state: Any) -> Any:
        """The state just after `boundary` has fallen to zero."""
