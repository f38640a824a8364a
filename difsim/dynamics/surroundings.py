"""The surroundings of a free body in a frame: gravity, the tide of a primary, and the rotation of the frame."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim import safe
from difsim.dynamics.frames import FrameMotion
from difsim.gravity import AbstractField
from difsim.typing import Scalar, Vec3, as_float


class Surroundings(eqx.Module):
    """The `field` of gravity in a frame, with the tide, and the rotation of the frame, both at one time."""

    field: AbstractField
    motion: FrameMotion

    @classmethod
    def at(cls, model: Any, t: Scalar | float) -> "Surroundings":
        """The surroundings of a model that has `gravity`, `frame` and `primary`.

        **Arguments:** `model`; `t`, s. **Returns:** the surroundings.
        """
        motion = model.frame.at(as_float(t))
        if model.primary is None:
            return cls(model.gravity, motion)
        return cls(model.gravity + model.primary.tide(as_float(t), motion.attitude), motion)

    def acceleration(self, position: Vec3, velocity: Vec3) -> Vec3:
        """The acceleration ∇U - 2 ω × v - ω × (ω × r) - ω' × r of a free point in the frame.

        **Arguments:** `position` r [3], m; `velocity` v [3], m/s. **Returns:** the acceleration [3], m/s².
        """
        return self.field.acceleration(position) + self.motion.apparent_acceleration(position, velocity)

    def greatest_acceleration(self, position: Vec3, gap: Scalar) -> Scalar:
        """An upper bound of the acceleration towards the surface while half of a gap is closed.

        All mass is farther away than the gap d, so the pull of each part grows by a factor of four at most (a bound if
        the pulls of the parts do not cancel). The Coriolis term does not change the speed; the centrifugal one is ω² r
        at most, and that of a spin that changes ω' r.

        **Arguments:** `position` [3], m; `gap` d, m. **Returns:** the bound, m/s².
        """
        reach = safe.norm(position) + jnp.maximum(gap, 0.0)
        turning = self.motion.spin @ self.motion.spin + safe.norm(self.motion.spin_rate)
        return 4 * safe.norm(self.field.acceleration(position)) + turning * reach


def changes(
    model: Any, t: Scalar | float, energy: Callable[[AbstractField], Scalar], momentum: Vec3
) -> dict[str, Scalar]:
    """The power that leaves the energy of the relative motion because frame and field change with time.

    The energy of a motion in a frame is H - ω·L, with H and L as seen from axes that do not rotate. So it changes by
    -ω'·L, and by the rate of the potential at a fixed place. A steady frame and a fixed field have no such powers.

    **Arguments:** `model`, as of `Surroundings.at`; `t`, s; `energy`, the potential energy J in a field, with the
    position in the frame held; `momentum` L [3], the inertial angular momentum about the origin, kg m²/s, in the frame.
    **Returns:** W by name.
    """
    t = as_float(t)
    found = {} if model.frame.is_steady else {"frame": model.frame.at(t).spin_rate @ momentum}
    if model.primary is None:
        return found
    of_time = lambda t: energy(Surroundings.at(model, t).field)  # noqa: E731
    return found | {"tide": -jax.jvp(of_time, (t,), (jnp.ones_like(t),))[1]}
