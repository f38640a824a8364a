"""What every model offers: a vector field, how near the next contact is, its energies, and its scales."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from difsim import safe
from difsim.typing import Scalar, number


class Approach(eqx.Module):
    """What the step guard needs: `gap` m to the nearest contact (negative inside), bounds on the `speed` m/s
    at which any point can close it and on its `acceleration` m/s² in flight, the `resolution` s that a contact
    must be resolved with, and the `longest` step s that makes sense here."""

    gap: Scalar
    speed: Scalar
    resolution: Scalar
    acceleration: Scalar = number(default=0.0)
    longest: Scalar = number(default=jnp.inf)


class AbstractModel(eqx.Module):
    """A forward model: a vector field over a state (any pytree of floating arrays)."""

    @abstractmethod
    def vector_field(self, t: Scalar, state: Any) -> Any:
        """d state/dt, a pytree like `state`, at `t` s."""

    @abstractmethod
    def approach(self, t: Scalar, state: Any) -> Approach:
        """How near the next contact is."""

    def energy(self, t: Scalar, state: Any) -> dict[str, Scalar]:
        """The parts of the energy, J by name, at `t` s.

        `simulate` adds what `power` took away until then, and gives the status ENERGY where the sum drifts. By
        default there are none, and nothing is checked.
        """
        return {}

    def power(self, t: Scalar, state: Any) -> dict[str, Scalar]:
        """The power that leaves these energies at `t` s, W by name: dissipation, and less what drives put in.

        `simulate` integrates it beside the state, so that a state needs no accounts. By default there is none.
        """
        return {}

    def rates(self, t: Scalar, state: Any) -> tuple[Any, dict[str, Scalar]]:
        """`vector_field` and `power` at once: for a model whose forces make both."""
        return self.vector_field(t, state), self.power(t, state)

    def scales(self, t: Scalar, state: Any) -> tuple[Any, Any]:
        """An origin and a unit > 0 for each number of the state, as two pytrees like the `state` at the start.

        A solver's errors are measured in units, and relative to the distance from the origin: so tolerances mean
        the same in any gravity, at any speed and wherever the frame's origin lies. By default 0 and 1: SI units.
        """
        return jax.tree.map(jnp.zeros_like, state), jax.tree.map(jnp.ones_like, state)

    def starts_inside(self, state: Any) -> Bool[Array, ""]:
        """Whether a body has its centre in the ground: no law of contact holds there, and it would be shot out."""
        return jnp.asarray(False)


class Units(eqx.Module):
    """The sizes of a motion: a `speed` m/s and a `length` m, see `motion_units`."""

    speed: Scalar
    length: Scalar


def motion_units(near: Approach, reach: Scalar | float = 0.0) -> Units:
    """The speed that a motion can have when it touches, and the length that it has, from how it starts.

    The speed is that of any point now, and that of a fall through the gap and the body's own size. The length is
    that way; of a point, which has no size, it is how far that speed lifts it.

    **Arguments:** `near`, at the start; `reach` m, the body's size.
    """
    way = jnp.where(jnp.isfinite(near.gap), jnp.maximum(near.gap, 0.0), 0.0) + reach
    speed = near.speed + safe.sqrt(2 * near.acceleration * way)
    speed = jnp.where((speed > 0) & jnp.isfinite(speed), speed, 1.0)  # all at rest, nothing pulls: SI units
    rise = safe.divide(0.5 * speed**2, near.acceleration * jnp.ones_like(speed))
    rise = jnp.where(rise > 0, rise, jnp.maximum(way, speed))
    return Units(speed, jnp.where(jnp.asarray(reach) > 0, jnp.minimum(rise, way), rise))


class AbstractImpactModel(AbstractModel):
    """A model whose state jumps, or whose field changes, when its `boundary` falls through zero."""

    @abstractmethod
    def boundary(self, t: Scalar, state: Any) -> Scalar:
        """Positive, and smooth through zero: in flight the gap m to the ground."""

    @abstractmethod
    def impact(self, t: Scalar, state: Any) -> tuple[Any, dict[str, Scalar]]:
        """The state just after `boundary` has fallen to zero, and the energies that it took, J by name."""

    @abstractmethod
    def lies(self, t: Scalar, state: Any) -> Bool[Array, ""]:
        """Whether the state is at its boundary and does not leave it: a motion from there begins with an
        impact."""
