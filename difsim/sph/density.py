"""Where the density of a particle comes from."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp

from difsim.typing import Scalar


class AbstractDensity(eqx.Module):
    """How the density of a particle changes."""

    @abstractmethod
    def rate(self, density: Scalar, divergence: Scalar) -> Scalar:
        """dρ/dt in kg/(m³ s) at ρ kg/m³ and the velocity's divergence 1/s."""


class Continuity(AbstractDensity):
    """Mass is kept: dρ/dt = -ρ ∇·v. **Source:** paper 002 Eq 29."""

    tag = "continuity"

    def rate(self, density, divergence):
        return -density * divergence


class FixedDensity(AbstractDensity):
    """The density stays as it is: for soil that hardly compresses, whose stress does not follow from its density.

    Plastic flow without dilatancy has a divergence in the noise of the particles' order only, which continuity
    adds up. Not for `Murnaghan`, whose pressure is one of the density.
    """

    tag = "fixed-density"

    def rate(self, density, divergence):
        return jnp.zeros_like(density)
