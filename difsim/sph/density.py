"""Equations for the density of a particle."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp

from difsim.typing import Scalar


class AbstractDensity(eqx.Module):
    """An equation for the density of a particle."""

    @abstractmethod
    def rate(self, density: Scalar, divergence: Scalar) -> Scalar:
        """The rate of the density.

        **Arguments:** `density` ρ, kg/m³; `divergence` of the velocity, 1/s. **Returns:** dρ/dt, kg/(m³ s).
        """


class Continuity(AbstractDensity):
    """Conservation of mass, dρ/dt = -ρ ∇·v. **Source:** Schäfer et al. (2017), Eq 29."""

    tag = "continuity"

    def rate(self, density, divergence):
        return -density * divergence


class FixedDensity(AbstractDensity):
    """A constant density, for soil that hardly compresses and whose stress does not depend on it.

    In plastic flow without dilatancy the divergence is only noise of the particles' order, which continuity
    accumulates. Do not use it with `Murnaghan`, whose pressure depends on the density.
    """

    tag = "fixed-density"

    def rate(self, density, divergence):
        return jnp.zeros_like(density)
