"""A logarithm and an arc tangent made of a few dozen multiplications, without branch or table.

The polyhedron spends its time in these two functions. XLA's own in float64 on a CPU cost several times more,
and know nothing of what is special here: the logarithm is of a ratio whose difference of terms is known, so
it keeps all digits of ratios near 1. Both work in float64 (errors below 2e-15 relative) and in float32 (1e-6).

Reduction and series as in W. J. Cody and W. Waite, Software Manual for the Elementary Functions (1980),
ch. 5 and 11; the polynomials are interpolated at Chebyshev nodes when the module is loaded.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# Integer type and mantissa bits of each precision.
_BITS = {jnp.dtype(jnp.float64): (jnp.int64, 52), jnp.dtype(jnp.float32): (jnp.int32, 23)}


def _tail(sign: int, largest: float, degree: int) -> list[float]:
    """Coefficients of Q(z), z = s² ≤ `largest`², in s + s z Q(z) = atanh s (`sign` 1) or atan s (`sign` -1)."""
    k = np.arange(80)
    series = np.polynomial.Polynomial(sign ** (k + 1.0) / (2 * k + 3))
    domain = [0.0, largest**2]
    chebyshev = np.polynomial.Chebyshev.interpolate(series, degree, domain=domain)
    return chebyshev.convert(domain=[-1, 1], kind=np.polynomial.Polynomial).coef.tolist()


# The exponents of two numbers, subtracted with their mantissas as fixed point, are log2 of the ratio within
# 0.0861 + 0.5: the reduced ratio lies within 2^±0.5861, and s = (ratio - 1)/(ratio + 1) within ±0.2005.
_ATANH = {52: _tail(1, 0.2005, 8), 23: _tail(1, 0.2005, 2)}
# After reduction by a multiple of π/4 the tangent is at most tan(π/8).
_TAN_PI_8 = math.sqrt(2.0) - 1
_ATAN = {52: _tail(-1, _TAN_PI_8, 10), 23: _tail(-1, _TAN_PI_8, 3)}


def _odd(s: Array, coefficients: list[float]) -> Array:
    z = s * s
    value = jnp.full_like(z, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * z + coefficient
    return s + s * z * value


def _split(quotient: Array) -> tuple[Array, Array]:
    """The integer next to a number, and the rest.

    The reductions hand on their integer and their rest, less than ½, in one quotient: XLA computes a division
    in one loop and what follows in another, and the second would otherwise compute all of the first again.
    """
    integer = jnp.round(quotient)
    return integer, quotient - integer


@jax.custom_jvp
def log_ratio(difference: Float[Array, "*n"], b: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """log((b + difference)/b) for b > 0 and difference ≥ 0, without loss of digits where it is small.

    With c = 2^k near the ratio: log = k log 2 + 2 atanh(s), s = (b + difference - c b)/(b + difference + c b).
    """
    integer, mantissa = _BITS[b.dtype]
    one = jnp.ones((), b.dtype).view(integer)
    half = integer(1 << (mantissa - 1))
    bits = (b + difference).view(integer) - b.view(integer) + one + half
    exponent = jax.lax.shift_right_logical(bits, integer(mantissa))
    c = jax.lax.shift_left(exponent, integer(mantissa)).view(b.dtype)
    k = exponent.astype(b.dtype) - (one >> mantissa).astype(b.dtype)
    bottom = difference + (1 + c) * b
    k, s = _split((k * bottom + difference + (1 - c) * b) / bottom)
    return k * math.log(2.0) + 2 * _odd(s, _ATANH[mantissa])


@log_ratio.defjvp
def _(primals, tangents):
    (difference, b), (d_difference, d_b) = primals, tangents
    a = b + difference
    return log_ratio(difference, b), d_difference / a - d_b * (difference / b) / a


@jax.custom_jvp
def arctan2(y: Float[Array, "*n"], x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The angle of (x, y) from the x axis, in [-π, π]; 0 with zero derivative at x = y = 0."""
    high, wide = jnp.abs(y), jnp.abs(x)
    steep, flat = high * _TAN_PI_8 > wide, high <= wide * _TAN_PI_8
    bottom = jnp.where(flat, wide, jnp.where(steep, high, high + wide))
    top = jnp.where(flat, high, jnp.where(steep, 2 * high - wide, 2 * high))  # octant times bottom included
    top = jnp.where(x < 0, 4 * bottom - top, top)
    top = jnp.where(y < 0, -top, top)
    # Both are 0 at x = y = 0 alone.
    octant, t = _split(top / jnp.maximum(bottom, jnp.finfo(x.dtype).tiny))
    return octant * (math.pi / 4) + _odd(t, _ATAN[_BITS[x.dtype][1]])


@arctan2.defjvp
def _(primals, tangents):
    (y, x), (dy, dx) = primals, tangents
    square = x * x + y * y
    zero = square == 0
    return arctan2(y, x), jnp.where(zero, 0.0, (x * dy - y * dx) / jnp.where(zero, 1.0, square))
