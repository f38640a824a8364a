"""Containers of beds: a floor at z = 0 and upright sides, open above."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.fields import number, scalar
from difsim.shape import AbstractSDF, Complement, Cylinder, Plane
from difsim.typing import Scalar, require


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
        return Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), *self.sides

    def from_sides(self, position: Float[np.ndarray, "3 n"]) -> Float[np.ndarray, " n"]:
        """The distance of each point from the nearest side, m; negative outside."""
        return np.asarray(_nearest(self.sides, jnp.asarray(position)))


@eqx.filter_jit
def _nearest(sides, position):
    return jnp.min(jnp.stack([jax.vmap(side.distance, in_axes=1)(position) for side in sides]), axis=0)


class CylindricalContainer(AbstractContainer):
    """A cylinder on its flat end. **Arguments:** `diameter`, m, positive. **Raises:** ValueError otherwise."""

    tag = "drum"
    diameter: Scalar = scalar()

    def __check_init__(self):
        require(self.diameter > 0, f"CylindricalContainer: diameter = {self.diameter} m must be positive")

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
    """A box. **Arguments:** `width` [2] along x and y, m, positive. **Raises:** ValueError otherwise."""

    tag = "bin"
    width: Float[Array, "2"] = number()

    def __check_init__(self):
        require(self.width.shape == (2,), f"BoxContainer: width has shape {self.width.shape}: give [2]")
        require(self.width > 0, f"BoxContainer: width = {self.width} m must be positive")

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
