"""Friction at one point: the force against its slip in the tangent plane."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike

from difsim import safe
from difsim.typing import Scalar, Vec3, as_float, number, require, scalar


class AbstractFriction(eqx.Module):
    """Friction without memory: the force follows from normal force and slip alone."""

    @abstractmethod
    def force(self, normal_force: Scalar, slip_velocity: Vec3) -> Vec3:
        """Friction on the body [3] in N, opposed to the slip.

        **Arguments:** `normal_force` ≥ 0, N; `slip_velocity` [3], m/s: the tangential part of the velocity of
        the body's point over the ground's.
        """


class RegularisedCoulomb(AbstractFriction):
    """F = -μN v/√(v² + v_s²): Coulomb above v_s, a viscous drag below, smooth at rest.

    It never holds: where a share r of the greatest friction is needed, the point creeps at v_s r/√(1 - r²):
    below v_s for r < 0.7.

    **Arguments:** `coefficient` μ ≥ 0; `speed` v_s > 0, m/s. A small v_s is stiff: keep dt μN/(m v_s) < 1.
    **Raises:** `ValueError` otherwise.
    """

    coefficient: Scalar = scalar()
    speed: Scalar = scalar()

    def __check_init__(self):
        require(self.coefficient >= 0, f"RegularisedCoulomb: coefficient = {self.coefficient} is negative.")
        require(self.speed > 0, f"RegularisedCoulomb: speed = {self.speed} m/s must be positive.")

    def force(self, normal_force: Scalar, slip_velocity: Vec3) -> Vec3:
        return -self.coefficient * normal_force * slip_direction(slip_velocity, self.speed)


def slip_direction(slip_velocity: Vec3, speed: Scalar) -> Vec3:
    """v/√(v² + v_s²): the unit vector of the slip above the regularisation speed v_s, and smooth through zero."""
    # The sum has units of speed² and is positive: v_s is the only ε here.
    return slip_velocity / jnp.sqrt(jnp.dot(slip_velocity, slip_velocity) + speed**2)


class StickSlip(eqx.Module):
    """Sliding blended into sticking: F = η F_slip + (1 - η) F_stick.

    F_slip = -μN v̂ and |F_stick| ≤ μ_s N; η(v) = 1 - exp(-v²/v_s²) goes from 0 at rest to 1 (the paper's
    own η is a picture only). Without the cap on sticking a block would never slide off a steep slope.

    **Arguments:** `coefficient` μ ≥ 0, sliding; `static_coefficient` μ_s ≥ 0, sticking; `speed` v_s > 0, m/s.
    **Raises:** `ValueError` otherwise. **Source:** hopper model of paper 003, sec. 4.2.
    """

    coefficient: Scalar = scalar()
    static_coefficient: Scalar = scalar()
    speed: Scalar = scalar()

    def __check_init__(self):
        require(self.coefficient >= 0, f"StickSlip: coefficient = {self.coefficient} is negative.")
        require(self.static_coefficient >= 0, f"StickSlip: static_coefficient = {self.static_coefficient} < 0.")
        require(self.speed > 0, f"StickSlip: speed = {self.speed} m/s must be positive.")

    def force(self, normal_force: Scalar, slip_velocity: Vec3, stick_force: Vec3) -> Vec3:
        """Friction on the body [3] in N.

        **Arguments:** `normal_force` ≥ 0, N; `slip_velocity` v [3], m/s; `stick_force` [3], N: the tangential
        force that would keep v as it is (v' = 0), from the body's equations of motion.
        """
        v = slip_velocity
        eta = -jnp.expm1(-jnp.dot(v, v) / self.speed**2)
        slip = -self.coefficient * normal_force * safe.unit(v)
        return eta * slip + (1 - eta) * safe.shortened(stick_force, self.static_coefficient * normal_force)


class TangentialHistory(eqx.Module):
    """What a tangential spring remembers of one contact; starts as `TangentialHistory.none()`.

    **Arguments:** `force` [3], N, on the body; `stiffness` k_t, N/m, at the last step.
    """

    force: Vec3 = number()
    stiffness: Scalar = scalar()

    @classmethod
    def none(cls) -> "TangentialHistory":
        """No force yet: the contact has just begun."""
        return cls(jnp.zeros(3), jnp.zeros(()))


class AbstractTangentialSpring(eqx.Module):
    """Friction with memory: a spring in the tangent plane that slips at μN.

    F ← F min(1, k_t/k_t,old) - k_t v dt, then |F| ≤ μN. In this incremental form a spring that stiffens
    under load gains no energy, and the factor takes energy out as it softens in unloading; the total form
    F = -k_t ξ creates or loses up to 19 % in sticking impacts.
    **Source:** Thornton, Cummins & Cleary, Powder Technol. 210 (2011) 189-197.
    """

    coefficient: eqx.AbstractVar[Scalar]

    @abstractmethod
    def stiffness(self, depth: Scalar) -> Scalar:
        """k_t in N/m at `depth` in m (positive inside)."""

    def advance(
        self,
        history: TangentialHistory,
        depth: Scalar,
        normal_force: Scalar,
        slip_velocity: Vec3,
        normal: Vec3,
        dt: ArrayLike,
    ) -> TangentialHistory:
        """The history one step on; its `force` is the friction on the body.

        **Arguments:** `history`; `depth`, m; `normal_force` ≥ 0, N; `slip_velocity` [3], m/s, tangential;
        `normal` [3], unit; `dt`, s.
        """
        k = self.stiffness(depth)
        softening = jnp.where(k < history.stiffness, safe.divide(k, history.stiffness), 1.0)
        # The tangent plane turns with the bodies: the old force turns with it and keeps its size.
        old = history.force - jnp.dot(history.force, normal) * normal
        turned = safe.unit(old) * safe.norm(history.force)
        force = softening * turned - k * slip_velocity * as_float(dt)
        return TangentialHistory(safe.shortened(force, self.coefficient * normal_force), k)


class TangentialSpring(AbstractTangentialSpring):
    """A tangential spring of constant stiffness, for linear normal laws.

    **Arguments:** `coefficient` μ ≥ 0; `constant` k_t > 0, N/m. **Raises:** `ValueError` otherwise.
    """

    coefficient: Scalar = scalar()
    constant: Scalar = scalar()

    def __check_init__(self):
        require(self.coefficient >= 0, f"TangentialSpring: coefficient = {self.coefficient} is negative.")
        require(self.constant > 0, f"TangentialSpring: constant = {self.constant} N/m must be positive.")

    def stiffness(self, depth: Scalar) -> Scalar:
        return jnp.where(depth > 0, self.constant, 0.0)


class MindlinSpring(AbstractTangentialSpring):
    """Mindlin's tangential stiffness of a Hertz contact before it slips, k_t = 8 G* √(R* δ).

    **Arguments:** `coefficient` μ ≥ 0; `effective_modulus` G* > 0, Pa, 1/G* = Σ (2-ν)/G; `effective_radius`
    R* > 0, m. **Raises:** `ValueError` otherwise.
    **Source:** Mindlin & Deresiewicz, J. Appl. Mech. 20 (1953) 327-344.
    """

    coefficient: Scalar = scalar()
    effective_modulus: Scalar = scalar()
    effective_radius: Scalar = scalar()

    def __check_init__(self):
        require(self.coefficient >= 0, f"MindlinSpring: coefficient = {self.coefficient} is negative.")
        require(self.effective_modulus > 0, f"MindlinSpring: G* = {self.effective_modulus} Pa must be positive.")
        require(self.effective_radius > 0, f"MindlinSpring: R* = {self.effective_radius} m must be positive.")

    def stiffness(self, depth: Scalar) -> Scalar:
        return 8 * self.effective_modulus * safe.sqrt(self.effective_radius * depth)
