"""The interface of a law of errors, and how a likelihood that is no sum of squares enters least squares.

A law gives its misfit, -2 ln L, and rows whose Gauss-Newton step is that of Fisher's scoring: with the derivatives J
of the rows v, J^T v is half the gradient of the misfit, exactly, and J^T J is the information. For known Gaussian
errors these rows are the whitened residuals, and the misfit is their sum of squares.
"""

import abc
from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.typing import Scalar, as_float, require


class Compared(NamedTuple):
    """Rows of the residual, and the misfit: -2 ln L, relative to a fit that is perfect under Gaussian errors."""

    residual: Float[Array, " rows"]
    misfit: Scalar


class Quantity(eqx.Module):
    """A number that is known, or the name of the parameter of the problem that it is.

    **Arguments:** `given`: a positive number, or a name; `what` it is, in a message. **Raises:** ValueError for
    another number.
    """

    number: Array | None
    name: str | None = eqx.field(static=True)

    def __init__(self, given: Any, what: str):
        self.name = given if isinstance(given, str) else None
        self.number = None if isinstance(given, str) else as_float(given)
        if self.number is not None:
            require(jnp.isfinite(self.number) & (self.number > 0), f"{what} = {given} must be positive and finite")

    def __call__(self, p: Mapping[str, Array]) -> Array:
        return as_float(self.number) if self.name is None else p[self.name]


def parameter_names(*quantities: Quantity) -> tuple[str, ...]:
    """The names of those quantities that are parameters."""
    return tuple(quantity.name for quantity in quantities if quantity.name is not None)


class AbstractNoise(eqx.Module):
    """The law of the errors of one observable, d = predicted - measured [k].

    `factor` is the stated error: standard deviations [k], or the lower factor [k, k] of a covariance.
    """

    @property
    @abc.abstractmethod
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that the law takes from the problem."""

    @property
    @abc.abstractmethod
    def is_sum_of_squares(self) -> bool:
        """Whether the misfit is the sum of squares of the rows, up to a constant."""

    @abc.abstractmethod
    def rows(self, count: int) -> int:
        """The number of rows of the residual for a number of data."""

    @abc.abstractmethod
    def at(self, times: Float[Array, " k"]) -> "AbstractNoise":
        """The law for data at these times, s."""

    @abc.abstractmethod
    def compare(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Compared:
        """The rows and the misfit of differences.

        **Arguments:** `d` [k]; `factor`, the stated error; `p`, the parameters of the problem by name.
        **Returns:** Compared.
        """

    @abc.abstractmethod
    def scores(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Float[Array, " k"]:
        """Numbers that are independent and unit normal if the law is right: their squares sum to chi-squared.

        **Arguments:** as `compare`. **Returns:** scores [k].
        """


def whiten(d: Float[Array, " k"], factor: Array) -> Float[Array, " k"]:
    """The differences in units of their stated error. **Arguments:** `d`; `factor`. **Returns:** L^-1 d [k]."""
    return d / factor if factor.ndim == 1 else jax.scipy.linalg.solve_triangular(factor, d, lower=True)


def diagonal(factor: Array) -> Float[Array, " k"]:
    """The standard deviation of each number given those before it."""
    return factor if factor.ndim == 1 else jnp.diag(factor)


def score_rows(gradient: Array, information: Any, of: Array) -> Array:
    """Rows for a term of the likelihood: their value times their derivative is the gradient.

    **Arguments:** `gradient` of -ln L by `of`; `information`, the expected square of it; `of`, what is
    differentiated. **Returns:** rows of the shape of `of`.
    """
    root = jnp.sqrt(information)
    return jax.lax.stop_gradient(gradient / root - root * of) + root * of
