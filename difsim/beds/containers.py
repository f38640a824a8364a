"""Containers of beds: a floor at z = 0 and upright sides, open above."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.declarations import quantity
from difsim.shape import AbstractSDF, Complement, Cylinder, Plane
from difsim.typing import Scalar


class AbstractContainer(eqx.Module):
    """Upright sides about the axis z, on a floor."""

    @property
    @abstractmethod
    def half_size(self) -> Float[Array, "2"]:
        """Half the widths of the bounding rectangle along x and y, m."""

    @property
    @abstractmethod
    def area(self) -> Scalar:
        """The area of the floor, m²."""

    @property
    @abstractmethod
    def sides(self) -> tuple[AbstractSDF, ...]:
        """The solids outside the container."""

    @property
    def walls(self) -> tuple[AbstractSDF, ...]:
        """The floor and the sides, for `Grains`."""
        return Plane(jnp.zeros(3), jnp.array([0.0, 0.0, 1.0])), *self.sides

    def from_sides(self, position: Float[np.ndarray, "3 n"]) -> Float[np.ndarray, " n"]:
        """The distance of each point from the nearest side, m; negative outside."""
        return np.asarray(_nearest(self.sides, jnp.asarray(position)))


@eqx.filter_jit
def _nearest(sides, position):
    return jnp.min(jnp.stack([jax.vmap(side.distance, in_axes=1)(position) for side in sides]), axis=0)


class CylindricalContainer(AbstractContainer):
    """A cylinder on its flat end."""

    tag = "drum"
    diameter: Scalar = quantity("m", "inner diameter", gt=0, usual=(0.01, 10), slip="cm")

    @property
    def half_size(self):
        return jnp.broadcast_to(0.5 * self.diameter, (2,))

    @property
    def area(self):
        return 0.25 * jnp.pi * self.diameter**2

    @property
    def sides(self):
        return (Complement(Cylinder(0.5 * self.diameter)),)


class BoxContainer(AbstractContainer):
    """A box."""

    tag = "bin"
    width: Float[Array, "2"] = quantity("m", "inner widths along x and y", gt=0, usual=(0.01, 10), slip="cm")

    @property
    def half_size(self):
        return 0.5 * self.width

    @property
    def area(self):
        return self.width[0] * self.width[1]

    @property
    def sides(self):
        across = zip(jnp.eye(3)[:2], self.half_size, strict=True)
        return tuple(Plane(end * half * axis, -end * axis) for axis, half in across for end in (-1.0, 1.0))
