"""Friction at one point: the force against its slip in the tangent plane."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from difsim import safe
from difsim.declarations import quantity, rule, variable
from difsim.particles.barrier import optimisation_barrier
from difsim.particles.vectors import dot
from difsim.typing import Scalar, Vec3, as_float


class AbstractFriction(eqx.Module):
    """Friction without memory: the force follows from normal force and slip alone."""

    @property
    def is_discontinuous(self) -> bool:
        """Whether the force jumps as a point touches or begins to slip: none of these does."""
        return False

    @abstractmethod
    def force(self, normal_force: Scalar, slip_velocity: Vec3) -> Vec3:
        """Friction on the body [3] in N, opposed to the slip.

        **Arguments:** `normal_force` ≥ 0, N; `slip_velocity` [3], m/s: the tangential part of the velocity of
        the body's point over the ground's. **Returns:** the friction.
        """


class RegularisedCoulomb(AbstractFriction):
    """F = -μN v/√(v² + v_s²): Coulomb above v_s, a viscous drag below, smooth at rest.

    It never holds: where a share r of the greatest friction is needed, the point creeps at v_s r/√(1 - r²):
    below v_s for r < 0.7. A small v_s is stiff: keep dt μN/(m v_s) < 1.
    """

    coefficient: Scalar = quantity("", "friction coefficient μ", ge=0, usual=(0, 2), slip="degrees")
    speed: Scalar = quantity(
        "m/s", "slip speed v_s, below which friction fades", gt=0, usual=(1e-8, 1), hint="it keeps the law smooth"
    )

    def force(self, normal_force: Scalar, slip_velocity: Vec3) -> Vec3:
        return -self.coefficient * normal_force * slip_direction(slip_velocity, self.speed)


def slip_direction(slip_velocity: Vec3, speed: Scalar) -> Vec3:
    """v/√(v² + v_s²): the unit vector of a slip or a spin v above the regularisation speed v_s, smooth through zero."""
    # The sum has units of speed² and is positive: v_s is the only ε here.
    return slip_velocity / jnp.sqrt(jnp.dot(slip_velocity, slip_velocity) + speed**2)


class StickSlip(eqx.Module):
    """Sliding blended into sticking: F = η F_slip + (1 - η) F_stick.

    F_slip = -μN v̂ and |F_stick| ≤ μ_s N; η(v) = 1 - exp(-v²/v_s²) goes from 0 at rest to 1 (the paper's
    own η is a picture only). Without the cap on sticking a block would never slide off a steep slope.

    **Source:** the hopper paper, sec. 4.2.
    """

    coefficient: Scalar = quantity("", "coefficient μ of sliding", ge=0, usual=(0, 2), slip="degrees")
    static_coefficient: Scalar = quantity("", "coefficient μ_s of sticking", ge=0, usual=(0, 3), slip="degrees")
    speed: Scalar = quantity("m/s", "slip speed v_s, below which a point sticks", gt=0, usual=(1e-8, 1))

    @rule(
        "static_coefficient = {static_coefficient} is below coefficient = {coefficient}: a body at rest must resist no "
        "less than one that slides; are the two swapped?"
    )
    def _has_more_friction_at_rest(self):
        return self.static_coefficient >= self.coefficient

    def force(self, normal_force: Scalar, slip_velocity: Vec3, stick_force: Vec3) -> Vec3:
        """Friction on the body [3] in N.

        **Arguments:** `normal_force` ≥ 0, N; `slip_velocity` v [3], m/s; `stick_force` [3], N: the tangential
        force that would keep v as it is (v' = 0), from the body's equations of motion. **Returns:** the friction.
        """
        v = slip_velocity
        eta = -jnp.expm1(-jnp.dot(v, v) / self.speed**2)
        slip = -self.coefficient * normal_force * safe.unit(v)
        return eta * slip + (1 - eta) * safe.clip_norm(stick_force, self.static_coefficient * normal_force)


class TangentialHistory(eqx.Module):
    """The memory of one tangential spring, or of many with their axis last; starts as `TangentialHistory.zeros()`."""

    force: Float[Array, "3 *n"] = variable("N", "force F of the spring on the body")
    stiffness: Float[Array, "*n"] = variable("N/m", "stiffness k_t at the last step")

    @classmethod
    def zeros(cls, *shape: int, dtype: Any = float) -> "TangentialHistory":
        """The memory of a contact (of `shape` many) that has just begun: no force yet."""
        return cls(jnp.zeros((3, *shape), dtype), jnp.zeros(shape, dtype))


def step_spring(
    history: TangentialHistory,
    stiffness: Scalar,
    damping: Scalar,
    bound: Scalar,
    slip_velocity: Vec3,
    normal: Vec3,
    dt: Scalar,
) -> tuple[Vec3, TangentialHistory]:
    """One step of a tangential spring with a parallel damper, which together slip at a bound.

    F ← F min(1, k_t/k_t,old) - k_t v dt, then |F - c_t v| ≤ bound. In this incremental form a spring that stiffens
    under load gains no energy, and the factor takes energy out as it softens in unloading; the total form
    F = -k_t ξ creates or loses up to 19 % in sticking impacts. Where both together slip, the spring gives way.

    **Arguments:** `history`; `stiffness` k_t ≥ 0, N/m, and `damping` c_t ≥ 0, N s/m, now; `bound` ≥ 0, N;
    `slip_velocity` [3], m/s, tangential; `normal` [3], unit; `dt`, s.
    **Returns:** the force [3] N on the body, and the history one step on.
    **Source:** Thornton, Cummins & Cleary, Powder Technol. 210 (2011) 189-197.
    """
    flat = history.force - dot(history.force, normal) * normal
    square, size = dot(flat, flat), dot(history.force, history.force)
    # Forces die out at rest, to 1e-100 N and below; the square of a square must not be 0 where it divides.
    least = jnp.finfo(square.dtype).tiny ** 0.5
    # The tangent plane turns with the bodies: the old force turns with it and keeps its size.
    turned = jnp.where(square > least, size / jnp.where(square > least, square, 1.0), 1.0)
    before = history.stiffness
    softer = jnp.where(stiffness < before, stiffness / jnp.where(before > 0, before, 1.0), 1.0)
    force = softer * jnp.sqrt(turned) * flat
    force = optimisation_barrier(force - (stiffness * dt + damping) * slip_velocity, dt >= 0)
    square = dot(force, force)
    # Not `slides = square > bound**2`: of what is tiny both are 0, and a bound of 0 is to leave nothing.
    holds = square < bound**2
    shorter = jnp.where(holds, 1.0, bound / jnp.sqrt(jnp.where(holds, 1.0, jnp.maximum(square, least))))
    # Two that are apart remember nothing, whatever the damper's floor is.
    kept = jnp.where(stiffness > 0, shorter * force + damping * slip_velocity, 0.0)
    return shorter * force, TangentialHistory(kept, stiffness)


class AbstractTangentialSpring(eqx.Module):
    """Friction with memory: a spring in the tangent plane that slips at μN (`step_spring`)."""

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
        `normal` [3], unit; `dt`, s. **Returns:** the history.
        """
        k, bound = self.stiffness(depth), self.coefficient * normal_force
        return step_spring(history, k, jnp.zeros_like(k), bound, slip_velocity, normal, as_float(dt))[1]


class TangentialSpring(AbstractTangentialSpring):
    """A tangential spring of constant stiffness, for linear normal laws."""

    coefficient: Scalar = quantity("", "friction coefficient μ", ge=0, usual=(0, 2), slip="degrees")
    constant: Scalar = quantity("N/m", "tangential stiffness k_t", gt=0, usual=(1, 1e10), slip="N/mm")

    def stiffness(self, depth: Scalar) -> Scalar:
        return jnp.where(depth > 0, self.constant, 0.0)


class MindlinSpring(AbstractTangentialSpring):
    """Mindlin's tangential stiffness of a Hertz contact before it slips, k_t = 8 G* √(R* δ).

    **Source:** Mindlin & Deresiewicz, J. Appl. Mech. 20 (1953) 327-344.
    """

    coefficient: Scalar = quantity("", "friction coefficient μ", ge=0, usual=(0, 2), slip="degrees")
    effective_modulus: Scalar = quantity(
        "Pa", "effective shear modulus G*, 1/G* = Σ (2-ν)/G", gt=0, usual=(1e3, 1e12), slip="MPa or GPa"
    )
    effective_radius: Scalar = quantity(
        "m", "effective radius R* of curvature, 1/R* = Σ 1/R", gt=0, usual=(1e-6, 100), slip="mm"
    )

    def stiffness(self, depth: Scalar) -> Scalar:
        return 8 * self.effective_modulus * safe.sqrt(self.effective_radius * depth)
