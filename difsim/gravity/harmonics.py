"""Spherical harmonics: the field of a body outside of a sphere around it, by coefficients from a file or a fit."""

from os import PathLike
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import safe
from difsim.checks import host_numbers, integer
from difsim.declarations import quantity, rule
from difsim.gravity.field import AbstractField
from difsim.gravity.sampling import field_at
from difsim.typing import Scalar, Vec3

KM = 1e3  # m
OUTWARD = 1.5  # reference radii at which a field is sampled: higher degrees than those wanted have decayed there
INSIDE = 1e-9  # of the radius, by which rounding may enter the sphere


class Harmonics(AbstractField):
    """A series of spherical harmonics about the origin, to any degree N.

    U = GM/r Σ (R/r)ⁿ P̄ₙₘ(sin φ) (C̄ₙₘ cos mλ + S̄ₙₘ sin mλ), with longitude λ and latitude φ, and with the functions of
    geodesy: the mean square of each over the sphere is 1, without the sign (-1)ᵐ. C̄₀₀ is 1 for a body of that GM.

    The series converges outside of the smallest sphere around the body. So R must be its radius or more, and inside of
    R the field is NaN, which ends a run with a status. All derivatives are finite on the polar axis. The numbers of the
    coefficients above the diagonal (m > n) are not used.

    **Source:** Cunningham, Celest. Mech. 2 (1970) 207-216, with normalised functions.
    """

    tag = "harmonics"
    GM: Scalar = quantity("m³/s²", "gravitational parameter GM", ge=0, usual=(1e-3, 1e6), slip="km³/s²")
    radius: Scalar = quantity("m", "reference radius R, around all of the body", gt=0, usual=(1, 1e6), slip="km")
    cosine: Float[Array, "n m"] = quantity("", "coefficients C̄ₙₘ, rows n = 0 to N, columns m = 0 to N")
    sine: Float[Array, "n m"] = quantity("", "coefficients S̄ₙₘ, likewise")

    @rule("cosine {cosine.shape} and sine {sine.shape}: give two square arrays [N + 1, N + 1]")
    def _has_square_tables(self):
        return self.cosine.shape == self.sine.shape and self.cosine.shape[0] == self.cosine.shape[1]

    def potential(self, x: Vec3) -> Scalar:
        real, imaginary = solid_harmonics(x / self.radius, self.cosine.shape[0] - 1)
        U = self.GM / self.radius * jnp.sum(self.cosine * real + self.sine * imaginary)
        return jnp.where(safe.norm(x) < (1 - INSIDE) * self.radius, jnp.nan, U)

    @classmethod
    def fit(cls, field: AbstractField, radius: float, degree: int) -> "Harmonics":
        """On the host: the series of any field of a body inside of a sphere about the origin.

        Its error is that of the terms left out, (body's radius/r)^degree or so: see it with `error_map`.

        **Arguments:** `field`, which falls off as GM/r; `radius` R of a sphere around the body, m; `degree` N.
        **Returns:** the series. **Raises:** `ValueError` for a radius that is not positive, and a field whose mass is
        not.
        """
        radius = float(host_numbers("Harmonics.fit: radius", radius, ""))
        degree = integer("Harmonics.fit: degree", degree, 0)
        if radius <= 0:
            raise ValueError(f"Harmonics.fit: radius = {radius} m: give a positive number, in m")
        nodes = 2 * degree + 16
        height, weight = np.polynomial.legendre.leggauss(nodes)
        longitude = np.arange(2 * nodes) * np.pi / nodes
        z, angle = (each.ravel() for each in np.meshgrid(height, longitude, indexing="ij"))
        across = np.sqrt(1 - z**2)
        directions = np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=1)
        U = field_at(field, OUTWARD * radius * directions)[0] * np.repeat(weight, 2 * nodes) / (4 * nodes)
        functions = jax.lax.map(lambda x: solid_harmonics(x, degree), jnp.asarray(directions), batch_size=256)
        growth = OUTWARD ** (np.arange(degree + 1)[:, None] + 1.0) * radius
        cosine, sine = (growth * np.tensordot(U, np.asarray(each), 1) for each in functions)
        GM = cosine[0, 0]
        if not GM > 0:
            raise ValueError(f"Harmonics.fit: GM of the field is {GM} m³/s²: give the gravity of a body with mass")
        return cls(*(jnp.asarray(each) for each in (GM, radius, cosine / GM, sine / GM)))


