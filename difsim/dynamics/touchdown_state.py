"""What a touchdown keeps from one instant to the next, and what its contacts do at one."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.body import RigidState
from difsim.typing import Scalar, Vec3, number


class TouchdownState(eqx.Module):
    """Rigid motion, gear strokes [s] m, plastic penetration of each footpad [n] m."""

    body: RigidState
    gear: Float[Array, "s"] = number()
    penetration: Float[Array, "n"] = number()


class FootpadForces(eqx.Module):
    """What the regolith does to each sole: elastic closure m, normal force N, friction N, the point m where
    they act and its slip velocity m/s, energy stored in leg and skeleton J."""

    closure: Float[Array, "n"]
    normal: Float[Array, "n"]
    friction: Float[Array, "n 3"]
    point: Float[Array, "n 3"]
    slip: Float[Array, "n 3"]
    stored: Float[Array, "n"]


class BoulderForces(eqx.Module):
    """What the boulder does to the lander: pushes N at the strut's hip and foot (the edge's) and at the sole (the
    top's), friction N of edge and top, and where all five act. `gap` m > 0 of edge and top, `normal` N of both,
    the slip velocity m/s of both, energy stored in boulder and leg J."""

    gap: Float[Array, "2"]
    normal: Float[Array, "2"]
    pushes: Float[Array, "3 3"]
    friction: Float[Array, "2 3"]
    point: Float[Array, "5 3"]
    slip: Float[Array, "2 3"]
    stored: Scalar

    @property
    def force(self) -> Float[Array, "5 3"]:
        """Pushes and friction, N."""
        return jnp.concatenate([self.pushes, self.friction])


class HullForces(eqx.Module):
    """What the ground does to the hull at its lowest `point` m: the `gap` m there, `normal` push N, `friction` N,
    energy `stored` J, and what damping and friction take, W."""

    gap: Scalar
    normal: Scalar
    friction: Vec3
    point: Vec3
    stored: Scalar
    damping: Scalar
    rubbing: Scalar
