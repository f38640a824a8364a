"""What two grains are to each other, by the effective radius and mass of the pair.

These are laws of `difsim.contact` (named at each, and tested to be equal), written for the innermost loop of a
run: no power but square roots, and the stiffness follows from each pair's own radii and masses.
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from difsim import safe
from difsim.contact import AbstractCohesion, Hertz, RollingTorque, Sharp, SpinningResistance, effective_modulus
from difsim.contact.damping import check_restitution, clip, clipped_ratio
from difsim.contact.power_law import HERTZ_DURATION
from difsim.typing import Scalar, all_of, require, scalar


def _resistances(given: Any) -> tuple[RollingTorque | SpinningResistance, ...]:
    # Of other resistances (`RollingForceAndTorque`) a part is a force, which grains leave out.
    return all_of("rolling of a grain's law", given, RollingTorque, SpinningResistance)


def _attractions(given: Any) -> tuple[AbstractCohesion, ...]:
    return all_of("cohesion of a grain's law", given, AbstractCohesion)


class AbstractGrainLaw(eqx.Module):
    """The contact of two spheres, or of one with a wall.

    All by the effective radius, 1/R* = 1/R₁ + 1/R₂ m, the effective mass, 1/m* = 1/m₁ + 1/m₂ kg (R and m at a
    wall), and the depth m, negative where they are apart.
    """

    friction: eqx.AbstractVar[Scalar]
    rolling: eqx.AbstractVar[tuple[RollingTorque | SpinningResistance, ...]]
    cohesion: eqx.AbstractVar[tuple[AbstractCohesion, ...]]

    @abstractmethod
    def push(self, radius: Scalar, mass: Scalar, depth: Scalar, rate: Scalar) -> Scalar:
        """Normal force, N, never negative; the depth grows at `rate` m/s."""

    @abstractmethod
    def stored(self, radius: Scalar, depth: Scalar) -> Scalar:
        """What the normal force has stored, J."""

    @abstractmethod
    def shear_stiffness(self, radius: Scalar, depth: Scalar) -> Scalar:
        """k_t of the spring along the contact, N/m, zero where they are apart."""

    @abstractmethod
    def shear_damping(self, radius: Scalar, mass: Scalar, depth: Scalar) -> Scalar:
        """c_t of the damper beside that spring, N s/m."""

    @abstractmethod
    def deepest(self, radius: Scalar, mass: Scalar, depth: Scalar, speed: Scalar) -> Scalar:
        """m: the larger of `depth` m and what an impact comes to that begins at `speed` m/s."""

    @abstractmethod
    def duration(self, radius: Scalar, mass: Scalar, depth: Scalar) -> Scalar:
        """s that an impact lasts which comes `depth` m deep."""

    def sticking(self, radius: Scalar, mass: Scalar, depth: Scalar) -> Scalar:
        """s of the longest step in which two equal spheres can stick, `depth` m deep.

        A step adds dt u to the spring's length x, and -dt (k x + c u) to the slip u of half a step before, with
        7/2 k_t/m* and 7/2 c_t/m* for k and c. It is stable for k dt² + 2 c dt < 4; in longer ones friction swings
        between its bounds. For `HertzMindlin` that matters where the restitution is below 0.2.
        """
        k, c = self.shear_stiffness(radius, depth), self.shear_damping(radius, mass, depth)
        k, c = 3.5 * k / mass, 3.5 * c / mass
        return 4 / (c + safe.sqrt_floored(c**2 + 4 * k))


class HertzMindlin(AbstractGrainLaw):
    """Elastic spheres of one material: Hertz, damped so that `restitution` is realised at any speed, and Mindlin.

    F = k δ^(3/2) + 2 √(5/6) ζ √(m* S) δ', never pulling, with k = 4/3 E* √R* and S = 3/2 k √δ. Along the contact a
    spring k_t = 8 G* √(R* δ) and a damper with k_t in the place of S, |F_t| ≤ μF.

    **Arguments:** `modulus` E > 0, Pa; `poisson` ν in (-1, 0.5]; `restitution` e in (0, 1]; `friction` μ ≥ 0;
    `rolling`: a tuple of resistances; `cohesion`: of attractions. **Raises:** ValueError otherwise.
    **Source:** `PowerLawClipped` (p = 3/2) and `MindlinSpring` of `difsim.contact`; the damper along the contact
    is the usual one of DEM codes, of the same ζ.
    """

    tag = "hertz-mindlin"
    modulus: Scalar = scalar()
    poisson: Scalar = scalar()
    restitution: Scalar = scalar()
    friction: Scalar = scalar()
    rolling: tuple[RollingTorque | SpinningResistance, ...] = eqx.field(converter=_resistances, default=())
    cohesion: tuple[AbstractCohesion, ...] = eqx.field(converter=_attractions, default=())

    def __check_init__(self):
        require(self.modulus > 0, f"HertzMindlin: modulus = {self.modulus} Pa must be positive")
        inside = (self.poisson > -1) & (self.poisson <= 0.5)
        require(inside, f"HertzMindlin: poisson = {self.poisson} must be in (-1, 0.5]")
        _check(self)

    @property
    def effective_modulus(self) -> Scalar:
        """E* = E/(2 (1 - ν²)), Pa: both deform, and so does a wall."""
        return 0.5 * effective_modulus(self.modulus, self.poisson)

    @property
    def effective_shear(self) -> Scalar:
        """G* = G/(2 (2 - ν)), Pa."""
        return self.modulus / (4 * (1 + self.poisson) * (2 - self.poisson))

    def push(self, radius: Scalar, mass: Scalar, depth: Scalar, rate: Scalar) -> Scalar:
        delta = clip(depth)
        hertz = 4 / 3 * self.effective_modulus * safe.sqrt_floored(radius * delta)  # k √δ
        # c = ζ √(5 m k) for the exponent 3/2.
        damper = clipped_ratio(self.restitution) * safe.sqrt_floored(5 * mass * hertz)
        return jnp.where(depth > 0, clip(hertz * delta + damper * rate), 0 * depth)

    def stored(self, radius: Scalar, depth: Scalar) -> Scalar:
        delta = clip(depth)
        return 8 / 15 * self.effective_modulus * safe.sqrt_floored(radius * delta) * delta**2

    def shear_stiffness(self, radius: Scalar, depth: Scalar) -> Scalar:
        return jnp.where(depth > 0, 8 * self.effective_shear * safe.sqrt_floored(radius * depth), 0.0)

    def shear_damping(self, radius: Scalar, mass: Scalar, depth: Scalar) -> Scalar:
        k = self.shear_stiffness(radius, depth)
        return 2 * (5 / 6) ** 0.5 * clipped_ratio(self.restitution) * safe.sqrt_floored(mass * k)

    def deepest(self, radius: Scalar, mass: Scalar, depth: Scalar, speed: Scalar) -> Scalar:
        return jnp.maximum(depth, Hertz(self.effective_modulus, radius, Sharp()).max_depth(mass, speed))

    def duration(self, radius: Scalar, mass: Scalar, depth: Scalar) -> Scalar:
        hertz = Hertz(self.effective_modulus, radius, Sharp())
        # `Hertz.duration` by the depth: it falls as δ^(-1/4), and holds at rest too.
        return HERTZ_DURATION * jnp.sqrt(1.25 * mass / (hertz.stiffness * jnp.sqrt(depth)))


class LinearSprings(AbstractGrainLaw):
    """Springs of constant stiffness, F = k δ + 2 ζ √(m* k) δ', never pulling; the same along the contact with
    k_t = `ratio` k, |F_t| ≤ μF.

    **Arguments:** `stiffness` k > 0, N/m; `ratio` > 0; `restitution` e in (0, 1]; `friction` μ ≥ 0; `rolling`: a
    tuple of resistances; `cohesion`: of attractions. **Raises:** ValueError otherwise.
    **Source:** `LinearClipped` and `TangentialSpring` of `difsim.contact`.
    """

    tag = "linear-springs"
    stiffness: Scalar = scalar()
    ratio: Scalar = scalar()
    restitution: Scalar = scalar()
    friction: Scalar = scalar()
    rolling: tuple[RollingTorque | SpinningResistance, ...] = eqx.field(converter=_resistances, default=())
    cohesion: tuple[AbstractCohesion, ...] = eqx.field(converter=_attractions, default=())

    def __check_init__(self):
        require(self.stiffness > 0, f"LinearSprings: stiffness = {self.stiffness} N/m must be positive")
        require(self.ratio > 0, f"LinearSprings: ratio = {self.ratio} must be positive")
        _check(self)

    def push(self, radius: Scalar, mass: Scalar, depth: Scalar, rate: Scalar) -> Scalar:
        damper = 2 * clipped_ratio(self.restitution) * jnp.sqrt(mass * self.stiffness)
        return jnp.where(depth > 0, clip(self.stiffness * depth + damper * rate), 0 * depth)

    def stored(self, radius: Scalar, depth: Scalar) -> Scalar:
        return 0.5 * self.stiffness * clip(depth) ** 2

    def shear_stiffness(self, radius: Scalar, depth: Scalar) -> Scalar:
        return jnp.where(depth > 0, self.ratio * self.stiffness, 0.0)

    def shear_damping(self, radius: Scalar, mass: Scalar, depth: Scalar) -> Scalar:
        k = self.shear_stiffness(radius, depth)
        return 2 * clipped_ratio(self.restitution) * safe.sqrt_floored(mass * k)

    def deepest(self, radius: Scalar, mass: Scalar, depth: Scalar, speed: Scalar) -> Scalar:
        return jnp.maximum(depth, speed * jnp.sqrt(mass / self.stiffness))

    def duration(self, radius: Scalar, mass: Scalar, depth: Scalar) -> Scalar:
        return jnp.pi * jnp.sqrt(mass / self.stiffness)


def _check(law: AbstractGrainLaw) -> None:
    check_restitution(law.restitution)
    require(law.friction >= 0, f"{type(law).__name__}: friction = {law.friction} is negative")