def solid_harmonics(x: Vec3, degree: int) -> tuple[Float[Array, "n m"], Float[Array, "n m"]]:
    """The functions P̄ₙₘ(sin φ) cos mλ/rⁿ⁺¹ and P̄ₙₘ(sin φ) sin mλ/rⁿ⁺¹, by recursions without a pole.

    **Arguments:** `x` [3] in units of the reference radius; `degree` N. **Returns:** both [N + 1, N + 1], rows n.
    """
    square = jnp.dot(x, x)
    square = jnp.where(square == 0, jnp.inf, square)
    east, north, up, shrink = x[0] / square, x[1] / square, x[2] / square, 1 / square
    along, back, turn = _factors(degree)

    def advance(carry, row):
        (last, before), (c, s) = carry
        n, a, b, f = row
        diagonal = jnp.arange(degree + 1) == n
        c, s = jnp.where(n == 0, c, f * (east * c - north * s)), jnp.where(n == 0, s, f * (east * s + north * c))
        new = a * up * last - b * shrink * before + jnp.where(diagonal, jnp.stack([c, s])[:, None], 0.0)
        return ((new, last), (c, s)), new

    zero = jnp.zeros((2, degree + 1), x.dtype)
    start = safe.sqrt(shrink)
    orders = jnp.arange(degree + 1)
    rows = orders, *(jnp.asarray(each, x.dtype)[:, None] for each in (along, back)), jnp.asarray(turn, x.dtype)
    _, found = jax.lax.scan(advance, ((zero, zero), (start, jnp.zeros_like(start))), rows)
    return found[:, 0], found[:, 1]


def _factors(degree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The factors of the recursions: a and b [N + 1, N + 1] along a column, f [N + 1] down the diagonal."""
    n, m = np.meshgrid(np.arange(degree + 1.0), np.arange(degree + 1.0), indexing="ij")
    below, second = n > m, n > m + 1
    span = np.where(below, (n - m) * (n + m), 1.0)
    a = np.where(below, np.sqrt(np.maximum(4 * n**2 - 1, 0) / span), 0.0)
    b = (2 * n + 1) * (n + m - 1) * (n - m - 1) / np.where(second, (2 * n - 3) * span, 1.0)
    order = np.arange(1, degree + 1.0)
    f = np.sqrt(np.where(order == 1, 2, 1) * (2 * order + 1) / (2 * order))
    return a, np.where(second, np.sqrt(np.maximum(b, 0)), 0.0), np.append(1.0, f)


def read_harmonics(path: str | PathLike) -> Harmonics:
    """On the host: the series of a file of coefficients in the SHADR layout of the Planetary Data System.

    Its first line is R in km, GM in km³/s², the error of GM, degree, order, and 1 for normalised coefficients or 0 for
    others. Each further line is n, m, C, S and their errors, all with commas between. What no line gives is 0, and C₀₀
    is 1.

    **Arguments:** `path`. **Returns:** the field, in SI units. **Raises:** `ValueError` with the line that is wrong.
    """
    lines = [line for line in Path(path).read_text().splitlines() if line.strip()]
    head = _row(path, lines[0] if lines else "", 6)
    radius, GM, degree, state = head[0] * KM, head[1] * KM**3, int(head[3]), head[5]
    if degree < 0 or state not in (0, 1):
        raise ValueError(f"{path}: degree {degree} and state {state:g}: give 0 or more, and 1 (normalised) or 0")
    tables = np.zeros((2, degree + 1, degree + 1))
    tables[0, 0, 0] = 1.0
    for line in lines[1:]:
        n, m, *pair = _row(path, line, 4)[:4]
        if not (n % 1 == m % 1 == 0 and 0 <= m <= n <= degree):
            raise ValueError(
                f"{path}: {line.strip()!r}: give 0 <= m <= n <= {degree}, the degree of the first line"
            )
        tables[:, int(n), int(m)] = pair if state else np.asarray(pair) / _norm(int(n), int(m))
    return Harmonics(*(jnp.asarray(each) for each in (GM, radius, *tables)))


def _row(path: Any, line: str, least: int) -> list[float]:
    try:
        found = [float(word.upper().replace("D", "E")) for word in line.split(",") if word.strip()]
    except ValueError:
        found = []
    if len(found) < least or not np.isfinite(found).all():
        raise ValueError(f"{path}: {line.strip()!r}: give {least} numbers or more with commas between")
    return found


def _norm(n: int, m: int) -> float:
    """The factor by which P̄ₙₘ is larger than the associated Legendre function."""
    ratio = np.prod(np.arange(n - m + 1, n + m + 1, dtype=float))  # (n + m)!/(n - m)!
    return float(np.sqrt((2 - (m == 0)) * (2 * n + 1) / ratio))
