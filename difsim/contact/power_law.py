"""Normal laws with a power of the penetration: Tsuji's and Hunt and Crossley's damped ones, and Hertz."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike

from difsim import safe
from difsim.contact import damping
from difsim.contact.damping import check, clip, critical
from difsim.contact.normal import AbstractNormal
from difsim.contact.onset import AbstractOnset, onset_field
from difsim.typing import Scalar, as_float, require, scalar


class PowerLaw(AbstractNormal):
    """F = kδᵖ + c δ^((p-1)/2) δ', which may pull; e does not depend on the speed.

    With c = α√(mk), α = √(2(p+1)) ζ and ζ = -ln e/√(π² + ln² e), for any p. Tsuji's law is p = 3/2.

    **Arguments:** `stiffness` k, N/m^p; `damping` c, N s/m^((p+1)/2); `exponent` p ≥ 1, static (a choice of
    law); `onset`. **Raises:** `ValueError` for k ≤ 0, c < 0, p < 1.
    **Source:** Tsuji, Tanaka & Ishida, Powder Technol. 71 (1992) 239-250; Antypov & Elliott,
    EPL 94 (2011) 50004.
    """

    stiffness: Scalar = scalar()
    damping: Scalar = scalar()
    exponent: float = eqx.field(static=True, converter=float)
    onset: AbstractOnset = onset_field()

    def __check_init__(self):
        check(self)
        require(self.exponent >= 1, f"PowerLaw: exponent = {self.exponent} must be at least 1.")

    @classmethod
    def from_restitution(
        cls, e: ArrayLike, stiffness: ArrayLike, exponent: float | int, mass: ArrayLike, onset
    ) -> "PowerLaw":
        """The law that returns `e` for a (reduced) `mass` in kg; for a body of m flat on N points, m/N."""
        zeta = damping.attractive_ratio(damping.check_restitution(e))
        return cls(stiffness, zeta * critical(stiffness, mass, exponent), exponent, onset)

    @property
    def is_discontinuous(self) -> bool:
        return self.exponent < 3 and not self.onset.is_smooth  # the damper goes as δ^((p-1)/2)

    def stored(self, delta: Scalar) -> Scalar:
        return self.stiffness * safe.power(delta, self.exponent + 1) / (self.exponent + 1)

    def damped(self, elastic: Scalar, delta: Scalar, rate: Scalar) -> Scalar:
        return elastic + self.damping * safe.power(delta, (self.exponent - 1) / 2) * rate

    def restitution(self, mass: ArrayLike) -> Scalar:
        """e for a (reduced) `mass` in kg: the exact inverse of `from_restitution`."""
        return damping.attractive_restitution(self.damping / critical(self.stiffness, mass, self.exponent))


class PowerLawClipped(AbstractNormal):
    """F = max(0, kδᵖ + c δ^((p-1)/2) δ'): a `PowerLaw` that never pulls.

    Clipping raises e: the same for every p, exp(-2ζ acos ζ/√(1-ζ²)). `from_restitution` inverts this map, so
    that the e asked for is the e realised; published laws put e into the damping of `PowerLaw`, and realise
    more (0.397 for an input of 0.3).

    **Arguments, raises, source:** as `PowerLaw`.
    """

    stiffness: Scalar = scalar()
    damping: Scalar = scalar()
    exponent: float = eqx.field(static=True, converter=float)
    onset: AbstractOnset = onset_field()

    def __check_init__(self):
        check(self)
        require(self.exponent >= 1, f"PowerLawClipped: exponent = {self.exponent} must be at least 1.")

    @classmethod
    def from_restitution(
        cls, e: ArrayLike, stiffness: ArrayLike, exponent: float | int, mass: ArrayLike, onset
    ) -> "PowerLawClipped":
        """The law that realises `e` for a (reduced) `mass` in kg; for a body of m flat on N points, m/N."""
        zeta = damping.clipped_ratio(damping.check_restitution(e))
        return cls(stiffness, zeta * critical(stiffness, mass, exponent), exponent, onset)

    @property
    def is_discontinuous(self) -> bool:
        return self.exponent < 3 and not self.onset.is_smooth  # the damper goes as δ^((p-1)/2)

    def stored(self, delta: Scalar) -> Scalar:
        return self.stiffness * safe.power(delta, self.exponent + 1) / (self.exponent + 1)

    def damped(self, elastic: Scalar, delta: Scalar, rate: Scalar) -> Scalar:
        return clip(elastic + self.damping * safe.power(delta, (self.exponent - 1) / 2) * rate)

    def restitution(self, mass: ArrayLike) -> Scalar:
        """e realised for a (reduced) `mass` in kg: the exact inverse of `from_restitution`."""
        return damping.clipped_restitution(self.damping / critical(self.stiffness, mass, self.exponent))


class HuntCrossley(AbstractNormal):
    """F = kδᵖ max(0, 1 + a δ'): the damper goes with the elastic force, and e falls with the speed.

    e depends on a v alone, v the speed at touch: φ(a v) = φ(-e a v), φ(x) = x - ln(1 + x); slow impacts have
    1 - 2 a v/3. The force starts without a jump or an infinite slope, so that sensitivities under error control
    are right with a sharp onset too. It pulls in no free impact; the max is for what else tears bodies apart.

    **Arguments:** `stiffness` k, N/m^p; `damping` a, s/m; `exponent` p ≥ 1, static; `onset`.
    **Raises:** `ValueError` for k ≤ 0, a < 0, p < 1.
    **Source:** Hunt & Crossley, J. Appl. Mech. 42 (1975) 440-445 (e = 1 - 2 a v/3); the exact e: damping.py.
    """

    stiffness: Scalar = scalar()
    damping: Scalar = scalar()
    exponent: float = eqx.field(static=True, converter=float)
    onset: AbstractOnset = onset_field()

    def __check_init__(self):
        check(self)
        require(self.exponent >= 1, f"HuntCrossley: exponent = {self.exponent} must be at least 1.")

    @classmethod
    def from_restitution(
        cls, e: ArrayLike, stiffness: ArrayLike, exponent: float | int, speed: ArrayLike, onset
    ) -> "HuntCrossley":
        """The law that realises `e` at a `speed` of impact in m/s, for any mass."""
        speed = as_float(speed)
        require(
            (speed > 0) & jnp.isfinite(speed), f"HuntCrossley: speed = {speed} m/s must be positive and finite."
        )
        return cls(stiffness, damping.elastic_ratio(damping.check_restitution(e)) / speed, exponent, onset)

    @property
    def is_discontinuous(self) -> bool:
        return False

    def stored(self, delta: Scalar) -> Scalar:
        return self.stiffness * safe.power(delta, self.exponent + 1) / (self.exponent + 1)

    def damped(self, elastic: Scalar, delta: Scalar, rate: Scalar) -> Scalar:
        return elastic * clip(1 + self.damping * rate)

    def restitution(self, speed: ArrayLike) -> Scalar:
        """e at a `speed` ≥ 0 of impact in m/s: the exact inverse of `from_restitution`."""
        speed = as_float(speed)
        require(speed >= 0, f"HuntCrossley: speed = {speed} m/s of impact must not be negative; give its size.")
        return damping.elastic_ratio_restitution(self.damping * speed)


HERTZ_DURATION = 2.943275184  # of an elastic impact, in δ_max/v


class Hertz(AbstractNormal):
    """The elastic contact of two spheres, F = 4/3 E* √R* δ^(3/2).

    It dissipates nothing; for e < 1 give its `stiffness` to a `PowerLaw` of exponent 3/2. The closed forms
    below are for a sharp onset in free flight.

    **Arguments:** `effective_modulus` E*, Pa, 1/E* = Σ (1-ν²)/E; `effective_radius` R*, m, 1/R* = Σ 1/R;
    `onset`. **Raises:** `ValueError` unless both are positive.
    **Source:** Johnson, Contact Mechanics (1985), secs. 4.2 and 11.4.
    """

    effective_modulus: Scalar = scalar()
    effective_radius: Scalar = scalar()
    onset: AbstractOnset = onset_field()

    def __check_init__(self):
        require(
            self.effective_modulus > 0,
            f"Hertz: effective_modulus = {self.effective_modulus} Pa, must be > 0.",
        )
        require(self.effective_radius > 0, f"Hertz: effective_radius = {self.effective_radius} m, must be > 0.")

    @property
    def is_discontinuous(self) -> bool:
        return False

    @property
    def stiffness(self) -> Scalar:
        """k = 4/3 E* √R* in N/m^1.5."""
        return 4 / 3 * self.effective_modulus * jnp.sqrt(self.effective_radius)

    def stored(self, delta: Scalar) -> Scalar:
        return 0.4 * self.stiffness * safe.power(delta, 2.5)

    def damped(self, elastic: Scalar, delta: Scalar, rate: Scalar) -> Scalar:
        return elastic

    def restitution(self, mass: ArrayLike) -> Scalar:
        """1, whatever the mass."""
        return jnp.ones_like(as_float(mass))

    def max_depth(self, mass: ArrayLike, speed: ArrayLike) -> Scalar:
        """δ_max = (15 m v²/(16 E* √R*))^(2/5) in m."""
        return (1.25 * as_float(mass) * as_float(speed) ** 2 / self.stiffness) ** 0.4

    def max_force(self, mass: ArrayLike, speed: ArrayLike) -> Scalar:
        """F_max = 4/3 E* √R* δ_max^(3/2) in N."""
        return self.stiffness * self.max_depth(mass, speed) ** 1.5

    def duration(self, mass: ArrayLike, speed: ArrayLike) -> Scalar:
        """t = 2.943275184 δ_max/v in s, from touch to parting."""
        return HERTZ_DURATION * self.max_depth(mass, speed) / as_float(speed)


def effective_modulus(modulus: ArrayLike | Sequence, poisson: ArrayLike | Sequence) -> Scalar:
    """E* in Pa of bodies in contact, 1/E* = Σ (1-νᵢ²)/Eᵢ.

    **Arguments:** `modulus` E [n], Pa; `poisson` ν [n]: one entry a body that deforms (leave rigid ones out).
    **Raises:** `ValueError` unless E > 0 and -1 < ν ≤ 0.5.
    """
    E, nu = as_float(modulus), as_float(poisson)
    require(E > 0, f"effective_modulus: E = {E} Pa must be positive.")
    require((nu > -1) & (nu <= 0.5), f"effective_modulus: ν = {nu} must be in (-1, 0.5].")
    return 1 / jnp.sum((1 - nu**2) / E)


def effective_radius(radius: ArrayLike | Sequence) -> Scalar:
    """R* in m of spheres in contact, 1/R* = Σ 1/Rᵢ (leave flat ones out; concave ones are negative)."""
    return 1 / jnp.sum(1 / as_float(radius))
