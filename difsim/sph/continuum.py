"""A deforming continuum of particles: its rates, and how it steps."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from difsim.particles import AbstractParticles, Neighbours, pair_sums
from difsim.sph.equations import Sample, Viscosity, interaction
from difsim.sph.kernel import AbstractKernel
from difsim.sph.material import AbstractMaterial
from difsim.sph.tools import Tool
from difsim.typing import Scalar, number, require


class ContinuumState(eqx.Module):
    """Position m, velocity m/s, stress Pa (positive in tension) and density kg/m³ of n particles."""

    position: Float[Array, "d n"]
    velocity: Float[Array, "d n"]
    stress: Float[Array, "3 3 n"]
    density: Float[Array, " n"]


class ContinuumMotion(eqx.Module):
    """A state at a time s, and its rate there, or as good a guess of it as the last step had."""

    time: Scalar
    state: ContinuumState
    rate: ContinuumState


class Continuum(AbstractParticles):
    """A solid as particles, in plane strain (d = 2) or in space (d = 3).

    Particles of `tools` move as prescribed, and the solid does not slip along them. They carry a stress of their
    own, which follows from the solid that moves past them.

    **Arguments:** `material`, `kernel`, `viscosity`; `gravity` [d], m/s²; `mass` [n], kg (kg/m in the plane);
    `tools`; `damping` [n], 1/s: the share of its velocity that a particle loses in a second, for layers that
    swallow waves.
    **Raises:** ValueError for masses that are not positive, and negative damping.
    """

    material: AbstractMaterial
    kernel: AbstractKernel
    viscosity: Viscosity
    gravity: Float[Array, " d"] = number()
    mass: Float[Array, " n"] = number()
    tools: tuple[Tool, ...] = ()
    damping: Float[Array, " n"] | Scalar = number(default=0.0)

    def __check_init__(self):
        require(self.mass > 0, "Continuum: every mass must be positive")
        require(self.damping >= 0, "Continuum: damping must not be negative")

    @property
    def reach(self) -> Scalar:
        return self.kernel.h

    def at_rest(self, position: Float[Array, "d n"]) -> ContinuumState:
        """The state at `position` m, at rest, without stress."""
        d, n = position.shape
        zero = jnp.zeros((3, 3, n))
        return ContinuumState(jnp.asarray(position), zero[0, :d], zero, jnp.full(n, self.material.density))

    def begin(self, time: Scalar, state: ContinuumState, neighbours: Neighbours) -> ContinuumMotion:
        state = self._placed(time, state)
        return ContinuumMotion(time, state, self.field(state, neighbours))

    def step(self, motion: ContinuumMotion, neighbours: Neighbours, dt: Scalar) -> ContinuumMotion:
        """Predict by the last rate, correct by the mean with the new one: second order, one sum over pairs."""
        time, state, rate = motion.time + dt, motion.state, motion.rate
        predicted = self._held(time, jax.tree.map(lambda x, k: x + dt * k, state, rate))
        new = self.field(predicted, neighbours)
        corrected = jax.tree.map(lambda x, old, now: x + 0.5 * dt * (old + now), state, rate, new)
        return ContinuumMotion(time, self._held(time, corrected), new)

    def longest_step(self, motion: ContinuumMotion) -> Scalar:
        """Half the support over the speed of signals: sound, viscosity and the fastest particle, s."""
        speed = jnp.sqrt(jnp.max(jnp.sum(motion.state.velocity**2, axis=0)))
        sound = jnp.maximum(self.material.sound, self.viscosity.sound)
        viscous = 0.6 * (self.viscosity.alpha * self.viscosity.sound + self.viscosity.beta * speed)
        return 0.5 * self.kernel.h / (sound + viscous + speed)

    def broken(self, motion: ContinuumMotion) -> Bool[Array, " n"]:
        """Where a number is not finite, or the density has doubled or is a tenth: loose grains are at half of it."""
        state = motion.state
        finite = jnp.isfinite(jnp.sum(state.velocity, axis=0) + jnp.sum(state.stress, axis=(0, 1)))
        ratio = state.density / self.material.density
        return ~(finite & (ratio > 0.1) & (ratio < 2.0))

    def field(self, state: ContinuumState, neighbours: Neighbours) -> ContinuumState:
        """The state's rate, in its structure: elastic stress, without what the material does not hold."""
        d = state.position.shape[0]
        stress = state.stress[:d, :d] / state.density[None, None] ** 2
        samples = Sample(state.position, state.velocity, stress, state.density, self.mass)
        sums = pair_sums(lambda a, b: interaction(self.kernel, self.viscosity, a, b), samples, neighbours.index)
        gradient = jnp.pad(sums.gradient, ((0, 3 - d), (0, 3 - d), (0, 0)))
        damped = jnp.atleast_1d(self.damping)[None] * state.velocity
        return ContinuumState(
            position=state.velocity,
            velocity=sums.acceleration + self.gravity[:, None] - damped,
            stress=jax.vmap(self.material.rate, in_axes=-1, out_axes=-1)(state.stress, gradient),
            density=-state.density * sum(gradient[i, i] for i in range(1, d)) - state.density * gradient[0, 0],
        )

    def _held(self, time: Scalar, state: ContinuumState) -> ContinuumState:
        """The state with the stress that the material holds, and its tools where they are at `time`."""
        stress = jax.vmap(self.material.held, in_axes=-1, out_axes=-1)(state.stress, state.density)
        return self._placed(time, eqx.tree_at(lambda s: s.stress, state, stress))

    def _placed(self, time: Scalar, state: ContinuumState) -> ContinuumState:
        position, velocity = state.position, state.velocity
        for tool in self.tools:
            x, v = tool.at(time)
            position, velocity = position.at[:, tool.members].set(x), velocity.at[:, tool.members].set(v)
        return eqx.tree_at(lambda s: (s.position, s.velocity), state, (position, velocity))
