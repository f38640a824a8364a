"""The surface frame of a landing site."""

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike

from difsim import safe
from difsim.declarations import quantity, rule
from difsim.typing import Mat3, Vec3, as_float, is_known


class SurfaceFrame(eqx.Module):
    """A frame fixed to the facet of a landing site.

    The site does not move relative to the comet, so velocities, accelerations, forces and axes only rotate. An
    attitude body to comet q becomes `Rotation.from_matrix(frame.matrix) @ Rotation(q)`.

    **Source:** the Agilkia reconstruction, sec. 2.1, Eqs 4-10.
    """

    origin: Vec3 = quantity("m", "position r_p of the site, comet-fixed")
    matrix: Mat3 = quantity("", "rotation matrix R from comet-fixed to surface components")

    @rule("matrix = {matrix} is not a rotation: build it with Rotation.as_matrix or SurfaceFrame.from_normal")
    def _has_rotation(self):
        off = jnp.max(jnp.abs(self.matrix @ self.matrix.T - jnp.eye(3, dtype=self.matrix.dtype)))
        return (off < jnp.finfo(self.matrix.dtype).eps ** 0.5) & (jnp.linalg.det(self.matrix) > 0)

    @classmethod
    def from_normal(cls, origin: ArrayLike, normal: ArrayLike, heading: ArrayLike) -> "SurfaceFrame":
        """The frame with z along the outward normal of a facet and x along the part of `heading` in the facet.

        **Arguments:** `origin` [3], m, comet-fixed; `normal`, `heading` [3], comet-fixed, of any length.
        **Returns:** the frame, y = z × x. **Raises:** ValueError for a zero normal, or a heading along it.
        """
        origin, normal, heading = as_float(origin), as_float(normal), as_float(heading)
        z = safe.unit(normal)
        level = heading - jnp.dot(heading, z) * z
        if (
            is_known(z)
            and is_known(level)
            and not (safe.norm(z) > 0 and safe.norm(level) > 1e-6 * safe.norm(heading))
        ):
            raise ValueError(
                f"heading {heading} does not fix a direction in the facet with normal {normal}: "
                "give a nonzero normal and a heading that is not along it"
            )
        x = safe.unit(level)
        return cls(origin, jnp.stack([x, jnp.cross(z, x), z]))

    def position(self, r: Vec3) -> Vec3:
        """R (r - r_p), a comet-fixed position r [3] m in the surface frame."""
        return self.matrix @ (r - self.origin)

    def direction(self, d: Vec3) -> Vec3:
        """R d, any vector that is no place (velocity relative to the comet, force, axis) [3] in surface components."""
        return self.matrix @ d

    def comet_direction(self, d: Vec3) -> Vec3:
        """Such a vector [3], from surface to comet-fixed components."""
        return self.matrix.T @ d
