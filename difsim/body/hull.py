"""A lander's hull: a box with rounded edges, which touches flat ground at its lowest point."""

import equinox as eqx
import jax.numpy as jnp

from difsim.contact import NormalForce
from difsim.declarations import part, quantity
from difsim.typing import Scalar, Vec3

ROUNDING = (
    0.01  # ε: the lowest point crosses an edge within some 2 ε rad; faces move out by ε times the other half edges
)


class Hull(eqx.Module):
    """A box about the centre of mass, its edges and corners rounded, and the normal force of the ground.

    With n̂ the ground's normal in the body frame the hull extends h = Σ aᵢ √(nᵢ² + ε²) below the centre of mass.
    That is the sum of three thin ellipsoids: convex, and h differentiable, so the lowest point p = -∂h/∂n̂ moves
    continuously from corner to corner, and a normal force that depends on the depth alone has a potential.
    """

    size: Vec3 = quantity("m", "edges 2a of the box along the body's axes", gt=0, usual=(0.05, 20), slip="mm")
    normal: NormalForce = part("normal force of the ground")

    @property
    def radius(self) -> Scalar:
        """An upper bound of the distance of the hull's points from the centre of mass, m."""
        return 0.5 * (1 + ROUNDING) * jnp.sum(self.size)

    def lowest(self, up: Vec3) -> Vec3:
        """The lowest point p [3] m for the unit normal n̂ [3] `up` of the ground, both in the body frame."""
        lengths = jnp.sqrt(up**2 + ROUNDING**2)
        # h is homogeneous, Σ aᵢ √(nᵢ² + ε² n̂·n̂), so that p·n̂ = -h.
        return -0.5 * (self.size / lengths * up + ROUNDING**2 * jnp.sum(self.size / lengths) * up)
