"""A deforming continuum of particles: the rates of all of them, free ones and those of rigid walls and tools."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from difsim.particles import Neighbours
from difsim.sph.equations import Sample, Viscosity, pair_sums
from difsim.sph.kernel import AbstractKernel
from difsim.sph.plasticity import DruckerPrager
from difsim.typing import number, require


class SoilState(eqx.Module):
    """Position m, velocity m/s, stress Pa (positive in tension) and density kg/m³ of n particles."""

    position: Float[Array, "n d"]
    velocity: Float[Array, "n d"]
    stress: Float[Array, "n 3 3"]
    density: Float[Array, " n"]


class Soil(eqx.Module):
    """Regolith as a continuum, in plane strain (d = 2) or in space (d = 3).

    Particles that are not `free` belong to rigid walls: they keep their velocity, and soil does not slip along
    them. They carry a stress of their own, which follows from the soil that moves past them.

    **Arguments:** `material`, `kernel`, `viscosity`; `gravity` [d], m/s²; `mass` [n], kg (kg/m in the plane);
    `free` [n]. **Raises:** ValueError for masses that are not positive.
    """

    material: DruckerPrager
    kernel: AbstractKernel
    viscosity: Viscosity
    gravity: Float[Array, " d"] = number()
    mass: Float[Array, " n"] = number()
    free: Bool[Array, " n"] = eqx.field(converter=jnp.asarray)

    def __check_init__(self):
        require(self.mass > 0, "Soil: every mass must be positive")

    def field(self, state: SoilState, neighbours: Neighbours) -> SoilState:
        """The state's rate, in its structure: elastic stress; `settled` brings it back to the cone."""
        d = state.position.shape[1]
        plane = state.stress[:, :d, :d] / state.density[:, None, None] ** 2
        last = lambda x: jnp.moveaxis(x, 0, -1)  # noqa: E731
        samples = Sample(last(state.position), last(state.velocity), last(plane), state.density, self.mass)
        sums = pair_sums(self.kernel, self.viscosity, samples, neighbours.index)
        gradient = jnp.zeros((*state.density.shape, 3, 3), state.stress.dtype)
        gradient = gradient.at[:, :d, :d].set(jnp.moveaxis(sums.gradient, -1, 0))
        acceleration = jnp.moveaxis(sums.acceleration, -1, 0) + self.gravity[None]
        return SoilState(
            position=state.velocity,
            velocity=jnp.where(self.free[:, None], acceleration, 0.0),
            stress=jax.vmap(self.material.rate)(state.stress, gradient),
            density=-state.density * jnp.trace(gradient, axis1=1, axis2=2),
        )

    def settled(self, state: SoilState) -> SoilState:
        """The state with its stresses within the cone."""
        return eqx.tree_at(lambda s: s.stress, state, jax.vmap(self.material.returned)(state.stress))
