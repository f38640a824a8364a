"""Coefficient of restitution e from damping ratio ζ and back, exact for contacts in free flight.

A mass m on a spring k with a damper c has ζ = c/(2√(km)). It leaves with e times its speed at touch; which e
depends on what the law does while the mass moves out:

    attraction allowed              e = exp(-π ζ/√(1-ζ²))
    force clipped at zero           e = exp(-2 h(ζ))
    damper in compression only      e = exp(-h(ζ)),    h(ζ) = ζ acos ζ/√(1-ζ²),  for ζ > 1 ζ acosh ζ/√(ζ²-1)

Source: Schwager & Pöschel, Granular Matter 9 (2007) 465-469, for the clipped force; the others are textbook.

With a damper that goes with the elastic force, F_el (1 + a δ'), e depends on u = a v, v the speed at touch:
m v dv = -F_el (1 + a v) dδ is separable, and φ(u) = φ(-e u) for φ(x) = x - ln(1 + x), whatever m and F_el(δ).
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from difsim.typing import Scalar, as_float, require


def critical(stiffness: ArrayLike, mass: ArrayLike, exponent: float | int) -> Scalar:
    """c/ζ: 2√(mk) for a linear law, √(2(p+1) mk) for a power law.

    **Raises:** `ValueError` for a mass that is not positive and finite.
    """
    mass = as_float(mass)
    require((mass > 0) & jnp.isfinite(mass), f"mass = {mass} kg must be positive and finite.")
    return jnp.sqrt(2 * (exponent + 1) * mass * as_float(stiffness))


def check_restitution(e: ArrayLike) -> Scalar:
    """`e` as an array. **Raises:** `ValueError` unless 0 < e ≤ 1."""
    e = as_float(e)
    require((e > 0) & (e <= 1), f"restitution e = {e} must be in (0, 1]; for a dead stop give a small e.")
    return e


def attractive_restitution(zeta: Scalar) -> Scalar:
    """e of the full spring-damper, which may pull; 0 at and above critical damping."""
    over = zeta >= 1
    w = jnp.sqrt(jnp.where(over, 1.0, 1 - zeta**2))
    return jnp.where(over, 0.0, jnp.exp(-jnp.pi * zeta / w))


def attractive_ratio(e: Scalar) -> Scalar:
    """ζ = -ln e/√(π² + ln² e), the inverse of `attractive_restitution`."""
    return -jnp.log(e) / jnp.sqrt(jnp.pi**2 + jnp.log(e) ** 2)


def clipped_restitution(zeta: Scalar) -> Scalar:
    """e of a spring-damper that never pulls."""
    return jnp.exp(-2 * _decay(zeta))


def clipped_ratio(e: Scalar) -> Scalar:
    """ζ, the inverse of `clipped_restitution`."""
    return _inverse_decay(-jnp.log(e) / 2)


def compressive_restitution(zeta: Scalar) -> Scalar:
    """e of a spring with a damper that acts in compression only."""
    return jnp.exp(-_decay(zeta))


def compressive_ratio(e: Scalar) -> Scalar:
    """ζ, the inverse of `compressive_restitution`."""
    return _inverse_decay(-jnp.log(e))


def elastic_ratio_restitution(u: Scalar) -> Scalar:
    """e of a damper that goes with the elastic force, at u = a v: 1 - 2u/3 + ... for small u, 1/u for large."""
    small = u < 0.02
    x = jnp.where(small, 1.0, u)
    # With e u = 1 - exp(-L): L - 1 + exp(-L) = φ(u), convex in L. The first guess is right to third order in
    # ln(1 + u), and one step from it is past the root and near it for large u.
    m = jnp.log1p(x)
    L, energy = m + m**2 / 3, x - m
    L = _newton(lambda L: L + (energy - L - jnp.expm1(-L)) / -jnp.expm1(-L), L)
    series = jnp.polyval(jnp.asarray([7648 / 42525, -40 / 189, 104 / 405, -44 / 135, 4 / 9, -2 / 3, 1.0]), u)
    return jnp.where(small, series, -jnp.expm1(-L) / x)


def elastic_ratio(e: Scalar) -> Scalar:
    """u, the inverse of `elastic_ratio_restitution`, by Newton steps: 1/e(u) is convex, and all but straight."""

    def step(u):
        found, slope = jax.jvp(elastic_ratio_restitution, (u,), (jnp.ones_like(u),))
        return u + (1 / found - 1 / e) * found**2 / slope

    return _newton(step, 1.5 * (1 / e - 1))


def _decay(z: Scalar) -> Scalar:
    """h(ζ) of the module's head, analytic through ζ = 1."""
    return z * _arc(z)


def _arc(z: Scalar) -> Scalar:
    """acos ζ/√(1-ζ²) = acosh ζ/√(ζ²-1), and near ζ = 1 its series in 1 - ζ."""
    under, over = jnp.minimum(z, 0.95), jnp.maximum(z, 1.05)
    series, term = 1.0, 1.0
    near = jnp.clip(1 - z, -0.05, 0.05)
    for n in range(11):  # (0.05/2)^11 is below rounding
        term = term * near * (n + 1) / (2 * n + 3)
        series = series + term
    arc = jnp.where(z < 1, jnp.arccos(under) / jnp.sqrt(1 - under**2), jnp.arccosh(over) / jnp.sqrt(over**2 - 1))
    return jnp.where(jnp.abs(1 - z) < 0.05, series, arc)


def _inverse_decay(h: Scalar) -> Scalar:
    """ζ with h(ζ) = h, by Newton steps.

    ζ/sinh(h) goes from 2/π for small h to 1 for large. A fit of it to 1e-3 is the first guess, and three steps from
    there end at rounding. The steps are differentiated through: all derivatives are exact. They are written out: a
    loop in each step of grains is many kernels on a GPU.
    """

    def step(z):
        arc = _arc(z)
        off_critical = jnp.abs(1 - z) > 1e-4  # h' = (arc - ζ)/(1 - ζ²), and 2/3 + 2(1 - ζ)/5 near ζ = 1
        slope = jnp.where(off_critical, (arc - z) / jnp.where(off_critical, 1 - z**2, 1.0), 2 / 3 + 0.4 * (1 - z))
        return z + (h - z * arc) / slope

    share = jnp.tanh(h * (0.7003 + h * (0.0149 * h - 0.0373)))
    return step(step(step(jnp.sinh(h) * (2 / jnp.pi + (1 - 2 / jnp.pi) * share))))


def _newton(step: Callable[[Scalar], Scalar], start: Scalar) -> Scalar:
    """Six steps from `start`, in a loop: one copy of the step in the program."""
    return jax.lax.fori_loop(0, 6, lambda _, x: step(x), start)
