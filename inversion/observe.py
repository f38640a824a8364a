"""Observations: measured numbers with their uncertainty, compared with a prediction."""

import abc
from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from difsim.checks import host_numbers, numbers
from difsim.typing import as_float

from .noise.censored import Censored
from .noise.independent import Normal, StudentT
from .noise.law import AbstractNoise, Compared


class AbstractObservation(eqx.Module):
    """Measured numbers with the law of their errors."""

    noise: eqx.AbstractVar[AbstractNoise]

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The number of measured numbers."""

    @property
    @abc.abstractmethod
    def rows(self) -> int:
        """The number of rows of the residual: as many as numbers, and more where their errors are fitted."""

    @property
    @abc.abstractmethod
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters of the problem that the comparison needs."""

    @property
    @abc.abstractmethod
    def least_misfit(self) -> float:
        """The misfit of a perfect prediction, for known normal errors: 0 for a sigma or a covariance."""

    @abc.abstractmethod
    def compare(self, prediction: Any, p: Mapping[str, Array]) -> Compared:
        """The rows and the misfit of a prediction.

        **Arguments:** `prediction`; `p`, the parameters of the problem by name. **Returns:** Compared.
        """

    @abc.abstractmethod
    def scores(self, prediction: Any, p: Mapping[str, Array]) -> Float[Array, " size"]:
        """Numbers that are unit normal and independent for the right model and law of errors.

        **Arguments:** as `compare`. **Returns:** scores [size].
        """


class Observation(AbstractObservation):
    """One measured number or array with its standard deviation, or a measured vector with its covariance.

    **Arguments:** `value` [...] in `unit`; `sigma`: scalar or the shape of `value`, in `unit`; or
    `covariance` [k, k] in unit^2 for a value [k]; `source`: where the number was published; `noise`: the law of the
    errors (`inversion.noise`), by default normal; `discrepancy`: the name of a parameter that is added to the
    prediction, the error of the model, whose prior is that parameter's: a number, or an array of the shape of
    `value`.
    **Raises:** ValueError for non-finite numbers, sigma <= 0, a covariance that is not symmetric positive
    definite, not exactly one of the two, a law for another number of data, or StudentT or Censored with a covariance.
    """

    value: Shaped[Array, "*shape"]
    sigma: Shaped[Array, "*shape"] | None
    cholesky: Float[Array, "k k"] | None
    noise: AbstractNoise
    unit: str = eqx.field(static=True)
    source: str = eqx.field(static=True)
    discrepancy: str | None = eqx.field(static=True)

    def __init__(
        self,
        value: Any,
        sigma: Any = None,
        unit: str = "",
        source: str = "",
        covariance: Any = None,
        noise: AbstractNoise | None = None,
        discrepancy: str | None = None,
    ):
        self.value = numbers("Observation: value", value, is_finite=False)
        if self.value.size == 0:
            raise ValueError("Observation: value is empty: leave the observation out")
        if not np.isfinite(self.value).all():
            rows = np.flatnonzero(~np.isfinite(np.ravel(self.value)))[:5].tolist()
            raise ValueError(f"Observation: value is not finite at {rows}: leave out what was not measured")
        if (sigma is None) == (covariance is None):
            raise ValueError("Observation: give either sigma or covariance")
        self.sigma = None if sigma is None else _check_sigma(sigma, self.value)
        self.cholesky = None if covariance is None else _factor(covariance, self.value)
        self.noise = noise or Normal()
        if covariance is not None and isinstance(self.noise, StudentT | Censored):
            # Neither the tail of a t nor a bound is a product over whitened numbers.
            raise ValueError("Observation: StudentT and Censored are for independent errors: give sigma")
        self.unit = unit
        self.source = source
        self.discrepancy = discrepancy
        self.noise.rows(self.size)  # raises for a law of another number of data

    @property
    def size(self) -> int:
        return self.value.size

    @property
    def rows(self) -> int:
        return self.noise.rows(self.size)

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.noise.parameters + (() if self.discrepancy is None else (self.discrepancy,))

    @property
    def least_misfit(self) -> float:
        return float(self.noise.compare(jnp.zeros(self.size), self._error, {}).misfit)

    def compare(self, prediction: Any, p: Mapping[str, Array]) -> Compared:
        """The rows and the misfit; with known normal errors r = L^-1 (prediction - value), covariance = L L^T.

        **Arguments:** `prediction` [...]; `p`, the parameters. **Returns:** Compared.
        **Raises:** ValueError for a prediction, or a discrepancy, of another shape.
        """
        return self.noise.compare(self._difference(prediction, p), self._error, p)

    def scores(self, prediction: Any, p: Mapping[str, Array]) -> Float[Array, " size"]:
        return self.noise.scores(self._difference(prediction, p), self._error, p)

    @property
    def _error(self) -> Array:
        return jnp.ravel(as_float(self.sigma)) if self.cholesky is None else self.cholesky

    def _difference(self, prediction: Any, p: Mapping[str, Array]) -> Array:
        prediction = numbers("the prediction", prediction, is_finite=False)
        if prediction.shape != self.value.shape:
            raise ValueError(
                f"predicted shape {prediction.shape}, observed {self.value.shape}: `predict` must return "
                "the observable as it was measured"
            )
        if self.discrepancy is not None:
            extra = p[self.discrepancy]
            if extra.shape not in ((), self.value.shape):
                raise ValueError(
                    f"the discrepancy {self.discrepancy!r} has shape {extra.shape}, observed {self.value.shape}: "
                    "give it that shape, or none"
                )
            prediction = prediction + extra
        return jnp.ravel(prediction - self.value)


