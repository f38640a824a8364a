"""The only guarded maths: norm, unit, sqrt and smooth steps with finite derivatives everywhere.

No value counts as zero because it is small: speeds of 1e-6 m/s are real motion here. Only an exact zero is
guarded, for each vector separately, with a `where` inside and a `where` outside the function, because a single one
passes the NaN of the untaken branch on through the chain rule. NaN stays NaN, so that an invalid value never
becomes 0.

Each is a function of `jit`: a model calls them hundreds of times, and JAX then traces and differentiates one once.
"""

from math import factorial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.typing import as_float

BERNOULLI = 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510  # B₂, B₄ ...


@jax.jit
def sqrt(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """√x for x > 0, and 0 with zero derivative for x ≤ 0."""
    guarded = x <= 0
    return jnp.where(guarded, 0.0, jnp.sqrt(jnp.where(guarded, 1.0, x)))


@jax.jit
def sqrt_floored(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """√max(x, tiny), with zero derivative below tiny, the smallest normal number (2e-308, in float32 1e-38).

    It costs one operation more than √x; use it in inner loops where `sqrt` is too slow.
    """
    return jnp.sqrt(jnp.maximum(x, jnp.finfo(x.dtype).tiny))


@jax.jit
def least(values: Float[Array, " n"]) -> Float[Array, ""]:
    """The smallest of `values`, with the derivative of that element.

    `jnp.min` passes its derivative to the elements that equal the result. If a compiler rounds elements and result
    differently, none of them is equal, and the derivative is 0 without a warning.
    """
    return values[jnp.argmin(jax.lax.stop_gradient(values))]


@jax.jit
def greatest(values: Float[Array, " n"]) -> Float[Array, ""]:
    """The largest of `values`, with the derivative of that element; see `least`."""
    return values[jnp.argmax(jax.lax.stop_gradient(values))]


@jax.jit
def norm(v: Float[Array, "*n d"]) -> Float[Array, "*n"]:
    """|v| over the last axis; its derivative at v = 0 is 0."""
    return sqrt(jnp.sum(v * v, axis=-1))


@jax.jit
def unit(v: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
    """v/|v| over the last axis; 0 with zero derivative at v = 0."""
    length = norm(v)[..., None]
    nonzero = length != 0
    return jnp.where(nonzero, _quotient(v, jnp.where(nonzero, length, 1.0)), 0.0)


@jax.jit
def clip_norm(v: Float[Array, "*n d"], most: Float[Array, "*n"]) -> Float[Array, "*n d"]:
    """A vector limited to a maximum length, such as a friction force at its bound.

    **Arguments:** `v` [..., d]; `most` [...], the maximum length in the unit of v. **Returns:** the vectors [...,
    d].
    """
    return jnp.where((norm(v) <= most)[..., None], v, most[..., None] * unit(v))


@jax.custom_jvp
def _quotient(a: Float[Array, "*n"], b: Float[Array, "*m"]) -> Float[Array, "*k"]:
    """a/b with a derivative that does not square b: a soft contact may start at b < 1e-154, whose square is 0."""
    return a / b


@_quotient.defjvp
def _(primals, tangents):
    (a, b), (da, db) = primals, tangents
    return a / b, (da - a / b * db) / b


@jax.jit
def divide(a: Float[Array, "*n"], b: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """a/b, and 0 with zero derivative where b is exactly 0.

    **Arguments:** `a`, `b`, arrays of any units. **Returns:** the quotient.
    """
    nonzero = b != 0
    return jnp.where(nonzero, _quotient(a, jnp.where(nonzero, b, 1.0)), 0.0)


@jax.jit
def positive_part(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """max(0, x), with zero derivative in x = 0; NaN stays NaN, and does not make a force vanish."""
    return jnp.where(x <= 0, 0.0, x)


def power(x: Float[Array, "*n"], exponent: float | int | Float[Array, ""]) -> Float[Array, "*n"]:
    """x^exponent for x > 0, and 0 with zero derivative for x ≤ 0.

    **Arguments:** `x`, dimensionless; `exponent`. **Returns:** the power, of the shape of x.
    """
    guarded = x <= 0
    return jnp.where(guarded, 0.0, _power(jnp.where(guarded, 1.0, x), exponent))


def _power(x: Float[Array, "*n"], exponent: float | int | Float[Array, ""]) -> Float[Array, "*n"]:
    """x^exponent; a known multiple of 1/4, as contacts have, by square roots: a third of the time of a power."""
    if not isinstance(exponent, float | int) or not 0 <= 4 * exponent <= 16 or (4 * exponent) % 1:
        return x**exponent
    whole, quarters = divmod(int(4 * exponent), 4)
    value = x**whole
    if quarters >= 2:
        value = value * jnp.sqrt(x)
    return value * jnp.sqrt(jnp.sqrt(x)) if quarters % 2 else value


@jax.jit
def ramp(x: Float[Array, "*n"], width: Float[Array, "*m"] | float) -> Float[Array, "*k"]:
    """max(x, 0) with its corner smoothed: width · log(1 + exp(x/width)).

    It is positive, infinitely differentiable, and above max(x, 0) by at most width · log 2 (at x = 0).

    **Arguments:** `x`; `width` of the transition, positive, in the unit of x. **Returns:** the ramp, in that unit
    too.
    """
    width = as_float(width)
    return width * jax.nn.softplus(x / width)


@jax.jit
def step(x: Float[Array, "*n"], width: Float[Array, "*m"] | float) -> Float[Array, "*k"]:
    """A smooth unit step, the derivative of `ramp`: 1/(1 + exp(-x/width)).

    **Arguments:** `x`, `width`, as of `ramp`. **Returns:** numbers in [0, 1].
    """
    return jax.nn.sigmoid(x / as_float(width))


@jax.jit
def rise(x: Float[Array, "*n"]) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    """A smooth step x³ (10 - 15 x + 6 x²), exactly 0 for x ≤ 0 and exactly 1 for x ≥ 1, and its slope."""
    x = jnp.clip(x, 0.0, 1.0)
    return x**3 * (10 - 15 * x + 6 * x**2), 30 * (x * (1 - x)) ** 2


@jax.custom_jvp
def _ramp_integral(u: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """∫ log(1 + exp s) ds from -∞ to u: the dilogarithm -Li₂(-eᵘ), with the inversion formula for u > 0.

    For u ≤ 0 it is ∫ s/(1 - exp(-s)) ds from 0 to t = log(1 + eᵘ) ≤ log 2. That is t + t²/4 + Σ B₂ₖ t²ᵏ⁺¹/(2k+1)!, of
    which each term is at most 0.012 of the one before.
    """
    t = jnp.log1p(jnp.exp(-jnp.abs(u)))
    series = jnp.zeros_like(t)
    for k in range(len(BERNOULLI), 0, -1):
        series = series * t**2 + BERNOULLI[k - 1] / factorial(2 * k + 1)
    tail = t + t**2 * (0.25 + t * series)
    return jnp.where(u > 0, 0.5 * u**2 + jnp.pi**2 / 6 - tail, tail)


@_ramp_integral.defjvp
def _(primals, tangents):
    return _ramp_integral(*primals), jax.nn.softplus(*primals) * tangents[0]


@jax.jit
def ramp_integral(x: Float[Array, "*n"], width: Float[Array, "*m"] | float) -> Float[Array, "*k"]:
    """∫ ramp dx from -∞ to x: the energy, per unit stiffness, of a spring whose force begins as `ramp`.

    **Arguments:** `x`, `width`, as of `ramp`. **Returns:** the integral, in the unit of x².
    """
    width = as_float(width)
    return width**2 * _ramp_integral(x / width)


@jax.jit
def arctan2(y: Float[Array, "*n"], x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The angle of the point (x, y) from the x axis; 0 with zero derivative at x = y = 0.

    **Arguments:** `y`, `x`, of the same unit. **Returns:** angles in (-π, π], rad.
    """
    nonzero = (x != 0) | (y != 0)
    return jnp.where(nonzero, jnp.arctan2(y, jnp.where(nonzero, x, 1.0)), 0.0)
