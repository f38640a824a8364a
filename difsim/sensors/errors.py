"""Readings of a sensor with three axes: means over intervals, low pass, bias, noise and range."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.declarations import quantity
from difsim.typing import Scalar, Vec3


class Errors(eqx.Module):
    """The errors of a sensor with three axes, all in the unit of its readings: by default there are none."""

    bias: Vec3 = quantity("", "constant added to each reading", default=(0.0, 0.0, 0.0))
    sigma: Scalar = quantity("", "standard deviation of each reading's noise", ge=0, default=0.0)
    limit: Scalar = quantity("", "range: the largest size of a reading along an axis", gt=0, default=1e12)
    time_constant: Scalar = quantity("s", "time constant of a low pass of first order", ge=0, default=0.0)

    def read(
        self, times: Float[Array, " T"], integral: Float[Array, "T 3"], key: Array | None = None
    ) -> Float[Array, "n 3"]:
        """The readings at all times but the first: mean, low pass, bias and noise, and then the limit.

        The low pass starts with the first mean. An interval of no length, as after an early end, has a mean of 0.

        **Arguments:** `times` [T], s; `integral` [T, 3] of what is sensed, from a solution; `key` of the noise, or None
        for none. **Returns:** readings [T - 1, 3] in the unit of the sensor.
        """
        span = jnp.diff(times)[:, None]
        means = safe.divide(jnp.diff(integral, axis=0), jnp.broadcast_to(span, (len(span), 3)))
        kept = jnp.where(
            self.time_constant > 0, jnp.exp(-safe.divide(span, self.time_constant * jnp.ones_like(span))), 0.0
        )

        def advance(last, now):
            mean, share = now
            smooth = mean + share * (last - mean)
            return smooth, smooth

        _, smooth = jax.lax.scan(advance, means[0], (means, kept))
        noise = 0.0 if key is None else self.sigma * jax.random.normal(key, smooth.shape, smooth.dtype)
        return jnp.clip(smooth + self.bias[None] + noise, -self.limit, self.limit)
