"""Regularisation of a normal force: a depth of either sign becomes a penetration δ ≥ 0, smoothly or with a corner."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from difsim import safe
from difsim.declarations import quantity
from difsim.typing import Scalar


class AbstractRegularisation(eqx.Module):
    """The penetration δ as a function of the depth d."""

    @property
    @abstractmethod
    def is_smooth(self) -> bool:
        """Whether δ'(d) is continuous, so that forces that start at once with δ' have a derivative."""

    @property
    @abstractmethod
    def reach(self) -> Scalar:
        """Gap in m beyond which a force is below rounding."""

    @property
    def margin(self) -> Scalar:
        """Gap in m from which on contact counts as begun: five widths, a quarter of the reach.

        A power p pushes k wᵖ exp(-(p + 1) d/w) at the gap d: at five widths 4e-6 of k wᵖ for p = 3/2, and 5e-5 for
        p = 1. A body at rest lies nearer, unless its weight is less than that.
        """
        return self.reach / 4

    @abstractmethod
    def penetration(self, depth: Scalar) -> Scalar:
        """δ(d) ≥ 0 in m of the depth d in m, positive inside."""


class Smoothing(AbstractRegularisation):
    """A smooth start, δ = w log(1 + exp(d/w)): always positive, and d itself a few widths inside.

    A width of 0.03 to 0.1 of the greatest depth keeps derivatives through the steps of a solver exact to 1e-4 and
    better.
    """

    tag = "smooth"
    width: Scalar = quantity(
        "m", "width w of the start", gt=0, usual=(1e-9, 0.1), slip="mm", hint="use NoSmoothing() for no width"
    )

    @property
    def is_smooth(self) -> bool:
        return True

    @property
    def reach(self) -> Scalar:
        return 20 * self.width  # δ has fallen by exp(-20), and every force has a second such factor, δ'

    def penetration(self, depth: Scalar) -> Scalar:
        return safe.ramp(depth, self.width)


class NoSmoothing(AbstractRegularisation):
    """A start at zero depth, δ = max(0, d), as in the closed forms. In d = 0 itself nothing acts."""

    tag = "sharp"

    @property
    def is_smooth(self) -> bool:
        return False

    @property
    def reach(self) -> Scalar:
        return jnp.zeros(())

    def penetration(self, depth: Scalar) -> Scalar:
        return safe.positive_part(depth)


def as_regularisation(given: Any) -> AbstractRegularisation:
    """A regularisation as it is, or a width in m, a number, as `Smoothing`."""
    return given if isinstance(given, AbstractRegularisation) else Smoothing(given)
