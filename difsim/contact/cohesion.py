"""Cohesion at one point: an attraction across a short gap, from a potential."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim.declarations import quantity
from difsim.typing import Scalar


class AbstractCohesion(eqx.Module):
    """An attraction F = dU/dg, F_c where the point touches and 0 beyond a gap of `range`.

    The work of separation, W = ∫ F dg from g = 0, is given with each law. F has a continuous derivative.
    """

    pull_off: eqx.AbstractVar[Scalar]
    range: eqx.AbstractVar[Scalar]

    @abstractmethod
    def energy(self, gap: Scalar) -> Scalar:
        """U(g) ≤ 0 in J at a `gap` g in m, negative inside; 0 where the attraction has ended."""

    def force(self, gap: Scalar) -> Scalar:
        """F in N, positive when it pulls in, at a `gap` in m."""
        return jax.grad(self.energy)(gap)


class ConstantCohesion(AbstractCohesion):
    """A constant attraction F_c up to 0.8 of its range, which ends smoothly in the rest: W = 0.9 F_c range."""

    tag = "constant-cohesion"
    pull_off: Scalar = quantity(
        "N", "attraction F_c of a point that touches", ge=0, usual=(0, 1e4), hint="cohesion attracts"
    )
    range: Scalar = quantity("m", "gap at which the attraction ends", gt=0, usual=(1e-9, 0.1), slip="mm")

    def energy(self, gap: Scalar) -> Scalar:
        return -self.pull_off * self.range * _fall(gap / self.range, 0.8)


class LinearCohesion(AbstractCohesion):
    """An attraction that falls linearly with the gap, F_c (1 - g/range), and is F_c inside: W = ½ F_c range.

    The two corners, at g = 0 and at the range, are rounded within a fifth of the range: there F is up to 2.5 % of
    F_c off the straight line that it follows between.

    **Source:** the form is that of Gilabert, Roux & Castellanos, Phys. Rev. E 75 (2007) 011303.
    """

    tag = "linear-cohesion"
    pull_off: Scalar = quantity(
        "N", "attraction F_c of a point that touches", ge=0, usual=(0, 1e4), hint="cohesion attracts"
    )
    range: Scalar = quantity("m", "gap at which the attraction ends", gt=0, usual=(1e-9, 0.1), slip="mm")

    def energy(self, gap: Scalar) -> Scalar:
        return -self.pull_off * self.range * _fall(gap / self.range, 0.0)


def _fall(x: Scalar, start: float) -> Scalar:
    """∫ p dx from x on, of a p that falls from 1 at `start` to 0 at 1, on a line with rounded corners."""
    corner = (1 - start) / 10
    return (_integrate_twice(1 - corner - x, corner) - _integrate_twice(start + corner - x, corner)) / (
        1 - start - 2 * corner
    )


def _integrate_twice(u: Scalar, corner: float) -> Scalar:
    """∫∫ of a unit step that is spread over (-corner, corner): 0, a cubic, and u²/2 + corner²/6."""
    bent = (u + corner) ** 3 / (12 * corner)
    return jnp.where(u < -corner, 0.0, jnp.where(u > corner, u**2 / 2 + corner**2 / 6, bent))
