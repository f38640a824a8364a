"""Carlson's symmetric elliptic integrals R_F and R_D, by duplication with a fixed number of steps.

The fixed number of steps allows forward and reverse derivatives. Every step brings the three arguments four times
closer together, and the seventh-order series at the end errs by (spread)⁶.

B. C. Carlson, Numerical computation of real or complex elliptic integrals, Numer. Algorithms 10 (1995) 13-26,
algorithms 1 (R_F) and 4 (R_D).
"""

import jax
import jax.numpy as jnp

from difsim.typing import Scalar, Vec3

# Relative error below 1e-14 for arguments up to 1e4 apart (a body a hundred times longer than thick).
STEPS = 7


def rf_rd(q: Vec3) -> tuple[Scalar, Vec3]:
    """R_F of three positive numbers and the three R_D, each with another of them in the last place.

    R_F = ½ ∫₀^∞ ds/Δ and R_D,i = 3/2 ∫₀^∞ ds/((s + qᵢ) Δ) with Δ² = (s + q₁)(s + q₂)(s + q₃). All four share the
    square roots.

    **Arguments:** `q` [3], positive, of any unit u. **Returns:** R_F in u^-1/2 and R_D [3] in u^-3/2.
    """

    def duplicate(_, state: tuple) -> tuple:
        q, scale, sums = state
        root = jnp.sqrt(q)
        duplication = root[0] * root[1] + root[1] * root[2] + root[2] * root[0]
        sums = sums + scale / (root * (q + duplication))
        return (q + duplication) / 4, scale / 4, sums

    start = q, jnp.ones((), q.dtype), jnp.zeros_like(q)
    q, scale, sums = jax.lax.fori_loop(0, STEPS, duplicate, start)
    return _rf_series(q), scale * _rd_series(q) + 3 * sums


def _rf_series(q: Vec3) -> Scalar:
    mean = jnp.mean(q)
    X, Y, Z = 1 - q / mean
    E2, E3 = X * Y - Z**2, X * Y * Z
    return (1 - E2 / 10 + E3 / 14 + E2**2 / 24 - 3 * E2 * E3 / 44) / jnp.sqrt(mean)


def _rd_series(q: Vec3) -> Vec3:
    mean = (jnp.sum(q) + 2 * q) / 5  # [3]: the last argument counts three times
    X, Y, Z = 1 - jnp.roll(q, 1) / mean, 1 - jnp.roll(q, -1) / mean, 1 - q / mean
    E2, E3 = X * Y - 6 * Z**2, (3 * X * Y - 8 * Z**2) * Z
    E4, E5 = 3 * (X * Y - Z**2) * Z**2, X * Y * Z**3
    series = 1 - 3 * E2 / 14 + E3 / 6 + 9 * E2**2 / 88 - 3 * E4 / 22 - 9 * E2 * E3 / 52 + 3 * E5 / 26
    return series / (mean * jnp.sqrt(mean))
