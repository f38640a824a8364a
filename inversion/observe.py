"""Observations: measured numbers with their uncertainty, and the whitened residual of a prediction."""

from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from difsim.typing import as_float


class Observation(eqx.Module):
    """One measured number or array with its standard deviation, or a measured vector with its covariance.

    **Arguments:** `value` [...] in `unit`; `sigma`: scalar or the shape of `value`, in `unit`; or
    `covariance` [k, k] in unit^2 for a value [k]; `source`: where the number was published.
    **Raises:** ValueError for non-finite numbers, sigma <= 0, a covariance that is not symmetric positive
    definite, or not exactly one of the two.
    """

    value: Shaped[Array, "*shape"]
    sigma: Shaped[Array, "*shape"] | None
    cholesky: Float[Array, "k k"] | None
    unit: str = eqx.field(static=True)
    source: str = eqx.field(static=True)

    def __init__(self, value, sigma=None, unit: str = "", source: str = "", covariance=None):
        self.value = as_float(value)
        if not np.isfinite(self.value).all():
            raise ValueError(f"Observation: value {value} is not finite: leave out what was not measured")
        if (sigma is None) == (covariance is None):
            raise ValueError("Observation: give either sigma or covariance")
        self.sigma = None if sigma is None else _checked_sigma(as_float(sigma), self.value)
        self.cholesky = None if covariance is None else _factor(np.asarray(covariance, float), self.value)
        self.unit, self.source = unit, source

    def residual(self, prediction: Shaped[Array, "..."]) -> Float[Array, " rows"]:
        """The whitened residual r = L^-1 (prediction - value), with covariance = L L^T.

        **Raises:** ValueError for a prediction of another shape.
        """
        if prediction.shape != self.value.shape:
            raise ValueError(
                f"predicted shape {prediction.shape}, observed {self.value.shape}: `predict` must return "
                "the observable as it was measured"
            )
        difference = prediction - self.value
        if self.cholesky is None:
            return jnp.ravel(difference / self.sigma)
        return jax.scipy.linalg.solve_triangular(self.cholesky, difference, lower=True)


def _checked_sigma(sigma: Array, value: Array) -> Array:
    if sigma.shape not in ((), value.shape):
        raise ValueError(f"Observation: sigma has shape {sigma.shape}, value {value.shape}: they must match")
    if not (np.isfinite(sigma).all() and (sigma > 0).all()):
        raise ValueError(f"Observation: sigma {sigma} must be positive and finite: leave out what has no weight")
    return jnp.broadcast_to(sigma, value.shape)


def _factor(covariance: np.ndarray, value: Array) -> Array:
    if value.ndim != 1 or covariance.shape != (value.size, value.size):
        raise ValueError(
            f"Observation: covariance of shape {covariance.shape} for a value of shape {value.shape}: "
            "a value [k] needs [k, k]"
        )
    try:
        if not np.allclose(covariance, covariance.T, rtol=1e-10, atol=0):
            raise np.linalg.LinAlgError
        return as_float(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        raise ValueError(
            f"Observation: covariance {covariance} is not symmetric positive definite: drop dependent rows"
        ) from None


class Observations(eqx.Module):
    """All observations by name.

    **Arguments:** `table`: name -> Observation. **Raises:** ValueError when empty.
    """

    table: dict[str, Observation]
    names: tuple[str, ...] = eqx.field(static=True)  # in order: jit sorts a dict

    def __init__(self, table: Mapping[str, Observation]):
        if not table:
            raise ValueError("Observations: nothing was observed: give at least one Observation")
        self.table, self.names = dict(table), tuple(table)

    def __getitem__(self, name: str) -> Observation:
        return self.table[name]

    @property
    def size(self) -> int:
        """The number of rows of the residual."""
        return sum(self.table[name].value.size for name in self.names)

    def residual(self, predictions: Mapping[str, Array]) -> Float[Array, " rows"]:
        """The whitened residuals of all observations in order; other predictions have no row.

        **Raises:** ValueError (when traced) for an observable that is missing or has another shape.
        """
        missing = [name for name in self.names if name not in predictions]
        if missing:
            raise ValueError(
                f"observed but not predicted: {missing}; predicted: {sorted(predictions)}: "
                "correct the name, or leave the observation out"
            )
        rows = []
        for name in self.names:
            try:
                rows.append(self.table[name].residual(as_float(predictions[name])))
            except ValueError as error:
                raise ValueError(f"observable {name!r}: {error}") from None
        return jnp.concatenate(rows)
