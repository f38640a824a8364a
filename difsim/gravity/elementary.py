"""A logarithm and an arc tangent from a few dozen multiplications, without branch or table.

The polyhedron spends its time in these two functions. XLA's own in float64 on a CPU cost several times more. The
logarithm takes the difference of the terms of its ratio, so that ratios near 1 keep all digits. Both work in
float64 (relative errors below 2e-15) and in float32 (1e-6).

Reduction and series as in W. J. Cody and W. Waite, Software Manual for the Elementary Functions (1980), ch. 5 and
11; the polynomials are interpolated at Chebyshev nodes when the module is loaded.
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


def _odd_polynomial(s: Array, coefficients: list[float]) -> Array:
    z = s * s
    value = jnp.full_like(z, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * z + coefficient
    return s + s * z * value


def _split(quotient: Array) -> tuple[Array, Array]:
    """The nearest integer to a number, and the remainder.

    The reductions pass their integer and their remainder, less than ½, in one quotient: XLA computes a division in
    one loop and what follows in another, and the second loop would otherwise repeat all of the first.
    """
    integer = jnp.round(quotient)
    return integer, quotient - integer


@jax.custom_jvp
def log_ratio(difference: Float[Array, "*n"], b: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """log((b + difference)/b), without loss of digits for small differences.

    With c = 2^k near the ratio: log = k log 2 + 2 atanh(s), s = (b + difference - c b)/(b + difference + c b).

    **Arguments:** `difference` ≥ 0 and `b` > 0, of the same unit. **Returns:** the logarithm.
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
    return k * math.log(2.0) + 2 * _odd_polynomial(s, _ATANH[mantissa])


@log_ratio.defjvp
def _(primals, tangents):
    (difference, b), (d_difference, d_b) = primals, tangents
    a = b + difference
    return log_ratio(difference, b), d_difference / a - d_b * (difference / b) / a


@jax.custom_jvp
def arctan2(y: Float[Array, "*n"], x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The angle of (x, y) from the x axis; 0 with zero derivative at x = y = 0.

    **Arguments:** `y`, `x`, of the same unit. **Returns:** angles in [-π, π], rad.
    """
    high, wide = jnp.abs(y), jnp.abs(x)
    steep, flat = high * _TAN_PI_8 > wide, high <= wide * _TAN_PI_8
    bottom = jnp.where(flat, wide, jnp.where(steep, high, high + wide))
    top = jnp.where(flat, high, jnp.where(steep, 2 * high - wide, 2 * high))  # octant times bottom included
    top = jnp.where(x < 0, 4 * bottom - top, top)
    top = jnp.where(y < 0, -top, top)
    # Both are 0 only at x = y = 0.
    octant, t = _split(top / jnp.maximum(bottom, jnp.finfo(x.dtype).tiny))
    return octant * (math.pi / 4) + _odd_polynomial(t, _ATAN[_BITS[x.dtype][1]])


@arctan2.defjvp
def _(primals, tangents):
    (y, x), (dy, dx) = primals, tangents
    square = x * x + y * y
    zero = square == 0
    return arctan2(y, x), jnp.where(zero, 0.0, (x * dy - y * dx) / jnp.where(zero, 1.0, square))
