"""The readings of an accelerometer in a body: late, through a low pass, with a gain and a bias, and clipped.

The low pass is exact for the cubics that the motion consists of, across the jumps at touch and stop. So a reading
changes continuously with every unknown, the delay included.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.declarations import quantity
from difsim.typing import Scalar
from experiments.contact.cubics import Cubics, evaluate
from experiments.contact.world import Motion

ENDLESS = 1e9  # m/s², of readings that have no end


class Sensor(eqx.Module):
    """An accelerometer along the motion. It feels nothing in free flight, and gravity at rest."""

    delay: Scalar = quantity("s", "time of the touch by its clock", usual=(-100, 100), slip="ms")
    bandwidth: Scalar = quantity(
        "Hz", "bandwidth, where half the power is left", gt=0, usual=(1e-2, 1e6), slip="kHz"
    )
    noise: Scalar = quantity(
        "m/s²", "standard deviation of a reading", gt=0, usual=(1e-6, 1e3), slip="g", default=1.0
    )
    gain: Scalar = quantity("", "reading over the specific force", usual=(-2, 2), default=1.0)
    bias: Scalar = quantity("m/s²", "reading in free flight", usual=(-100, 100), slip="g", default=0.0)
    range: Scalar = quantity("m/s²", "largest size of a reading", gt=0, default=ENDLESS)

    def sense(self, motion: Motion, times: Float[Array, " k"]) -> Float[Array, " k"]:
        """The readings without noise and without an end of the range.

        **Arguments:** `motion`; `times` [k] by the clock of the sensor, s. **Returns:** readings [k], m/s².
        """
        lag = 1 / (2 * jnp.pi * self.bandwidth)
        force = Cubics.through(motion.time, motion.specific_force, motion.specific_force_rate)
        # A cubic u leaves the low pass as u - lag u' + lag² u'' - lag³ u''', and what fades.
        d0, d1, d2, d3 = force.derivatives
        steady = jnp.stack(
            [d0 - lag * (d1 - lag * (d2 - lag * d3)), d1 - lag * (d2 - lag * d3), d2 - lag * d3, d3]
        )
        span = jnp.diff(force.time)
        ends, fades = evaluate(steady, span), jnp.exp(-span / lag)

        def follow(y, row):
            begins, ends, fades = row
            return ends + (y - begins) * fades, y - begins

        last, fading = jax.lax.scan(follow, jnp.zeros_like(lag), (steady[0], ends, fades))

        def read(time):
            i, since = force.find(time)
            moving = evaluate(steady[:, i], since) + fading[i] * jnp.exp(-since / lag)
            at_rest = motion.gravity + (last - motion.gravity) * jnp.exp(-(time - force.time[-1]) / lag)
            return jnp.where(time < 0, 0.0, jnp.where(time < force.time[-1], moving, at_rest))

        return self.bias + self.gain * jax.vmap(read)(times - self.delay)

    def clip(self, readings: Float[Array, " k"]) -> Float[Array, " k"]:
        """Readings that end at the range. **Arguments:** `readings` [k], m/s². **Returns:** readings [k], m/s²."""
        return jnp.clip(readings, -self.range, self.range)
