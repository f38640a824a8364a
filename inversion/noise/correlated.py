"""Errors that are correlated in time: what a model leaves out, or a sensor that drifts."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.typing import as_float, require

from .law import AbstractNoise, Compared, Quantity, diagonal, parameter_names, score_rows, whiten


class Correlated(AbstractNoise):
    """The stated errors, with errors that are correlated in time.

    covariance(i, j) = stated(i, j) + amplitude^2 exp(-|t_i - t_j| / time).

    The second term may be the error of the model (a discrepancy with a Gaussian prior, integrated out): an
    amplitude with a prior of its own then says how wrong the model is. The cost grows with the cube of the number of
    data: take it for some hundred.

    **Arguments:** `amplitude`, in the unit of the data, and `time`, s: numbers, or names of parameters; `times`: of
    the data of an Observation, s; a Series gives its own.
    **Raises:** ValueError for numbers that are not positive, and times that are not finite.
    """

    amplitude: Quantity
    time: Quantity
    times: Float[Array, " k"] | None

    def __init__(self, amplitude: Any, time: Any, times: Any = None):
        self.amplitude = Quantity(amplitude, "Correlated: amplitude")
        self.time = Quantity(time, "Correlated: time")
        self.times = None if times is None else as_float(times)
        if self.times is not None:
            require(jnp.isfinite(self.times), f"Correlated: times {times} must be finite")

    @property
    def parameters(self) -> tuple[str, ...]:
        return parameter_names(self.amplitude, self.time)

    @property
    def is_sum_of_squares(self) -> bool:
        return not self.parameters

    def rows(self, count: int) -> int:
        if self.times is None or self.times.shape != (count,):
            raise ValueError(f"Correlated: give `times` [{count}] of the data: Correlated(amplitude, time, times)")
        return count * (2 if self.parameters else 1)

    def at(self, times: Float[Array, " k"]) -> "Correlated":
        amplitude, time = (q.name if q.number is None else q.number for q in (self.amplitude, self.time))
        return Correlated(amplitude, time, times)

    def compare(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Compared:
        both = self._factor(factor, p)
        r = whiten(d, both)
        log = jnp.log(jnp.diag(both) / diagonal(factor))
        misfit = jnp.sum(r**2) + 2.0 * jnp.sum(log)
        if not self.parameters:
            return Compared(r, misfit)
        # r are the errors of predictions from the data before: their spread is differentiated in rows of its own.
        rows = [r * jnp.exp(log - jax.lax.stop_gradient(log)), score_rows(1.0 - r**2, 2.0, log)]
        return Compared(jnp.concatenate(rows), misfit)

    def scores(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Float[Array, " k"]:
        return whiten(d, self._factor(factor, p))

    def _factor(self, factor: Array, p: Mapping[str, Array]) -> Float[Array, "k k"]:
        stated = jnp.diag(factor**2) if factor.ndim == 1 else factor @ factor.T
        times = as_float(self.times)
        apart = jnp.abs(times[:, None] - times[None, :])
        return jnp.linalg.cholesky(stated + self.amplitude(p) ** 2 * jnp.exp(-apart / self.time(p)))
