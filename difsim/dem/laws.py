"""Contact laws of two grains, by the effective radius and mass of the pair.

Each composes the laws of `difsim.contact`: a `NormalForce` with a clipped viscous damper, and a tangential spring with
a parallel damper.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike

from difsim import safe
from difsim.checks import numbers
from difsim.contact import (
    ClippedDamping,
    Hertz,
    Hooke,
    MindlinSpring,
    NormalForce,
    NoSmoothing,
    RollingTorque,
    SpinningResistance,
    TangentialSpring,
)
from difsim.contact.cohesion import AbstractCohesion
from difsim.contact.elastic import AbstractElastic, effective_modulus
from difsim.contact.friction import AbstractTangentialSpring
from difsim.declarations import part, quantity
from difsim.typing import Scalar, require

DEAD_STOP = "for a dead stop give a small e"


class AbstractGrainLaw(eqx.Module):
    """The contact of two spheres, or of one with a wall.

    All methods take the effective radius, 1/R* = 1/R₁ + 1/R₂ m, the effective mass, 1/m* = 1/m₁ + 1/m₂ kg (R and m
    at a wall), and the depth m, negative where they are apart.
    """

    restitution: eqx.AbstractVar[Scalar]
    friction: eqx.AbstractVar[Scalar]
    rolling: eqx.AbstractVar[tuple[RollingTorque | SpinningResistance, ...]]
    cohesion: eqx.AbstractVar[tuple[AbstractCohesion, ...]]
    damping_ratio: eqx.AbstractVar[Scalar]  # ζ of the normal force, which gives `restitution`

    @abstractmethod
    def elastic(self, radius: Scalar) -> AbstractElastic:
        """The elastic normal force."""

    @abstractmethod
    def tangential(self, radius: Scalar) -> AbstractTangentialSpring:
        """The spring along the contact."""

    def normal(self, radius: Scalar, mass: Scalar) -> NormalForce:
        """The normal force, which never pulls and realises `restitution` at any speed.

        **Arguments:** `radius`, m, and `mass`, kg, both effective. **Returns:** the law of the force.
        """
        elastic = self.elastic(radius)
        damping = ClippedDamping.from_ratio(self.damping_ratio, elastic, mass=mass)
        return NormalForce(elastic=elastic, damping=damping, regularisation=NoSmoothing())

    def stored_energy(self, radius: Scalar, depth: Scalar) -> Scalar:
        """The elastic energy that the normal force has stored.

        **Arguments:** `radius`, m; `depth`, m. **Returns:** the energy, J.
        """
        return self.elastic(radius).energy(safe.positive_part(depth))

    def shear_damping(self, radius: Scalar, mass: Scalar, stiffness: Scalar) -> Scalar:
        """The damping c_t = √(2 (p+1)/p m* k_t) ζ of the tangential spring, as usual in DEM codes.

        The exponent p and the damping ratio ζ are those of the normal force.

        **Arguments:** `radius`, m; `mass`, kg; `stiffness` k_t, N/m. **Returns:** c_t, N s/m.
        """
        p = self.elastic(radius).exponent
        return (2 * (p + 1) / p) ** 0.5 * self.damping_ratio * safe.sqrt_floored(mass * stiffness)

    def deepest(self, radius: Scalar, mass: Scalar, depth: Scalar, speed: Scalar) -> Scalar:
        """The larger of a depth and the greatest depth of an impact.

        **Arguments:** `radius`, m; `mass`, kg; `depth`, m; `speed` of the impact, m/s. **Returns:** the depth, m.
        """
        return jnp.maximum(depth, self.elastic(radius).max_depth(mass, speed))

    def duration(self, radius: Scalar, mass: Scalar, depth: Scalar) -> Scalar:
        """The time from touch to separation of an impact of given greatest depth.

        **Arguments:** `radius`, m; `mass`, kg; `depth`, m. **Returns:** the time, s.
        """
        return self.elastic(radius).duration_by_depth(mass, depth)

    def longest_sticking_step(self, radius: Scalar, mass: Scalar, depth: Scalar) -> Scalar:
        """The longest time step in which two equal spheres can stick.

        A step adds dt u to the spring's length x, and -dt (k x + c u) to the slip u of half a step before, with
        7/2 k_t/m* and 7/2 c_t/m* for k and c. It is stable for k dt² + 2 c dt < 4; in longer ones friction swings
        between its bounds. For `HertzMindlin` that matters where the restitution is below 0.2.

        **Arguments:** `radius`, m; `mass`, kg; `depth`, m. **Returns:** the step, s.
        """
        k = self.tangential(radius).stiffness(depth)
        c = self.shear_damping(radius, mass, k)
        k, c = 3.5 * k / mass, 3.5 * c / mass
        return 4 / (c + safe.sqrt_floored(c**2 + 4 * k))


class HertzMindlin(AbstractGrainLaw):
    """Elastic spheres of one material: Hertz, damped so that `restitution` is realised at any speed, and Mindlin.

    F = k δ^(3/2) + 2 √(5/6) ζ √(m* S) δ', never pulling, with k = 4/3 E* √R* and S = 3/2 k √δ. Along the contact a
    spring k_t = 8 G* √(R* δ) and a damper with k_t in the place of S, |F_t| ≤ μF.
    """

    tag = "hertz-mindlin"
    modulus: Scalar = quantity("Pa", "Young's modulus E", gt=0, usual=(1e4, 1e12), slip="MPa or GPa")
    poisson: Scalar = quantity("", "Poisson's ratio ν", gt=-1, le=0.5, usual=(0, 0.5))
    restitution: Scalar = quantity("", "restitution e", gt=0, le=1, usual=(0.01, 1), hint=DEAD_STOP)
    friction: Scalar = quantity("", "friction μ, the tangent of its angle", ge=0, usual=(0, 2), slip="degrees")
    # A `RollingForceAndTorque` is in part a force, which grains leave out.
    rolling: tuple[RollingTorque | SpinningResistance, ...] = part(
        "tuple of resistances to rolling and spinning", default=()
    )
    cohesion: tuple[AbstractCohesion, ...] = part("tuple of attractions", default=())

    @classmethod
    def from_materials(
        cls,
        modulus: ArrayLike | Sequence,
        poisson: ArrayLike | Sequence,
        restitution: Any,
        friction: Any,
        rolling: tuple = (),
        cohesion: tuple = (),
    ) -> "HertzMindlin":
        """The contact of two materials, as that of one material with the same E* and G*.

        **Arguments:** `modulus` E [2], Pa (infinite for one that is rigid), and `poisson` ν [2] of the two materials;
        the rest belongs to the pair, as in the class. **Returns:** the law, 1/E* = Σ (1-νᵢ²)/Eᵢ and
        1/G* = Σ 2 (2-νᵢ)(1+νᵢ)/Eᵢ. **Raises:** ValueError as the class.
        """
        E = numbers("HertzMindlin.from_materials: modulus", modulus, "n", is_finite=False)
        nu = numbers("HertzMindlin.from_materials: poisson", poisson, "n")
        require(
            E.shape == nu.shape == (2,),
            f"HertzMindlin.from_materials: modulus {E} and poisson {nu}: give two of each",
        )
        whole = effective_modulus(E, nu)
        share = 1 / jnp.sum(2 * (2 - nu) * (1 + nu) / E) / whole  # G*/E* = (1-ν)/(2 (2-ν))
        alike = (1 - 4 * share) / (1 - 2 * share)
        return cls(  # pyright: ignore[reportCallIssue]  # to pyright `damping_ratio`, which is derived, is an argument
            modulus=2 * whole * (1 - alike**2),
            poisson=alike,
            restitution=restitution,
            friction=friction,
            rolling=rolling,
            cohesion=cohesion,
        )

    @property
    def effective_modulus(self) -> Scalar:
        """E* = E/(2 (1 - ν²)), Pa: both deform, and so does a wall."""
        return self.modulus / (2 * (1 - self.poisson**2))

    @property
    def effective_shear(self) -> Scalar:
        """G* = G/(2 (2 - ν)), Pa."""
        return self.modulus / (4 * (1 + self.poisson) * (2 - self.poisson))

    @property
    def damping_ratio(self) -> Scalar:
        return ClippedDamping.ratio(self.restitution)

    def elastic(self, radius: Scalar) -> Hertz:
        return Hertz(self.effective_modulus, radius)

    def tangential(self, radius: Scalar) -> MindlinSpring:
        return MindlinSpring(self.friction, self.effective_shear, radius)


class LinearSprings(AbstractGrainLaw):
    """Springs of constant stiffness along the normal and along the contact.

    The normal force is F = k δ + 2 ζ √(m* k) δ', never pulling. Along the contact the stiffness is k_t = `ratio` k,
    and |F_t| ≤ μF.
    """

    tag = "linear-springs"
    stiffness: Scalar = quantity("N/m", "stiffness k along the normal", gt=0, usual=(10, 1e8), slip="N/mm")
    ratio: Scalar = quantity("", "ratio of the stiffness along the contact to k", gt=0, usual=(0.1, 1))
    restitution: Scalar = quantity("", "restitution e", gt=0, le=1, usual=(0.01, 1), hint=DEAD_STOP)
    friction: Scalar = quantity("", "friction μ, the tangent of its angle", ge=0, usual=(0, 2), slip="degrees")
    rolling: tuple[RollingTorque | SpinningResistance, ...] = part(
        "tuple of resistances to rolling and spinning", default=()
    )
    cohesion: tuple[AbstractCohesion, ...] = part("tuple of attractions", default=())

    @property
    def damping_ratio(self) -> Scalar:
        return ClippedDamping.ratio(self.restitution)

    def elastic(self, radius: Scalar) -> Hooke:
        return Hooke(self.stiffness)

    def tangential(self, radius: Scalar) -> TangentialSpring:
        return TangentialSpring(self.friction, self.ratio * self.stiffness)