def _check_sigma(sigma: Any, value: Array) -> Array:
    sigma = numbers("Observation: sigma", sigma, is_finite=False)
    if sigma.shape not in ((), value.shape):
        raise ValueError(f"Observation: sigma has shape {sigma.shape}, value {value.shape}: they must match")
    if not (np.isfinite(sigma).all() and (sigma > 0).all()):
        raise ValueError(f"Observation: sigma {sigma} must be positive and finite: leave out what has no weight")
    with np.errstate(all="ignore"):
        weight = np.asarray(sigma) ** -2
    if not np.isfinite(weight).all():
        raise ValueError(f"Observation: sigma {sigma} is so small that no misfit is finite: give that of the data")
    return jnp.broadcast_to(sigma, value.shape)


def _factor(covariance: Any, value: Array) -> Array:
    covariance = host_numbers("Observation: covariance", covariance, is_finite=False)
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

    **Arguments:** `table`: name -> Observation or Series. **Raises:** ValueError when empty.
    """

    table: dict[str, AbstractObservation]
    names: tuple[str, ...] = eqx.field(static=True)  # in order: jit sorts a dict

    def __init__(self, table: Mapping[str, AbstractObservation]):
        if not table:
            raise ValueError("Observations: nothing was observed: give at least one Observation")
        self.table, self.names = dict(table), tuple(table)

    def __getitem__(self, name: str) -> AbstractObservation:
        return self.table[name]

    @property
    def size(self) -> int:
        """The number of measured numbers."""
        return sum(self.table[name].size for name in self.names)

    @property
    def rows(self) -> int:
        """The number of rows of the residual."""
        return sum(self.table[name].rows for name in self.names)

    @property
    def is_sum_of_squares(self) -> bool:
        """Whether the misfit is the sum of squares of the rows, as for known normal errors."""
        return all(self.table[name].noise.is_sum_of_squares for name in self.names)

    @property
    def least_misfit(self) -> float:
        """The misfit of perfect predictions, where it `is_sum_of_squares`; a constant of known sizes of errors."""
        return sum(self.table[name].least_misfit for name in self.names)

    @property
    def fitted_errors(self) -> tuple[str, ...]:
        """The names of the parameters that laws of errors are made of."""
        return tuple(dict.fromkeys(k for name in self.names for k in self.table[name].noise.parameters))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters of the problem that errors and sensors are made of."""
        return tuple(dict.fromkeys(k for name in self.names for k in self.table[name].parameters))

    def compare(self, predictions: Mapping[str, Any], p: Mapping[str, Array]) -> Compared:
        """The rows of all observations in order, and their misfit; other predictions have no row.

        **Arguments:** `predictions` by name; `p`, all parameters by name. **Returns:** Compared.
        **Raises:** ValueError (when traced) for an observable that is missing or has another shape.
        """
        found = self._map(predictions, lambda observed, predicted: observed.compare(predicted, p))
        return Compared(jnp.concatenate([f.residual for f in found]), reduce(add, (f.misfit for f in found)))

    def scores(self, predictions: Mapping[str, Any], p: Mapping[str, Array]) -> Float[Array, " size"]:
        """Numbers that are unit normal for the right model and laws of errors, for a test of the fit.

        **Arguments:** as `compare`. **Returns:** scores [size]. **Raises:** ValueError as there.
        """
        return jnp.concatenate(self._map(predictions, lambda observed, predicted: observed.scores(predicted, p)))

    def _map(
        self, predictions: Mapping[str, Any], function: Callable[[AbstractObservation, Any], Any]
    ) -> list[Any]:
        missing = [name for name in self.names if name not in predictions]
        if missing:
            raise ValueError(
                f"observed but not predicted: {missing}; predicted: {sorted(predictions)}: "
                "correct the name, or leave the observation out"
            )
        found = []
        for name in self.names:
            try:
                found.append(function(self.table[name], predictions[name]))
            except ValueError as error:
                raise ValueError(f"observable {name!r}: {error}") from None
        return found
