"""Losses of a continuum by name, from sums over its particles alone."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.sph.equations import Flow
from difsim.typing import Scalar


class ContinuumLosses(eqx.Module):
    """An account of what leaves the energies of a continuum, by name. With it a step takes a sixth longer on a CPU.

    "plastic" is what the limit of the material takes, and "damping" that of damped layers. "viscous" is what the forces
    of pairs take beyond the power of the stress. That is exact where all densities are equal, since the forces are
    antisymmetric; elsewhere it errs by the difference of the densities times the power of the stress. "tools" is the
    work done on tools. "corrections" is the rest. The scheme takes it where forces and strains do not belong to each
    other: by corrections of the sums, and by mirror images at walls with free slip.
    """

    tag = "continuum-losses"

    def powers(
        self, model: Any, moving: Float[Array, "d n"], state: Any, plain: Flow, flow: Flow, rate: Any
    ) -> dict[str, Scalar]:
        """The power of all but "plastic" at an elastic rate, without derivatives.

        **Arguments:** `model`, the continuum; `moving` [d, n], velocities with those of tools, m/s; `state`, with
        mirror images; `plain` and `flow`, the sums without and with their corrections; `rate` of the state.
        **Returns:** W by name (W/m in the plane).
        """
        given = model, moving, state, plain, flow, rate
        model, moving, state, plain, flow, rate = jax.lax.stop_gradient(given)
        d, (free, strained) = len(model.gravity), model.masses
        stress = jnp.sum(state.stress[:d, :d] * plain.gradient, axis=(0, 1))
        viscous = -jnp.sum(model.mass * (_dot(state.velocity, plain.acceleration) + stress / state.density))
        tools = jnp.sum((model.mass - free) * _dot(moving, flow.acceleration))
        _, elastic = jax.jvp(model.material.energy, (state.stress, state.density), (rate.stress, rate.density))
        drift = model.gravity @ (flow.velocity - state.velocity)
        whole = jnp.sum(free * (drift - _dot(state.velocity, flow.acceleration))) - jnp.sum(strained * elastic)
        return {
            "viscous": viscous,
            "damping": jnp.sum(free * model.damping * _dot(state.velocity, state.velocity)),
            "tools": tools,
            "corrections": whole - viscous - tools,
        }

    def plastic(self, model: Any, before: Any, trial: Any, after: Any) -> dict[str, Scalar]:
        """The energy that the limit of the material takes in a step: the mean stress times the plastic strain.

        **Arguments:** `model`, the continuum; the states `before` the step, at its elastic end (`trial`) and `after`
        it. **Returns:** J by name (J/m in the plane), without derivatives.
        """
        given = jax.lax.stop_gradient((model, before.stress, trial.stress, after.stress, after.density))
        model, old, elastic, new, density = given
        _, change = jax.jvp(lambda s: model.material.energy(s, density), (0.5 * (old + new),), (elastic - new,))
        return {"plastic": jnp.sum(model.masses[1] * change)}


def _dot(a: Float[Array, "d n"], b: Float[Array, "d n"]) -> Float[Array, " n"]:
    return jnp.sum(a * b, axis=0)
