"""Smoothing kernels W(r) = w(r/h)/h^d of support h, whose integral over the plane or space is 1."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp

from difsim.declarations import quantity
from difsim.particles.vectors import Components, Vector, dot, times
from difsim.typing import Scalar

SUPPORT = "support h (twice the smoothing length of other texts)"


class AbstractKernel(eqx.Module):
    """A kernel of support `h` m, zero beyond it.

    Gradients are written with the slope over the distance, W'(r)/r, which is finite at r = 0, so that no root of a
    vanishing distance is differentiated.
    """

    h: eqx.AbstractVar[Scalar]

    @abstractmethod
    def profile(self, q: Scalar) -> Scalar:
        """w(q) of q = r/h in [0, 1], before its normalisation."""

    @abstractmethod
    def slope(self, q: Scalar) -> Scalar:
        """w'(q)/q."""

    @abstractmethod
    def norm(self, dimensions: int) -> float:
        """The factor that makes the integral of w over the plane (2) or space (3) equal to 1."""

    def value(self, offset: Vector) -> Scalar:
        """W in 1/m^d at x_a - x_b m."""
        q = self._ratio(offset)
        inside = jnp.where(q < 1, self.profile(jnp.minimum(q, 1.0)), 0.0)
        return self.norm(len(offset)) / self.h ** len(offset) * inside

    def gradient(self, offset: Vector) -> Components:
        """∂W/∂x_a in 1/m^(d+1) at x_a - x_b m, its d components; zero at zero."""
        q = self._ratio(offset)
        inside = jnp.where(q < 1, self.slope(jnp.minimum(q, 1.0)), 0.0)
        return times(self.norm(len(offset)) / self.h ** (len(offset) + 2) * inside, offset)

    def _ratio(self, offset: Vector) -> Scalar:
        # Two particles at one place, or one with itself, have no direction: a bound far below any spacing makes
        # the root's derivative zero there.
        squared = dot(offset, offset) / self.h**2
        return jnp.sqrt(jnp.maximum(squared, jnp.finfo(squared.dtype).eps ** 2))


class CubicSpline(AbstractKernel):
    """The cubic B-spline of Monaghan and Lattanzio (1985) by its support: 6q³ - 6q² + 1 below ½, 2(1-q)³ above.

    **Source:** Schäfer et al. (2017), Eq 30.
    """

    tag = "cubic-spline"
    h: Scalar = quantity("m", SUPPORT, gt=0, usual=(1e-4, 1), slip="mm")

    def profile(self, q: Scalar) -> Scalar:
        return jnp.where(q < 0.5, 6.0 * q**2 * (q - 1.0) + 1.0, 2.0 * (1.0 - q) ** 3)

    def slope(self, q: Scalar) -> Scalar:
        return jnp.where(q < 0.5, 18.0 * q - 12.0, -6.0 * (1.0 - q) ** 2 / jnp.maximum(q, 0.5))

    def norm(self, dimensions: int) -> float:
        return {2: 40.0 / (7.0 * jnp.pi), 3: 8.0 / jnp.pi}[dimensions]


class WendlandC2(AbstractKernel):
    """Wendland's kernel (1-q)⁴(1 + 4q): no pairing of particles under pressure, since its transform is positive.

    **Source:** Dehnen and Aly (2012), MNRAS 425, 1068, Table 1.
    """

    tag = "wendland-c2"
    h: Scalar = quantity("m", SUPPORT, gt=0, usual=(1e-4, 1), slip="mm")

    def profile(self, q: Scalar) -> Scalar:
        return (1.0 - q) ** 4 * (1.0 + 4.0 * q)

    def slope(self, q: Scalar) -> Scalar:
        return -20.0 * (1.0 - q) ** 3

    def norm(self, dimensions: int) -> float:
        return {2: 7.0 / jnp.pi, 3: 21.0 / (2.0 * jnp.pi)}[dimensions]
