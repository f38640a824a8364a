"""Signed distances of one point at a time: negative inside, positive outside.

Distances are exact outside and on the surface, and inside too except for `Union`. The normal is the gradient, by
differentiation; on edges, corners and in centres, where no gradient exists, the derivatives are finite.
"""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import safe
from difsim.checks import check_point, check_points
from difsim.declarations import part, quantity, rule
from difsim.rotation import times3
from difsim.typing import Mat3, Scalar, Vec2, Vec3


class AbstractSDF(eqx.Module):
    """A solid, given by the signed distance of a point from its surface."""

    def __init_subclass__(cls, **kwargs):
        """Check the point that the methods of a solid are given, those of a user's own solid too."""
        super().__init_subclass__(**kwargs)
        check_points(cls, "distance", "normal")

    @abstractmethod
    def distance(self, x: Vec3) -> Scalar:
        """Signed distance in m of `x` [3] in m: negative inside, positive outside."""

    @check_point
    def normal(self, x: Vec3) -> Vec3:
        """The outward unit normal n̂ [3] = ∇d/|∇d| at `x` [3] in m; 0 where ∇d = 0 (the centre of a sphere)."""
        return safe.unit(jax.grad(self.distance)(x))


class Plane(AbstractSDF):
    """The half-space below a plane, d = n̂·(x - p)."""

    tag = "plane"
    point: Vec3 = quantity("m", "point p on the plane")
    direction: Vec3 = quantity("", "direction of the outward normal n̂, of any length")

    @rule("direction = {direction} has no length: give the outward normal")
    def _has_direction(self):
        return jnp.any(self.direction != 0)

    def distance(self, x: Vec3) -> Scalar:
        return jnp.dot(self.normal(x), x - self.point)

    def normal(self, x: Vec3) -> Vec3:
        return safe.unit(self.direction)


class Sphere(AbstractSDF):
    """A ball, d = |x - c| - R."""

    tag = "sphere"
    centre: Vec3 = quantity("m", "centre c")
    radius: Scalar = quantity("m", "radius R", gt=0, usual=(0.01, 1e4), slip="km or mm")

    def distance(self, x: Vec3) -> Scalar:
        return safe.norm(x - self.centre) - self.radius

    def normal(self, x: Vec3) -> Vec3:
        return safe.unit(x - self.centre)


class Box(AbstractSDF):
    """A box centred in the origin with edges along the axes (`Posed` moves and turns it)."""

    tag = "box"
    half_size: Vec3 = quantity("m", "half of each edge", gt=0, usual=(0.01, 1e3), slip="mm")

    def distance(self, x: Vec3) -> Scalar:
        return _intersect(jnp.abs(x) - self.half_size)


class Cylinder(AbstractSDF):
    """An infinite cylinder about the z axis, d = √(x² + y²) - R (`Posed` moves and turns it)."""

    tag = "cylinder"
    radius: Scalar = quantity("m", "radius R", gt=0, usual=(0.01, 1e3), slip="mm")

    def distance(self, x: Vec3) -> Scalar:
        return safe.norm(x[:2]) - self.radius


class Prism(AbstractSDF):
    """A triangular prism on the plane z = 0 of its frame.

    Its base is equilateral, with the centroid in the origin, one corner at (0, edge/√3, 0) and the opposite edge
    along x at y = -edge/(2√3); it extends up to z = height.
    """

    tag = "prism"
    edge: Scalar = quantity("m", "edge of the base", gt=0, usual=(0.01, 1e3), slip="mm")
    height: Scalar = quantity("m", "height above the base", gt=0, usual=(0.01, 1e3), slip="mm")

    def distance(self, x: Vec3) -> Scalar:
        above = jnp.abs(x[2] - self.height / 2) - self.height / 2
        return _intersect(jnp.stack([self._triangle(x[:2]), above]))

    def _triangle(self, x: Vec2) -> Scalar:
        """The signed distance to the base, from each edge's coordinates normal to it and along it."""
        out = jnp.asarray(_OUTWARD, x.dtype) @ x - self.edge / 12**0.5
        along = jnp.abs(jnp.asarray(_ALONG, x.dtype) @ x) - self.edge / 2
        beyond = along > 0  # beyond the end of an edge its corner is closest
        to_corner = safe.norm(jnp.where(beyond[:, None], jnp.stack([out, along], axis=-1), 0.0))
        outside_distance = safe.least(jnp.where(beyond, to_corner, jnp.abs(out)))  # no norm: as in `_intersect`
        return jnp.where(jnp.all(out <= 0), safe.greatest(out), outside_distance)


_ANGLES = np.radians([-90.0, 30.0, 150.0])
_OUTWARD = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)
_ALONG = np.stack([-np.sin(_ANGLES), np.cos(_ANGLES)], axis=1)


def _intersect(d: Float[Array, " n"]) -> Scalar:
    """The signed distance to an intersection of solids at right angles, from their distances.

    Over a face it is the largest distance, on the face too, where |max(d, 0)| has no gradient. The norm is not
    used just above the face: its second derivative, which is 0 there, would be a rounding error divided by the
    distance.
    """
    positive = d > 0
    by_an_edge = jnp.sum(positive) > 1
    return jnp.where(by_an_edge, safe.norm(jnp.where(positive & by_an_edge, d, 0.0)), safe.greatest(d))


class Posed(AbstractSDF):
    """A solid that is moved and turned: d(x) = d₀(Rᵀ(x - p))."""

    tag = "posed"
    sdf: AbstractSDF = part("solid in its own frame, of distance d₀")
    position: Vec3 = quantity("m", "position p of that frame's origin")
    rotation: Mat3 = quantity(
        "", "rotation matrix R from the solid's frame to the outer one; its columns are the solid's axes"
    )

    @rule("rotation = {rotation} is not orthonormal: normalise the quaternion first")
    def _has_orthonormal_axes(self):
        return jnp.abs(self.rotation.T @ self.rotation - jnp.eye(3)) < 1e-5

    @rule("rotation = {rotation} is a reflection (its determinant is not positive): swap two columns")
    def _is_right_handed(self):
        return jnp.linalg.det(self.rotation) > 0

    def distance(self, x: Vec3) -> Scalar:
        return self.sdf.distance(times3(self.rotation.T, x - self.position))


class Union(AbstractSDF):
    """The union of several solids, d = min dᵢ: exact outside, a bound inside where solids overlap."""

    tag = "union"
    solids: tuple[AbstractSDF, ...] = part("tuple of at least one solid")

    @rule("solids is empty: give at least one solid")
    def _has_solids(self):
        return len(self.solids) > 0

    def distance(self, x: Vec3) -> Scalar:
        return safe.least(jnp.stack([solid.distance(x) for solid in self.solids]))


class Offset(AbstractSDF):
    """A solid that is grown by a margin (shrunk by a negative one), which rounds its edges: d = d₀ - margin."""

    tag = "offset"
    sdf: AbstractSDF = part("solid of distance d₀")
    margin: Scalar = quantity("m", "margin", usual=(-10, 10), slip="mm")

    def distance(self, x: Vec3) -> Scalar:
        return self.sdf.distance(x) - self.margin


class Complement(AbstractSDF):
    """The complement of a solid, d = -d₀: the wall of a container, whose normal points inwards."""

    tag = "outside"
    sdf: AbstractSDF = part("solid of distance d₀")

    def distance(self, x: Vec3) -> Scalar:
        return -self.sdf.distance(x)
