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
from difsim.checks import at_one_point, check_points
from difsim.fields import number, part
from difsim.rotation import times3
from difsim.typing import Mat3, Scalar, Vec2, Vec3, require


class AbstractSDF(eqx.Module):
    """A solid, given by the signed distance of a point from its surface."""

    def __init_subclass__(cls, **kwargs):
        """Check the point that the methods of a solid are given, those of a user's own solid too."""
        super().__init_subclass__(**kwargs)
        check_points(cls, "distance", "normal")

    @abstractmethod
    def distance(self, x: Vec3) -> Scalar:
        """Signed distance in m of `x` [3] in m: negative inside, positive outside."""

    @at_one_point
    def normal(self, x: Vec3) -> Vec3:
        """The outward unit normal n̂ [3] = ∇d/|∇d| at `x` [3] in m; 0 where ∇d = 0 (the centre of a sphere)."""
        return safe.unit(jax.grad(self.distance)(x))


class Plane(AbstractSDF):
    """The half-space below a plane, d = n̂·(x - p).

    **Arguments:** `point` p [3], m, on the plane; `direction` [3], along the outward normal, of any length.
    **Raises:** `ValueError` for a zero `direction`, or values that are not finite.
    """

    tag = "plane"
    point: Vec3 = number()
    direction: Vec3 = number()

    def __check_init__(self):
        require(jnp.any(self.direction != 0), "Plane: direction is zero; give the outward normal.")

    def distance(self, x: Vec3) -> Scalar:
        return jnp.dot(self.normal(x), x - self.point)

    def normal(self, x: Vec3) -> Vec3:
        return safe.unit(self.direction)


class Sphere(AbstractSDF):
    """A ball, d = |x - c| - R.

    **Arguments:** `centre` c [3], m; `radius` R, m, positive. **Raises:** `ValueError` for R ≤ 0.
    """

    tag = "sphere"
    centre: Vec3 = number()
    radius: Scalar = number()

    def __check_init__(self):
        require(self.radius > 0, f"Sphere: radius = {self.radius} m must be positive.")

    def distance(self, x: Vec3) -> Scalar:
        return safe.norm(x - self.centre) - self.radius

    def normal(self, x: Vec3) -> Vec3:
        return safe.unit(x - self.centre)


class Box(AbstractSDF):
    """A box centred in the origin with edges along the axes (`Posed` moves and turns it).

    **Arguments:** `half_size` [3], m, positive: half of each edge. **Raises:** `ValueError` otherwise.
    """

    tag = "box"
    half_size: Vec3 = number()

    def __check_init__(self):
        require(self.half_size > 0, f"Box: half_size = {self.half_size} m must be positive.")

    def distance(self, x: Vec3) -> Scalar:
        return _intersect(jnp.abs(x) - self.half_size)


class Cylinder(AbstractSDF):
    """An infinite cylinder about the z axis, d = √(x² + y²) - R (`Posed` moves and turns it).

    **Arguments:** `radius` R, m, positive. **Raises:** `ValueError` otherwise.
    """

    tag = "cylinder"
    radius: Scalar = number()

    def __check_init__(self):
        require(self.radius > 0, f"Cylinder: radius = {self.radius} m must be positive.")

    def distance(self, x: Vec3) -> Scalar:
        return safe.norm(x[:2]) - self.radius


class Prism(AbstractSDF):
    """A triangular prism on the plane z = 0 of its frame.

    Its base is equilateral, with the centroid in the origin, one corner at (0, edge/√3, 0) and the opposite edge
    along x at y = -edge/(2√3); it extends up to z = height.

    **Arguments:** `edge`, m, of the base; `height`, m; both positive. **Raises:** `ValueError` otherwise.
    """

    tag = "prism"
    edge: Scalar = number()
    height: Scalar = number()

    def __check_init__(self):
        require(self.edge > 0, f"Prism: edge = {self.edge} m must be positive.")
        require(self.height > 0, f"Prism: height = {self.height} m must be positive.")

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
    """A solid that is moved and turned: d(x) = d₀(Rᵀ(x - p)).

    **Arguments:** `sdf` in its own frame; `position` p [3], m, of that frame's origin; `rotation` R [3,3], from
    the solid's frame to the outer one (its columns are the solid's axes).
    **Raises:** `ValueError` if R is no rotation.
    """

    tag = "posed"
    sdf: AbstractSDF = part()
    position: Vec3 = number()
    rotation: Mat3 = number()

    def __check_init__(self):
        proper = jnp.abs(self.rotation.T @ self.rotation - jnp.eye(3)) < 1e-5
        require(proper, f"Posed: rotation = {self.rotation} is not orthonormal; normalise the quaternion first.")
        require(
            jnp.linalg.det(self.rotation) > 0,
            "Posed: rotation is a reflection (det = -1): swap two columns.",
        )

    def distance(self, x: Vec3) -> Scalar:
        return self.sdf.distance(times3(self.rotation.T, x - self.position))


class Union(AbstractSDF):
    """The union of several solids, d = min dᵢ: exact outside, a bound inside where solids overlap.

    **Arguments:** `solids`, at least one. **Raises:** `ValueError` if there is none.
    """

    tag = "union"
    solids: tuple[AbstractSDF, ...] = part()

    def __check_init__(self):
        require(len(self.solids) > 0, "Union of no solids; give at least one.")

    def distance(self, x: Vec3) -> Scalar:
        return safe.least(jnp.stack([solid.distance(x) for solid in self.solids]))


class Offset(AbstractSDF):
    """A solid that is grown by a margin (shrunk by a negative one), which rounds its edges: d = d₀ - margin.

    **Arguments:** `sdf`; `margin`, m.
    """

    tag = "offset"
    sdf: AbstractSDF = part()
    margin: Scalar = number()

    def distance(self, x: Vec3) -> Scalar:
        return self.sdf.distance(x) - self.margin


class Complement(AbstractSDF):
    """The complement of a solid, d = -d₀: the wall of a container, whose normal points inwards.

    **Arguments:** `sdf`.
    """

    tag = "outside"
    sdf: AbstractSDF = part()

    def distance(self, x: Vec3) -> Scalar:
        return -self.sdf.distance(x)
