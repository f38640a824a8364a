"""A lander's hull: a box with rounded edges, which touches flat ground at its lowest point."""

import equinox as eqx
import jax.numpy as jnp

from difsim.declarations import quantity
from difsim.typing import Scalar, Vec3

ROUNDING = (
    0.01  # ε: the lowest point crosses an edge within some 2 ε rad; faces move out by ε times the other half edges
)


class Hull(eqx.Module):
    """A box about the centre of mass, its edges and corners rounded.

    With n̂ the ground's normal in the body frame the hull extends h = Σ aᵢ √(nᵢ² + ε²) below the centre of mass.
    That is the sum of three thin ellipsoids: convex, and h differentiable, so the lowest point p = -∂h/∂n̂ moves
    continuously from corner to corner, and a normal force that depends on the depth alone has a potential.
    """

    size: Vec3 = quantity("m", "edges 2a of the box along the body's axes", gt=0, usual=(0.05, 20), slip="mm")

    @property
    def radius(self) -> Scalar:
        """An upper bound of the distance of the hull's points from the centre of mass, m."""
        return 0.5 * (1 + ROUNDING) * jnp.sum(self.size)

    def lowest(self, up: Vec3) -> Vec3:
        """The lowest point p [3] m for the unit normal n̂ [3] `up` of the ground, both in the body frame."""
        lengths = jnp.sqrt(up**2 + ROUNDING**2)
        # h is homogeneous, Σ aᵢ √(nᵢ² + ε² n̂·n̂), so that p·n̂ = -h.
        return -0.5 * (self.size / lengths * up + ROUNDING**2 * jnp.sum(self.size / lengths) * up)

    def contact_radius(self, up: Vec3, depth: Scalar) -> Scalar:
        """The radius of a disc with the area of the hull's widest section up to a depth above its lowest point.

        It is that of a box where one edge, two or all three are longer than what is in the ground (d²/(2 n₁n₂n₃) at a
        corner, the face's area on a face) and smooth between them. Faces bulge by their rounding.

        **Arguments:** `up` [3], the unit normal n̂ of the ground in the body frame; `depth` d > 0, m. **Returns:** the
        radius, m.
        """
        slopes = jnp.sqrt(up**2 + 0.25 * ROUNDING * depth / self.size)  # the chord of a bulge is √(8 a d/ε)
        chords = depth / slopes
        share = jnp.prod(1 / jnp.sqrt(1 + (chords / self.size) ** 2))  # no chord is longer than the box
        height = jnp.sqrt(1 + jnp.sum((up * depth / self.size) ** 2)) / depth  # 1/d, and no less than the box has
        return jnp.sqrt((1 - 0.5 * share**2) * share * jnp.prod(chords) * height / jnp.pi)
