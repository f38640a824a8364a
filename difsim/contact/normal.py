"""The normal force between one body point and a surface, from its depth and rate.

The depth d (minus the signed distance, of either sign) becomes a penetration δ(d) ≥ 0 through a regularisation,
which is a change of coordinate. Force and rate follow by virtual work, F = F_law(δ, δ' ḋ) δ', so that the energy
balance of the law stays exact whatever the regularisation.
"""

from abc import abstractmethod

import equinox as eqx
import jax
from jax.typing import ArrayLike

from difsim.checks import numbers
from difsim.contact.damping import AbstractDamping, AbstractViscousDamping, ClippedDamping, HuntCrossley
from difsim.contact.elastic import AbstractElastic
from difsim.contact.regularisation import AbstractRegularisation, as_regularisation
from difsim.declarations import part
from difsim.typing import Scalar


class AbstractNormalForce(eqx.Module):
    """A normal force from depth and rate, with the energy that it stores: the base of a user's own law."""

    regularisation: eqx.AbstractVar[AbstractRegularisation]

    @property
    @abstractmethod
    def is_discontinuous(self) -> bool:
        """Whether the force jumps at touch, or rises there with an infinite slope.

        If so, derivatives taken through the steps of a solver are wrong by up to orders of magnitude while
        values converge, and `simulate` refuses them: locate touch as an event and restart, or smooth the force.
        """

    @abstractmethod
    def force(self, depth: Scalar, rate: Scalar) -> Scalar:
        """F in N, positive when it pushes out.

        **Arguments:** `depth`, m, positive inside; `rate`, its time derivative, m/s, positive moving in.
        **Returns:** F, N.
        """

    @abstractmethod
    def elastic_energy(self, depth: Scalar) -> Scalar:
        """Stored energy in J at `depth` in m; its derivative is `force(depth, 0)`."""


class NormalForce(AbstractNormalForce):
    """An elastic force, a damper and a regularisation: the one normal force of surfaces, stones and grains.

    The `regularisation` is `NoSmoothing()`, `Smoothing(width)` or the width in m.

    **Example:**

    ```python
    import jax.numpy as jnp

    from difsim.contact import Hooke, NormalForce

    law = NormalForce.from_restitution(0.4, Hooke(2000.0), 1e-4, mass=12.0)  # smoothed over 0.1 mm
    print(law.restitution(mass=12.0), law.force(jnp.asarray(1e-3), jnp.asarray(0.0)))
    ```
    """

    elastic: AbstractElastic = part("elastic force: `Hooke(k)`, `PowerLaw(k, p)` or `Hertz(E, R)`")
    damping: AbstractDamping = part(
        "damper: `ClippedDamping(c)`, `TensileDamping(c)`, `CompressionDamping(c)`, `HuntCrossley(a)` or `Undamped()`"
    )
    regularisation: AbstractRegularisation = eqx.field(converter=as_regularisation)

    @classmethod
    def from_restitution(
        cls,
        e: ArrayLike,
        elastic: AbstractElastic,
        regularisation: AbstractRegularisation | ArrayLike,
        *,
        mass: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        damping: type[AbstractViscousDamping] = ClippedDamping,
    ) -> "NormalForce":
        """The force that realises a coefficient of restitution in free flight.

        **Arguments:** `e` in (0, 1]; `elastic`; `regularisation`; then one of two: the (reduced) `mass` in kg that
        moves (for a body of m flat on N points, m/N), which gives the viscous damper of the class `damping`, with
        the same e at all speeds; or the `speed` in m/s of impact, which gives `HuntCrossley`, with the same e for
        all masses. **Returns:** the force. **Raises:** `ValueError` for both or neither, and other numbers.
        """
        for name, given in (("e", e), ("mass", mass), ("speed", speed)):
            if given is not None:
                numbers(f"NormalForce: {name}", given)
        if mass is None and speed is not None:
            damper = HuntCrossley.from_restitution(e, speed=speed)
        elif mass is not None and speed is None:
            damper = damping.from_restitution(e, elastic, mass=mass)
        else:
            raise ValueError(
                "NormalForce: e belongs to a mass (viscous damper) or to a speed (Hunt and Crossley's): give one "
                "of mass= in kg and speed= in m/s"
            )
        return cls(elastic=elastic, damping=damper, regularisation=regularisation)

    @property
    def is_discontinuous(self) -> bool:
        return self.damping.is_abrupt(self.elastic.exponent) and not self.regularisation.is_smooth

    def force(self, depth: Scalar, rate: Scalar) -> Scalar:
        delta, slope = jax.value_and_grad(self.regularisation.penetration)(depth)
        return self.damping.total(self.elastic, delta, slope * rate) * slope

    def elastic_energy(self, depth: Scalar) -> Scalar:
        return self.elastic.energy(self.regularisation.penetration(depth))

    def restitution(self, *, mass: ArrayLike | None = None, speed: ArrayLike | None = None) -> Scalar:
        """e in free flight, without smoothing: the exact inverse of `from_restitution`.

        **Arguments:** the (reduced) `mass` in kg for a viscous damper, the `speed` ≥ 0 of impact in m/s for
        `HuntCrossley`. **Returns:** e. **Raises:** `ValueError` where the one that matters is missing.
        """
        return self.damping.restitution(self.elastic, mass, speed)
