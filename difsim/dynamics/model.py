"""The interface of models: a vector field, the distance to the next contact, energies, and scales."""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from difsim import safe
from difsim.declarations import variable
from difsim.typing import Scalar


class Approach(eqx.Module):
    """The distance to the next contact, for the step guard.

    `gap` m to the nearest contact (negative inside); bounds on the `speed` m/s at which any point can close it and on
    its `acceleration` m/s² in flight; the `resolution` s that a contact needs; the `longest` step s that is allowed.
    """

    gap: Scalar
    speed: Scalar
    resolution: Scalar
    acceleration: Scalar = variable("m/s²", "bound on the acceleration in flight", default=0.0)
    longest: Scalar = variable("s", "longest step that is allowed", default=jnp.inf)


class AbstractModel(eqx.Module):
    """A forward model: a vector field over a state (any pytree of floating arrays)."""

    has_contact_forces: ClassVar[bool] = True  # which steps must resolve where the gap is negative
    state_kinds: ClassVar[tuple[type, ...]] = (object,)  # classes of its state; `simulate` refuses any other

    @abstractmethod
    def vector_field(self, t: Scalar, state: Any) -> Any:
        """The rate of the state. **Arguments:** `t`, s; `state`. **Returns:** d state/dt, a pytree like `state`."""

    @abstractmethod
    def approach(self, t: Scalar, state: Any) -> Approach:
        """The distance to the next contact. **Arguments:** `t`, s; `state`. **Returns:** the gap and its bounds."""

    def energy(self, t: Scalar, state: Any) -> dict[str, Scalar]:
        """The parts of the energy. **Arguments:** `t`, s; `state`. **Returns:** J by name.

        `simulate` adds what `power` took away until then, and gives the status ENERGY where the sum drifts. By
        default there are none, and nothing is checked.
        """
        return {}

    def power(self, t: Scalar, state: Any) -> dict[str, Scalar]:
        """The power that leaves these energies: dissipation, less what drives put in.

        **Arguments:** `t`, s; `state`. **Returns:** W by name.

        `simulate` integrates it with the state, so that a state needs no accounts. By default there is none.
        """
        return {}

    def rates(self, t: Scalar, state: Any) -> tuple[Any, dict[str, Scalar]]:
        """Both `vector_field` and `power`: for a model whose forces make both.

        **Arguments:** `t`, s; `state`. **Returns:** the rate of the state, and W by name.
        """
        return self.vector_field(t, state), self.power(t, state)

    def scales(self, t: Scalar, state: Any) -> tuple[Any, Any]:
        """An origin and a unit > 0 for each number of the state, as two pytrees like the `state` at the start.

        A solver's errors are measured in units, and relative to the distance from the origin: so tolerances mean
        the same in any gravity, at any speed and wherever the frame's origin lies. By default 0 and 1: SI units.

        **Arguments:** `t`, s, and `state` at the start. **Returns:** origin and unit.
        """
        return jax.tree.map(jnp.zeros_like, state), jax.tree.map(jnp.ones_like, state)

    def starts_inside(self, state: Any) -> Bool[Array, ""]:
        """Whether a body has its centre in the ground: no law of contact holds there, and it would be shot out."""
        return jnp.asarray(False)


class AbstractForcedModel(AbstractModel):
    """A model whose forces make the rate of its state and its power together, by `rates`."""

    @abstractmethod
    def rates(self, t: Scalar, state: Any) -> tuple[Any, dict[str, Scalar]]:
        """Both. **Arguments:** `t`, s; `state`. **Returns:** the rate of the state, and W by name."""

    def vector_field(self, t, state):
        return self.rates(t, state)[0]

    def power(self, t, state):
        return self.rates(t, state)[1]


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
        """The event function: positive, and smooth through zero; in flight the gap to the ground.

        **Arguments:** `t`, s; `state`. **Returns:** the gap, m.
        """

    @abstractmethod
    def impact(self, t: Scalar, state: Any) -> tuple[Any, dict[str, Scalar]]:
        """The state just after `boundary` has fallen to zero.

        **Arguments:** `t`, s; `state`, just before. **Returns:** the state, and the energies that it lost, J by name.
        """

    @abstractmethod
    def closing_speed(self, t: Scalar, state: Any) -> Scalar:
        """The speed, m/s, at which the nearest material of body and ground comes together; negative as it parts.

        **Arguments:** `t`, s; `state`. **Returns:** the speed.
        """

    @abstractmethod
    def is_in_contact(self, t: Scalar, state: Any) -> Bool[Array, ""]:
        """Whether the state is at its boundary and does not leave it.

        A motion from there begins with an impact. **Arguments:** `t`, s; `state`. **Returns:** a Boolean.
        """
