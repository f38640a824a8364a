"""The state of a touchdown, and the forces of its contacts."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.body import RigidState
from difsim.declarations import part, variable
from difsim.typing import Scalar


class TouchdownState(eqx.Module):
    """The motion of a lander, the strokes of its gear, and the plastic penetration of its footpads and its hull."""

    body: RigidState = part("motion of the body")
    gear: Float[Array, "s"] = variable("m", "strokes of the gear")
    penetration: Float[Array, "n"] = variable("m", "plastic penetration z of each footpad where it is")
    pit: Float[Array, "h"] = variable("m", "plastic penetration of the hull; none without a hull")


class RegolithForces(eqx.Module):
    """The regolith's forces on n footpads, or on the hull.

    The `closure` m between body and pit, `normal` force N, `friction` N, the `point` m where they act and its `slip`
    velocity m/s; `flow`, the rate m/s at which a pit becomes deeper, and `leaving`, at which one is left behind; energy
    `stored` in leg and skeleton J, and the `power` that the ground takes W.
    """

    closure: Float[Array, "n"]
    normal: Float[Array, "n"]
    friction: Float[Array, "n 3"]
    point: Float[Array, "n 3"]
    slip: Float[Array, "n 3"]
    flow: Float[Array, "n"]
    leaving: Float[Array, "n"]
    stored: Float[Array, "n"]
    power: Float[Array, "n"]


class BoulderForces(eqx.Module):
    """The boulder's forces on the lander.

    `gap` m > 0 of edge and top, `normal` forces N of both; `normal_forces` N at the strut's hip and foot (from the
    edge) and at the footpad (from the top); `friction` N of edge and top, the `point` m of all five, the `slip`
    velocity m/s of both, energy `stored` in boulder and leg J.
    """

    gap: Float[Array, "2"]
    normal: Float[Array, "2"]
    normal_forces: Float[Array, "3 3"]
    friction: Float[Array, "2 3"]
    point: Float[Array, "5 3"]
    slip: Float[Array, "2 3"]
    stored: Scalar

    @property
    def force(self) -> Float[Array, "5 3"]:
        """Normal forces and friction [5, 3], N."""
        return jnp.concatenate([self.normal_forces, self.friction])
