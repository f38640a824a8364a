"""Optional corrections of the plain sums over pairs, independent of each other; none by default."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.declarations import quantity
from difsim.particles.vectors import dot, minus, outer, rows, stack, times, upper
from difsim.sph.equations import Flow, Sample
from difsim.sph.kernel import AbstractKernel
from difsim.sph.principal import principal3
from difsim.typing import Scalar


class AbstractCorrection(eqx.Module):
    """A further sum over the neighbours of a particle, and its effect on the flow."""

    @abstractmethod
    def data(self, sample: Sample) -> Any:
        """The data of a particle that its neighbours need besides its sample."""

    @abstractmethod
    def term(self, kernel: AbstractKernel, a: Sample, b: Sample, data_a: Any, data_b: Any) -> Any:
        """The term of b in the sum of a, zero if they are one particle.

        **Arguments:** `kernel`; `a`, `b`, the samples; `data_a`, `data_b`, their data by `data`. **Returns:**
        the term.
        """

    @abstractmethod
    def correct(self, flow: Flow, sums: Any) -> Flow:
        """The corrected flow of a particle.

        **Arguments:** `flow`; `sums`, of the particle. **Returns:** the flow.
        """


class XSPH(AbstractCorrection):
    """Particles move with part of their neighbours' velocity: dx/dt = v + ε Σ m_b/ρ̄ (v_b - v_a) W.

    It keeps them in order and conserves momentum; velocities, stresses and densities do not change.

    **Source:** Monaghan (1989), J. Comput. Phys. 82, 1.
    """

    tag = "xsph"
    share: Scalar = quantity("", "share ε of the neighbours' velocity", ge=0, le=1, slip="percent", default=0.5)

    def data(self, sample):
        return None

    def term(self, kernel, a, b, data_a, data_b):
        weight = b.mass / (0.5 * (a.density + b.density)) * kernel.value(a.offset(b))
        return times(weight, minus(b.velocity, a.velocity))

    def correct(self, flow, sums):
        return eqx.tree_at(lambda f: f.velocity, flow, flow.velocity + self.share * jnp.stack(sums))


class GradientCorrection(AbstractCorrection):
    """The velocity gradient made exact for linear motion: L M⁻¹ with M = Σ V_b (x_b - x_a) ⊗ ∂W.

    Without it a rotation strains particles near a surface, where half of the neighbours are missing. Forces are
    not changed, so momentum is conserved. If neighbours do not span the plane or space, det M < `least`, the
    gradient fades out with det M, since few neighbours do not determine a strain.

    **Source:** Randles and Libersky (1996), Comput. Methods Appl. Mech. Eng. 139, 375; Bonet and Lok (1999).
    """

    tag = "gradient-correction"
    least: Scalar = quantity(
        "", "least determinant of M without fading; 0.05 is below the corner of a lattice", gt=0, default=0.05
    )

    def data(self, sample):
        return None

    def term(self, kernel, a, b, data_a, data_b):
        offset = a.offset(b)
        return outer(times(-b.mass / b.density, offset), kernel.gradient(offset))

    def correct(self, flow, sums):
        adjugate, determinant = _adjugate(stack(sums))
        # M is the identity with neighbours on all sides, and its determinant is about ¼ at a flat surface.
        inverse = adjugate / jnp.maximum(determinant, self.least)
        gradient = jnp.stack([jnp.stack([dot(row, column) for column in inverse.T]) for row in flow.gradient])
        return eqx.tree_at(lambda f: f.gradient, flow, gradient)


class ArtificialStress(AbstractCorrection):
    """A repulsion term neighbours under tension that are closer than the spacing: -ε (W/W(Δ))ⁿ σ⁺/ρ².

    Under tension an SPH lattice clumps, since its attraction grows faster with distance than its stress falls. σ⁺
    is the tensile part of the stress: its positive principal values along their axes.

    **Source:** Monaghan (2000), J. Comput. Phys. 159, 290; Gray, Monaghan and Swift (2001), sec. 3; values of Bui et
    al. (2008), sec. 3.5.
    """

    tag = "artificial-stress"
    spacing: Scalar = quantity("m", "spacing Δ of the particles at the start", gt=0, usual=(1e-4, 1), slip="mm")
    strength: Scalar = quantity("", "strength ε", ge=0, usual=(0, 1), default=0.5)
    exponent: Scalar = quantity("", "exponent n", gt=0, usual=(1, 10), default=2.55)

    def data(self, sample):
        stress = stack(rows(sample.stress))
        return upper(-self.strength * tension(stress))

    def term(self, kernel, a, b, data_a, data_b):
        offset = a.offset(b)
        apart = self.spacing, *[jnp.zeros_like(self.spacing)] * (len(offset) - 1)
        nearness = safe.power(kernel.value(offset) / kernel.value(apart), self.exponent)
        slope = kernel.gradient(offset)
        both = rows(tuple(x + y for x, y in zip(data_a, data_b, strict=True)))
        return tuple(b.mass * nearness * dot(row, slope) for row in both)

    def correct(self, flow, sums):
        return eqx.tree_at(lambda f: f.acceleration, flow, flow.acceleration + jnp.stack(sums))


def tension(stress: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """The positive principal values of a symmetric stress along their axes, in closed form in the plane."""
    if stress.shape[0] != 2:
        return _tension(stress)
    mean, half = 0.5 * (stress[0, 0] + stress[1, 1]), 0.5 * (stress[0, 0] - stress[1, 1])
    radius = safe.sqrt(half**2 + stress[0, 1] ** 2)
    high, low = jnp.maximum(mean + radius, 0.0), jnp.maximum(mean - radius, 0.0)
    one = jnp.eye(2, dtype=stress.dtype)
    axes = safe.divide(0.5 * (high - low), radius) * (stress - mean * one)
    return 0.5 * (high + low) * one + axes


@jax.custom_jvp
def _tension(stress: Float[Array, "d d"]) -> Float[Array, "d d"]:
    values, axes = principal3(stress)
    return (axes * jnp.maximum(values, 0.0)[None]) @ axes.T


@_tension.defjvp
def _(primals, tangents):
    """The derivative by divided differences of the principal values, since eigenvectors have none at equal values."""
    (stress,), (change,) = primals, tangents
    values, axes = principal3(stress)
    kept = jnp.maximum(values, 0.0)
    apart = values[:, None] - values[None]
    equal = 0.5 * ((values[:, None] > 0) + 1.0 * (values[None] > 0))
    quotient = jnp.where(apart == 0, equal, safe.divide(kept[:, None] - kept[None], apart))
    turned = axes.T @ change @ axes
    return (axes * kept[None]) @ axes.T, axes @ (quotient * turned) @ axes.T


def _adjugate(m: Float[Array, "d d"]) -> tuple[Float[Array, "d d"], Scalar]:
    """adj M = det M · M⁻¹, and det M."""
    if m.shape[0] == 2:
        adjugate = jnp.stack([jnp.stack([m[1, 1], -m[0, 1]]), jnp.stack([-m[1, 0], m[0, 0]])])
    else:
        # Columns of the inverse are cross products of rows.
        columns = [jnp.cross(m[1], m[2]), jnp.cross(m[2], m[0]), jnp.cross(m[0], m[1])]
        adjugate = jnp.stack(columns, axis=1)
    return adjugate, dot(m[0], adjugate[:, 0])
