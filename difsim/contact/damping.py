"""Dampers of an elastic normal force: viscous ones, of three kinds, and that of Hunt and Crossley.

Each knows its own closed form of the coefficient of restitution (`restitution.py`), exact for an impact in free
flight without smoothing.
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike

from difsim import safe
from difsim.contact import restitution
from difsim.contact.elastic import AbstractElastic
from difsim.declarations import quantity
from difsim.typing import Scalar, as_float, require

TAKES = "a damper takes energy"


class AbstractDamping(eqx.Module):
    """A damper that acts with an elastic force."""

    @abstractmethod
    def total(self, elastic: AbstractElastic, delta: Scalar, rate: Scalar) -> Scalar:
        """The whole normal force, elastic and damping.

        **Arguments:** `elastic`; `delta` δ ≥ 0, m; `rate` dδ/dt, m/s, positive in compression. **Returns:** the
        force, N.
        """

    @abstractmethod
    def is_abrupt(self, exponent: float) -> bool:
        """Whether the force jumps at touch, or rises there with an infinite slope, next to F = k δ^`exponent`."""

    @abstractmethod
    def restitution(self, elastic: AbstractElastic, mass: ArrayLike | None, speed: ArrayLike | None) -> Scalar:
        """The coefficient of restitution e of an impact.

        **Arguments:** `elastic`; the (reduced) `mass`, kg; `speed` of impact, m/s; None where e does not depend on
        it. **Returns:** e.
        """


class Undamped(AbstractDamping):
    """No damper: e = 1."""

    def total(self, elastic, delta, rate):
        return elastic.force(delta)

    def is_abrupt(self, exponent):
        return False

    def restitution(self, elastic, mass, speed):
        return jnp.ones_like(elastic.stiffness)


class AbstractViscousDamping(AbstractDamping):
    """A damper c δ^((p-1)/2) δ' with F = k δᵖ: Kelvin and Voigt's for a spring, Tsuji's for p = 3/2.

    e depends on the mass and not on the speed, through ζ = c/√(2 (p+1) m k), for any p.

    **Source:** Tsuji, Tanaka & Ishida, Powder Technol. 71 (1992) 239-250; Antypov & Elliott,
    EPL 94 (2011) 50004.
    """

    coefficient: eqx.AbstractVar[Scalar]

    @staticmethod
    @abstractmethod
    def ratio(e: Scalar) -> Scalar:
        """The damping ratio ζ that returns `e`."""

    @staticmethod
    @abstractmethod
    def restitution_of_ratio(zeta: Scalar) -> Scalar:
        """The e that a damping ratio ζ returns: the inverse of `ratio`."""

    @classmethod
    def from_restitution(cls, e: ArrayLike, elastic: AbstractElastic, *, mass: ArrayLike):
        """The damper that realises `e` with `elastic`.

        **Arguments:** `e` in (0, 1]; `elastic`; `mass`, kg: the (reduced) mass that moves at the contact; for a
        body of m flat on N points, m/N. **Returns:** the damper. **Raises:** `ValueError` for other numbers.
        """
        return cls.from_ratio(cls.ratio(restitution.check_restitution(e)), elastic, mass=mass)

    @classmethod
    def from_ratio(cls, ratio: Any, elastic: AbstractElastic, *, mass: ArrayLike):
        """The damper with a given damping ratio for an elastic force.

        **Arguments:** `ratio` ζ ≥ 0; `elastic`; `mass`, kg, as of `from_restitution`. **Returns:** the damper.
        """
        return cls(ratio * restitution.critical(elastic.stiffness, mass, elastic.exponent))

    def damper(self, elastic: AbstractElastic, delta: Scalar) -> Scalar:
        """The damping c δ^((p-1)/2) at a penetration.

        **Arguments:** `elastic`, with the exponent p; `delta` δ ≥ 0, m. **Returns:** the damping, N s/m.
        """
        return self.coefficient * safe.power(delta, (elastic.exponent - 1) / 2)

    def is_abrupt(self, exponent):
        return exponent < 3

    def restitution(self, elastic, mass, speed):
        if mass is None:
            raise ValueError(f"{type(self).__name__}: e depends on the mass that moves: give mass= in kg.")
        return self.restitution_of_ratio(
            self.coefficient / restitution.critical(elastic.stiffness, mass, elastic.exponent)
        )


class ClippedDamping(AbstractViscousDamping):
    """A viscous damper with a force that never pulls, F = max(0, k δᵖ + c δ^((p-1)/2) δ').

    e = exp(-2 ζ acos ζ/√(1-ζ²)) for every p. `from_restitution` inverts this, so that the e asked for is the e
    realised; published laws put e into the map of `TensileDamping`, clip, and realise more (0.397 for 0.3).
    """

    coefficient: Scalar = quantity("N s/m^((p+1)/2)", "damping coefficient c", ge=0, hint=TAKES)

    ratio = staticmethod(restitution.clipped_ratio)
    restitution_of_ratio = staticmethod(restitution.clipped_restitution)

    def total(self, elastic, delta, rate):
        return safe.positive_part(elastic.force(delta) + self.damper(elastic, delta) * rate)


class TensileDamping(AbstractViscousDamping):
    """A viscous damper with a force that may pull as the bodies part, F = k δᵖ + c δ^((p-1)/2) δ'.

    e = exp(-π ζ/√(1-ζ²)) for every p.
    """

    coefficient: Scalar = quantity("N s/m^((p+1)/2)", "damping coefficient c", ge=0, hint=TAKES)

    ratio = staticmethod(restitution.attractive_ratio)
    restitution_of_ratio = staticmethod(restitution.attractive_restitution)

    def total(self, elastic, delta, rate):
        return elastic.force(delta) + self.damper(elastic, delta) * rate


class CompressionDamping(AbstractViscousDamping):
    """A viscous damper that acts while the bodies approach, F = k δᵖ + c δ^((p-1)/2) max(0, δ').

    e = exp(-ζ acos ζ/√(1-ζ²)) for every p. **Source:** the hopper paper, sec. 4.1, for p = 1.
    """

    coefficient: Scalar = quantity("N s/m^((p+1)/2)", "damping coefficient c", ge=0, hint=TAKES)

    ratio = staticmethod(restitution.compressive_ratio)
    restitution_of_ratio = staticmethod(restitution.compressive_restitution)

    def total(self, elastic, delta, rate):
        return elastic.force(delta) + self.damper(elastic, delta) * safe.positive_part(rate)


class HuntCrossley(AbstractDamping):
    """A damper in proportion to the elastic force, F = k δᵖ max(0, 1 + a δ'): e falls with the speed.

    e depends on a v alone, v the speed at touch: φ(a v) = φ(-e a v), φ(x) = x - ln(1 + x); slow impacts have
    1 - 2 a v/3. The force starts without a jump or an infinite slope, so that sensitivities under error control
    are right without smoothing too. It pulls in no free impact; the max is for what else tears bodies apart.

    **Source:** Hunt & Crossley, J. Appl. Mech. 42 (1975) 440-445 (e = 1 - 2 a v/3); the exact e: restitution.py.
    """

    coefficient: Scalar = quantity("s/m", "damping a per elastic force", ge=0, usual=(0, 1e3), hint=TAKES)

    @classmethod
    def from_restitution(cls, e: ArrayLike, *, speed: ArrayLike) -> "HuntCrossley":
        """The damper that realises a restitution at one speed of impact, for any mass and any elastic force.

        **Arguments:** `e` in (0, 1]; `speed` of impact, m/s. **Returns:** the damper. **Raises:** `ValueError` unless
        0 < e ≤ 1 and the speed is positive and finite.
        """
        speed = as_float(speed)
        require(
            (speed > 0) & jnp.isfinite(speed), f"HuntCrossley: speed = {speed} m/s must be positive and finite."
        )
        return cls(restitution.elastic_ratio(restitution.check_restitution(e)) / speed)

    def total(self, elastic, delta, rate):
        return elastic.force(delta) * safe.positive_part(1 + self.coefficient * rate)

    def is_abrupt(self, exponent):
        return False

    def restitution(self, elastic, mass, speed):
        if speed is None:
            raise ValueError("HuntCrossley: e depends on the speed of impact: give speed= in m/s.")
        speed = as_float(speed)
        require(speed >= 0, f"HuntCrossley: speed = {speed} m/s of impact must not be negative; give its size.")
        return restitution.elastic_ratio_restitution(self.coefficient * speed)
