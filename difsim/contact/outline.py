"""Outlines, the points where a body may touch: vertices, points of its hull, or the lowest of a ball."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.checks import numbers
from difsim.declarations import quantity, rule
from difsim.rotation import product3
from difsim.shape import AbstractSDF
from difsim.typing import Mat3, Scalar, Vec3, require


class AbstractOutline(eqx.Module):
    """The points of a rigid body that may touch a surface.

    Each has a `radius`, the greatest distance of a point from the centre of mass, m: a bound, without derivative.
    """

    radius: eqx.AbstractVar[Scalar]

    @abstractmethod
    def arms(self, surface: AbstractSDF, centre: Vec3, rotation: Mat3) -> Float[Array, "N 3"]:
        """The vectors from the centre of mass to each point, in the surface's frame.

        **Arguments:** `surface`; `centre` [3] m of mass; `rotation` [3, 3] from the body's frame to the surface's.
        **Returns:** the vectors [N, 3], m.
        """

    @property
    @abstractmethod
    def count(self) -> int:
        """The number N of points."""


class Vertices(AbstractOutline):
    """Points fixed in the body: corners, or points spread over its hull (`mesh.surface_points`)."""

    points: Float[Array, "N 3"] = quantity("m", "points, from the centre of mass in the body's frame", slip="mm")

    @rule("there are no points: give an array [N, 3]")
    def _has_points(self):
        return self.count > 0

    @classmethod
    def box(cls, edges: Vec3 | tuple[float, float, float]) -> "Vertices":
        """The eight corners of a box about its centre, from the lengths of its edges [3], m."""
        edges = numbers("Vertices.box: edges", edges, "3")
        require(edges > 0, f"Vertices.box: edges = {edges} m must be positive")
        signs = jnp.stack(jnp.meshgrid(*[jnp.array([-0.5, 0.5])] * 3, indexing="ij"), axis=-1).reshape(8, 3)
        return cls(signs * edges[None])

    def arms(self, surface: AbstractSDF, centre: Vec3, rotation: Mat3) -> Float[Array, "N 3"]:
        return product3(self.points, rotation.T)

    @property
    def radius(self) -> Scalar:
        return jnp.sqrt(jnp.max(jnp.sum(jax.lax.stop_gradient(self.points) ** 2, axis=1)))

    @property
    def count(self) -> int:
        return len(self.points)


class Ball(AbstractOutline):
    """A ball about the centre of mass: it touches where its surface is nearest to the ground."""

    radius: Scalar = quantity("m", "radius R of the ball", gt=0, usual=(1e-4, 100), slip="cm or mm")

    def arms(self, surface: AbstractSDF, centre: Vec3, rotation: Mat3) -> Float[Array, "N 3"]:
        return -self.radius * surface.normal(centre)[None]

    @property
    def count(self) -> int:
        return 1
