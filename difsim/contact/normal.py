"""Normal contact laws: the force between one body point and a surface, from its depth and rate.

A law is written in the penetration δ ≥ 0. The depth d (minus the signed distance, of either sign) becomes a
penetration through an `Onset`, a change of coordinate δ(d). Force and rate follow by virtual work,
F = F_law(δ, δ'ḋ) δ', so that the energy balance of the law stays exact whatever the onset.
"""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from difsim.contact import damping
from difsim.contact.damping import check, clip, critical
from difsim.contact.onset import AbstractOnset, onset_field
from difsim.typing import Scalar, as_float, scalar


class AbstractNormal(eqx.Module):
    """A repulsive normal force from depth and rate, with the energy that it stores.

    Every law takes an `onset`: a width in m for a smooth one, or `Sharp()`.
    """

    onset: eqx.AbstractVar[AbstractOnset]

    @property
    def is_discontinuous(self) -> bool:
        """Whether the force jumps at touch, or rises there with an infinite slope: dampers with a sharp onset.

        If so, derivatives taken through the steps of a solver are wrong by up to orders of magnitude while
        values converge: locate touch as an event and restart, or use a smooth onset.
        """
        return not self.onset.is_smooth

    @abstractmethod
    def stored(self, delta: Scalar) -> Scalar:
        """Elastic energy in J at penetration δ ≥ 0 in m."""

    @abstractmethod
    def damped(self, elastic: Scalar, delta: Scalar, rate: Scalar) -> Scalar:
        """The whole force in N, from its elastic part, δ > 0 in m and dδ/dt in m/s (positive moving in)."""

    def force(self, depth: Scalar, rate: Scalar) -> Scalar:
        """F in N, positive when it pushes out.

        **Arguments:** `depth`, m, positive inside; `rate`, its time derivative, m/s, positive moving in.
        """
        delta, slope = jax.value_and_grad(self.onset.penetration)(depth)
        return self.damped(jax.grad(self.stored)(delta), delta, slope * rate) * slope

    def elastic_energy(self, depth: Scalar) -> Scalar:
        """Stored energy in J at `depth` in m; its derivative is `force(depth, 0)`."""
        return self.stored(self.onset.penetration(depth))


class LinearNormal(AbstractNormal):
    """Spring and damper that may pull, F = kδ + cδ': e = exp(-πζ/√(1-ζ²)), ζ = c/(2√(km)).

    **Arguments:** `stiffness` k, N/m; `damping` c, N s/m; `onset`. **Raises:** `ValueError` for k ≤ 0, c < 0.
    """

    stiffness: Scalar = scalar()
    damping: Scalar = scalar()
    onset: AbstractOnset = onset_field()

    def __check_init__(self):
        check(self)

    @classmethod
    def from_restitution(cls, e: ArrayLike, stiffness: ArrayLike, mass: ArrayLike, onset) -> "LinearNormal":
        """The law that returns `e` for a (reduced) `mass` in kg; for a body of m flat on N points, m/N."""
        return cls(
            stiffness,
            damping.attractive_ratio(damping.check_restitution(e)) * critical(stiffness, mass),
            onset,
        )

    def stored(self, delta: Scalar) -> Scalar:
        return 0.5 * self.stiffness * delta**2

    def damped(self, elastic: Scalar, delta: Scalar, rate: Scalar) -> Scalar:
        return elastic + self.damping * rate

    def restitution(self, mass: ArrayLike) -> Scalar:
        """e for a (reduced) `mass` in kg: the exact inverse of `from_restitution`."""
        return damping.attractive_restitution(self.damping / critical(self.stiffness, mass))


class LinearClipped(AbstractNormal):
    """Spring and damper that never pulls, F = max(0, kδ + cδ'): e = exp(-2ζ acos ζ/√(1-ζ²)).

    **Arguments:** `stiffness` k, N/m; `damping` c, N s/m; `onset`. **Raises:** `ValueError` for k ≤ 0, c < 0.
    """

    stiffness: Scalar = scalar()
    damping: Scalar = scalar()
    onset: AbstractOnset = onset_field()

    def __check_init__(self):
        check(self)

    @classmethod
    def from_restitution(cls, e: ArrayLike, stiffness: ArrayLike, mass: ArrayLike, onset) -> "LinearClipped":
        """The law that returns `e` for a (reduced) `mass` in kg; for a body of m flat on N points, m/N."""
        return cls(
            stiffness, damping.clipped_ratio(damping.check_restitution(e)) * critical(stiffness, mass), onset
        )

    def stored(self, delta: Scalar) -> Scalar:
        return 0.5 * self.stiffness * delta**2

    def damped(self, elastic: Scalar, delta: Scalar, rate: Scalar) -> Scalar:
        return clip(elastic + self.damping * rate)

    def restitution(self, mass: ArrayLike) -> Scalar:
        """e for a (reduced) `mass` in kg: the exact inverse of `from_restitution`."""
        return damping.clipped_restitution(self.damping / critical(self.stiffness, mass))


class LinearCompressive(AbstractNormal):
    """Spring with a damper in compression only, F = kδ + c max(0, δ'): e = exp(-ζ acos ζ/√(1-ζ²)).

    With a sharp onset the force jumps by cv at touch (as in the other linear laws): plain derivatives through
    a solver's steps are then wrong by up to orders of magnitude, while the values converge.

    **Arguments:** `stiffness` k, N/m; `damping` c, N s/m; `onset`. **Raises:** `ValueError` for k ≤ 0, c < 0.
    **Source:** hopper model of paper 003, sec. 4.1.
    """

    stiffness: Scalar = scalar()
    damping: Scalar = scalar()
    onset: AbstractOnset = onset_field()

    def __check_init__(self):
        check(self)

    @classmethod
    def from_restitution(cls, e: ArrayLike, stiffness: ArrayLike, mass: ArrayLike, onset) -> "LinearCompressive":
        """The law that returns `e` for a (reduced) `mass` in kg; for a body of m flat on N points, m/N."""
        return cls(
            stiffness,
            damping.compressive_ratio(damping.check_restitution(e)) * critical(stiffness, mass),
            onset,
        )

    def stored(self, delta: Scalar) -> Scalar:
        return 0.5 * self.stiffness * delta**2

    def damped(self, elastic: Scalar, delta: Scalar, rate: Scalar) -> Scalar:
        return elastic + self.damping * clip(rate)

    def restitution(self, mass: ArrayLike) -> Scalar:
        """e for a (reduced) `mass` in kg: the exact inverse of `from_restitution`."""
        return damping.compressive_restitution(self.damping / critical(self.stiffness, mass))

    def max_depth(self, mass: ArrayLike, speed: ArrayLike) -> Scalar:
        """Greatest depth e v √(m/k) in m of a free impact (sharp onset) at `speed` in m/s."""
        return self.restitution(mass) * as_float(speed) * jnp.sqrt(as_float(mass) / self.stiffness)
