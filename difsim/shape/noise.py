"""Rough surfaces: fractional Brownian noise added to a solid, with bounds on its height and its slope.

Each point of a unit lattice has a random unit vector g; the noise between them is

    n(p) = Σ_c w_c(p) g_c·(p - c) / (√3/2)    over the 8 corners c of the cell,

with products w of the quintic step 6t⁵ - 15t⁴ + 10t³, which make n twice continuously differentiable. |n| ≤ 1 and
|∇n| ≤ 3.225 hold for every choice of the vectors (the second by maximising Σ_c |(∇w_c·u)(p - c) + w_c u| over p and
unit vectors u: 2.7923 in the middle of a cell). Both are rarely reached: the rms of n is 0.22, of |∇n| 1.0.

K. Perlin, Improving noise, ACM Trans. Graph. 21 (2002) 681; M. Jarzynski and M. Olano, Hash functions for GPU
rendering, J. Comput. Graph. Tech. 9(3) (2020) 20 (pcg3d, the hash of lattice points).
"""

import math
from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt32

from difsim import safe
from difsim.declarations import count, custom_field, part, quantity, rule
from difsim.shape.sdf import AbstractSDF
from difsim.typing import Scalar, Vec3, convert_named, describe

STEEPEST = 3.225  # bound of |∇n| per lattice length


class AbstractAmplitude(eqx.Module):
    """The amplitude of roughness as a function of position, with the bounds that a distance needs."""

    @abstractmethod
    def __call__(self, x: Vec3) -> Scalar:
        """The amplitude in m, not negative, at `x` [3] in m."""

    @abstractmethod
    def bounds(self) -> tuple[Scalar, Scalar]:
        """The largest amplitude anywhere, m, and the largest slope |∇amplitude|, a number."""


class Constant(AbstractAmplitude):
    """The same amplitude everywhere."""

    tag = "constant"
    value: Scalar = quantity("m", "amplitude", ge=0, usual=(0, 10), slip="mm")

    def __call__(self, x: Vec3) -> Scalar:
        return self.value

    def bounds(self) -> tuple[Scalar, Scalar]:
        return self.value, 0.0 * self.value


class Patch(AbstractAmplitude):
    """An amplitude that changes around a place: a smooth patch in rough ground, or a rough one in smooth ground.

    outside + (inside - outside) exp(-|x - c|²/(2 r²)).
    """

    tag = "patch"
    centre: Vec3 = quantity("m", "centre c of the patch")
    radius: Scalar = quantity("m", "radius r of the patch", gt=0, usual=(0.1, 1e3), slip="km")
    inside: Scalar = quantity("m", "amplitude in the centre", ge=0, usual=(0, 10), slip="mm")
    outside: Scalar = quantity("m", "amplitude far from it", ge=0, usual=(0, 10), slip="mm")

    def __call__(self, x: Vec3) -> Scalar:
        square = jnp.sum((x - self.centre) ** 2) / (2 * self.radius**2)
        return self.outside + (self.inside - self.outside) * jnp.exp(-square)

    def bounds(self) -> tuple[Scalar, Scalar]:
        # A Gaussian is steepest at |x - c| = r.
        slope = jnp.abs(self.inside - self.outside) * math.exp(-0.5) / self.radius
        return jnp.maximum(self.inside, self.outside), slope


def _as_amplitude(name: str, annotation: object, given: object) -> AbstractAmplitude:
    return given if isinstance(given, AbstractAmplitude) else convert_named(name, Constant, given)


def _as_seed(name: str, annotation: object, given: object) -> UInt32[Array, ""]:
    if not isinstance(given, int | np.integer) and not jnp.issubdtype(getattr(given, "dtype", float), jnp.integer):
        raise ValueError(f"{name}: got {describe(given)}: give an integer")
    return jnp.asarray(given, jnp.uint32)


