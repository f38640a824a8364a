"""The interface of parameters: what a search needs to know of a number, or of an array of numbers.

A parameter is one number or an array of numbers, such as a field. Each number has three coordinates: p, physical, in
its unit; s, scaled by the prior (a fraction of an interval, or a number of standard deviations), in which derivatives
and information are compared; and x, unbounded, for searches. p = physical(s), s = fold(x).
"""

import abc
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, Shaped

Numbers = Shaped[Array, "..."]

# Keeps ds/dx of a start at a tenth of its largest value, so that a search can leave the bound on which it starts.
START = 0.0025


class AbstractParameter(eqx.Module):
    """One number, or one array of numbers, among the arguments of `predict`."""

    unit: eqx.AbstractVar[str]

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the value: () for one number."""

    @abc.abstractmethod
    def check(self, value: Any) -> Any:
        """The value, snapped to a discrete one, or a ValueError if the parameter cannot take it."""


class AbstractUnknown(AbstractParameter):
    """An unknown number or array, with its prior and its coordinates, each in the shape of the parameter."""

    @abc.abstractmethod
    def physical(self, s: Numbers) -> Numbers:
        """The physical value p at the prior-scaled s."""

    @abc.abstractmethod
    def to_prior_scale(self, p: Numbers) -> Numbers:
        """The prior-scaled s at the physical p."""

    @abc.abstractmethod
    def fold(self, x: Numbers) -> Numbers:
        """The prior-scaled s at the unbounded x."""

    @abc.abstractmethod
    def unfold(self, s: Numbers, margin: float = START) -> Numbers:
        """An unbounded x of s, kept away from the bounds, where `fold` is stationary.

        **Arguments:** `s`; `margin` in s that is kept; 0 gives the exact x. **Returns:** x.
        """

    @abc.abstractmethod
    def quantile(self, u: Numbers) -> Numbers:
        """The s below which the prior has the probability u: uniform u sample the prior."""

    @abc.abstractmethod
    def probability(self, s: Numbers) -> Numbers:
        """The prior probability below s, the inverse of `quantile`."""

    @abc.abstractmethod
    def prior_residual(self, s: Numbers) -> Float[Array, " rows"]:
        """The prior's rows in the residual: none for a uniform prior, one for each number with a Gaussian."""

    def component(self, index: tuple[int, ...]) -> "AbstractUnknown":
        """The unknown that is one number of this array; itself for the index () of a single number."""
        return jax.tree.map(lambda leaf: leaf[index], self)

    @property
    @abc.abstractmethod
    def prior_width(self) -> float:
        """The standard deviation of the prior in s."""

    @property
    @abc.abstractmethod
    def limits(self) -> tuple[float, float]:
        """The range of s."""
