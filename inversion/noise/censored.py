"""Readings of a sensor that ends at its range: those at an end say only that the truth lies beyond."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import log_ndtr, ndtr, ndtri
from jaxtyping import Array, Float

from difsim.typing import as_float

from .independent import AbstractScaled
from .law import Compared, Quantity, score_rows

GOLDEN = 0.6180339887498949
LEAST = 1e-12  # information of a bound that holds by far
FAR = -100.0  # where a bound is missed by so much, differences of near numbers lose the hazard


class Censored(AbstractScaled):
    """Normal errors of readings of which some are bounds: the sensor was at an end of its range.

    A datum that is a bound has the probability that the reading lies beyond it. The prediction is that of a sensor
    whose range has no end.

    **Arguments:** `beyond` [k]: 1 for a datum that is a lower bound, -1 for an upper bound, 0 for a reading; `scale`
    as of `Normal`.
    **Source:** Tobin (1958), Econometrica 26, 24.
    """

    beyond: Float[Array, " k"]
    scale: Quantity

    def __init__(self, beyond: Any, scale: Any = 1.0):
        self.beyond = as_float(beyond)
        self.scale = Quantity(scale, "Censored: scale")

    @property
    def is_sum_of_squares(self) -> bool:
        return False

    def rows(self, count: int) -> int:
        if self.beyond.shape != (count,):
            raise ValueError(
                f"Censored: beyond has shape {self.beyond.shape}: give one number for each of {count} data"
            )
        return super().rows(count)

    def compare(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Compared:
        is_bound, (r, moved, log) = self.beyond != 0, self.standardise(d, factor, p)
        x = jnp.where(is_bound, self.beyond * r, 0.0)  # by how much the prediction lies beyond
        misfit = jnp.where(is_bound, -2.0 * log_ndtr(x), r**2 + 2.0 * log)
        near = jnp.maximum(x, FAR)
        hazard = jnp.exp(-0.5 * near**2 - log_ndtr(near)) / jnp.sqrt(2.0 * jnp.pi)
        hazard = jnp.where(x > FAR, hazard, -x - 1.0 / jnp.minimum(x, FAR))
        slope = jnp.where(is_bound, -self.beyond * hazard, r)  # of -ln L by r
        information = jnp.where(is_bound, jnp.where(x > FAR, jnp.maximum(hazard * (hazard + x), LEAST), 1.0), 1.0)
        information = jax.lax.stop_gradient(information)  # rows differ by what is compared alone
        rows = [score_rows(slope, information, moved)]
        if self.parameters:
            rows.append(score_rows(jnp.where(is_bound, hazard * x, 1.0 - r**2), 2.0, log))
        return Compared(jnp.concatenate(rows), jnp.sum(misfit))

    def scores(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Float[Array, " k"]:
        r, _, _ = self.standardise(d, factor, p)
        # Of a reading beyond the range only the probability is known: scores are spread evenly over it.
        spread = jnp.mod(GOLDEN * jnp.arange(1, d.size + 1), 1.0)
        tail = ndtri(spread * ndtr(jnp.where(self.beyond != 0, self.beyond * r, 0.0)))
        return jnp.where(self.beyond != 0, self.beyond * tail, r)
