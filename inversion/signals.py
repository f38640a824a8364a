"""A sampled signal as a sensor sees it: between its samples, and through a filter."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe


def low_pass(t: Float[Array, " n"], u: Float[Array, " n"], bandwidth: Array) -> Float[Array, " n"]:
    """A signal after a filter of first order, exact for a signal that is linear between its times.

    The filter has settled to the first value.

    **Arguments:** `t` [n], increasing, s, with the end repeated by a run that ended early; `u` [n]; `bandwidth`, Hz.
    **Returns:** the filtered signal [n].
    """
    lag = 1.0 / (2.0 * jnp.pi * bandwidth)
    step = jnp.diff(t)
    slope = safe.divide(jnp.diff(u), step)

    def one(y, row):
        fades, u0, u1, m = row
        y = u1 - lag * m + (y - u0 + lag * m) * fades
        return y, y

    _, rest = jax.lax.scan(one, u[0], (jnp.exp(-step / lag), u[:-1], u[1:], slope))
    return jnp.concatenate([u[:1], rest])


def interpolate(at: Float[Array, " k"], t: Float[Array, " n"], u: Float[Array, " n"]) -> Float[Array, " k"]:
    """Values between samples by cubics with continuous slopes, those of parabolas through three neighbours.

    **Arguments:** `at` [k]; `t` [n], as of `low_pass`; `u` [n]. **Returns:** values [k], NaN outside of `t`.
    """
    h = jnp.diff(t)
    chord = safe.divide(jnp.diff(u), h)
    inner = safe.divide(chord[:-1] * h[1:] + chord[1:] * h[:-1], h[:-1] + h[1:])
    inner = jnp.where(h[1:] > 0, inner, chord[:-1])
    slope = jnp.concatenate([chord[:1], inner, chord[-1:]])
    # The interval that ends at a time, and not the one that begins there: it is never empty.
    i = jnp.clip(jnp.searchsorted(t, jnp.minimum(at, t[-1]), side="left") - 1, 0, t.size - 2)
    f, h = (at - t[i]) / h[i], h[i]
    value = (
        (1 + 2 * f) * (1 - f) ** 2 * u[i]
        + f * (1 - f) ** 2 * h * slope[i]
        + f**2 * (3 - 2 * f) * u[i + 1]
        - f**2 * (1 - f) * h * slope[i + 1]
    )
    # A delay that is an unknown moves the ends by rounding: 1e-9 of the whole is no reading outside.
    slack = 1e-9 * (t[-1] - t[0])
    return jnp.where((at >= t[0] - slack) & (at <= t[-1] + slack), value, jnp.nan)
