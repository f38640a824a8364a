"""A function of one number by cubics, with their derivatives."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.typing import Scalar


class Cubics(eqx.Module):
    """A function of time by cubics: `time` [n], s, of which the last ones may be equal, and its value and first three
    `derivatives` [4, n - 1] where each cubic begins."""

    time: Float[Array, " n"]
    derivatives: Float[Array, "4 m"]

    @classmethod
    def through(cls, time: Float[Array, " n"], u: Float[Array, " n"], slope: Float[Array, " n"]) -> "Cubics":
        """The cubics through values with slopes. **Arguments:** `time`, s; `u` [n]; `slope` [n], its rate."""
        span = jnp.diff(time)
        h = jnp.where(span > 0, span, 1.0)
        chord, first, last = jnp.diff(u) / h, slope[:-1], slope[1:]
        second, third = (6 * chord - 4 * first - 2 * last) / h, 6 * (first + last - 2 * chord) / h**2
        return cls(time, jnp.stack([u[:-1], first, second, third]))

    def find(self, at: Scalar) -> tuple[Scalar, Scalar]:
        """The index of the cubic of a time `at`, s, and the time since it began, s."""
        i = jnp.clip(jnp.searchsorted(self.time, at, side="right") - 1, 0, self.time.size - 2)
        return i, at - self.time[i]

    def __call__(self, at: Scalar) -> Scalar:
        """The value at a time, s."""
        i, since = self.find(at)
        return evaluate(self.derivatives[:, i], since)


def evaluate(derivatives: Float[Array, "4 *k"], since: Float[Array, "*k"]) -> Float[Array, "*k"]:
    """Values of cubics. **Arguments:** `derivatives` [4, ...] where each begins; `since`, s. **Returns:** values."""
    d0, d1, d2, d3 = derivatives
    return d0 + since * (d1 + since * (d2 / 2 + since * d3 / 6))