class Rough(AbstractSDF):
    """A solid with a rough surface, the points where its smooth distance d₀(x) equals the height A(x) h(x).

    h(x) = Σᵢ gⁱ n(ℓⁱ x/λ) / Σᵢ gⁱ over the octaves, |h| ≤ 1, so that the surface moves by A at most; the rms of h
    is some 0.13 (4 octaves). The lattice of each octave is turned and shifted to prevent alignment.

    f = d₀ - A h is no distance: where the noise is steep, |f| exceeds the true distance, and methods that rely on
    a distance miss the surface. `distance` is f/(1 + L) with L = `gradient_bound()`, a bound of |∇(A h)|, given
    |∇d₀| ≤ 1. Then |distance| never exceeds the true distance, inside and outside, and is zero on the same
    surface. As the depth of a contact it is too small by 1/(1 + L) on level ground, which softens the contact:
    keep L small against 1 at the size of the foot, or include it in the stiffness. `normal` is that of f.
    Everything is C2 where d₀ is. In float32, positions beyond some 1e4 of the last octave's wavelength lose the digits
    that noise needs.
    """

    tag = "rough"
    sdf: AbstractSDF = part("smooth solid, of distance d₀")
    amplitude: AbstractAmplitude = custom_field(
        _as_amplitude, "amplitude A, a number in m or an `AbstractAmplitude`"
    )
    wavelength: Scalar = quantity(
        "m", "wavelength λ of the first octave, its lattice spacing", gt=0, usual=(0.01, 1e3), slip="mm"
    )
    seed: UInt32[Array, ""] = custom_field(_as_seed, "seed, an integer")
    octaves: int = count("number of octaves", default=4)
    lacunarity: Scalar = quantity(
        "", "ratio ℓ of the frequencies of an octave and the one before", gt=0, usual=(1.5, 4), default=2.0
    )
    gain: Scalar = quantity(
        "", "ratio g of the amplitudes of an octave and the one before", gt=0, usual=(0.1, 1), default=0.5
    )

    @rule("octaves = {octaves}: give 1 to 32")
    def _has_few_octaves(self):
        return self.octaves <= len(_TURNS)

    def height(self, x: Vec3) -> Scalar:
        """The outward displacement A(x) h(x) of the surface at `x` [3], m."""
        weights, frequencies = self._spectrum()
        turned = jnp.asarray(_TURNS[: self.octaves], x.dtype) @ x
        p = frequencies[:, None] * turned
        octave = jnp.arange(self.octaves, dtype=jnp.uint32)
        # Distant parts of one infinite lattice: consecutive seeds must not be neighbours on it.
        start = jax.vmap(lambda i: _hash(_hash(jnp.stack([self.seed, i, i]))))(octave)
        noise = jax.vmap(_noise)(p, start)
        return self.amplitude(x) * jnp.dot(weights, noise)

    def gradient_bound(self) -> Scalar:
        """L, a bound of |∇(A h)| everywhere: max A · 3.225 Σ gⁱ ℓⁱ/(λ Σ gⁱ) + max |∇A|."""
        weights, frequencies = self._spectrum()
        largest, slope = self.amplitude.bounds()
        return largest * STEEPEST * jnp.dot(weights, frequencies) + slope

    def distance(self, x: Vec3) -> Scalar:
        return (self.sdf.distance(x) - self.height(x)) / (1 + self.gradient_bound())

    def _spectrum(self) -> tuple[Float[Array, " octaves"], Float[Array, " octaves"]]:
        """Weights, which add up to 1, and frequencies in 1/m."""
        i = np.arange(self.octaves)
        weights = self.gain**i
        return weights / jnp.sum(weights), self.lacunarity**i / self.wavelength


def _turns(count: int) -> np.ndarray:
    """Rotations [count, 3, 3], each the previous one followed by 2 rad about (1, 1, 1) and 1 rad about z."""
    c, s = np.cos(1.0), np.sin(1.0)
    about_z = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    cross = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]) / np.sqrt(3)
    step = about_z @ (np.eye(3) + np.sin(2.0) * cross + (1 - np.cos(2.0)) * cross @ cross)
    return np.stack([np.linalg.matrix_power(step, i + 1) for i in range(count)])


_TURNS = _turns(32)
_CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


def _noise(p: Vec3, start: UInt32[Array, "3"]) -> Scalar:
    """Gradient noise in [-1, 1] at `p` in lattice units, from the lattice point `start`."""
    # The noise is zero on its lattice: random shifts within a cell prevent a common zero of all octaves.
    p = p + _unit_interval(_hash(start), p.dtype)
    cell = jnp.floor(p)
    f = p - cell
    s = f**3 * (10 + f * (6 * f - 15))

    def corner(c):
        words = _hash((cell + c).astype(jnp.int32).astype(jnp.uint32) + start)
        weight = jnp.prod(jnp.where(c == 1, s, 1 - s))
        return weight * jnp.dot(_direction(words, p.dtype), f - c)

    return jnp.sum(jax.vmap(corner)(jnp.asarray(_CORNERS, p.dtype))) / (3**0.5 / 2)


def _hash(v: UInt32[Array, "3"]) -> UInt32[Array, "3"]:
    """Three random words from three integers (pcg3d)."""
    x, y, z = (v[i] * jnp.uint32(1664525) + jnp.uint32(1013904223) for i in range(3))
    x = x + y * z
    y = y + z * x
    z = z + x * y
    x, y, z = (word ^ (word >> 16) for word in (x, y, z))
    x = x + y * z
    y = y + z * x
    z = z + x * y
    return jnp.stack([x, y, z])


def _unit_interval(words: UInt32[Array, "3"], dtype: jnp.dtype) -> Vec3:
    return (words >> 8).astype(dtype) / 2**24


def _direction(words: UInt32[Array, "3"], dtype: jnp.dtype) -> Vec3:
    """A unit vector in the direction of a random point of a cube."""
    return safe.unit(2 * _unit_interval(words, dtype) - 1)
