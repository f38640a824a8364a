"""Integrals along with the state: the power that leaves a model's energies, and the rates that a user gives.

They are numbers of the solve like those of the state, with tangents and under its error control. Outside of the error
norm they would be wrong where a power jumps and the state does not: where a clipped force ends, the energy balance of
an impact would close to 1e-3 only, at a tolerance of 1e-9.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from difsim.checks import CallError, explain_errors
from difsim.dynamics import AbstractImpactModel, AbstractModel
from difsim.typing import Scalar, as_float, describe

Integrands = Callable[[AbstractModel, Scalar, Any], dict[str, Any]]


class Integrals(eqx.Module):
    """The integrals of a run by name: `losses` from the model's energies, J, and those that were `requested` for."""

    losses: dict[str, Any]
    requested: dict[str, Any]


class Integrating(AbstractModel):
    """`model`, whose state is joined by its integrals: (state, `Integrals`).

    **Arguments:** `model`; `integrands(model, t, state)`, rates by name, or None.
    """

    model: Any  # an `AbstractModel`, with the methods of an `AbstractImpactModel` if it has impacts
    integrands: Integrands | None = None

    @property
    def has_contact_forces(self):
        return self.model.has_contact_forces

    def start(self, t: Scalar, state: Any) -> tuple[Any, Integrals]:
        """The state with all integrals at zero.

        **Arguments:** `t`, s; the model's `state`. **Returns:** the state and its `Integrals`.
        """
        taken = jax.eval_shape(lambda: self.model.rates(t, state)[1])
        if isinstance(self.model, AbstractImpactModel):
            taken = taken | jax.eval_shape(lambda: self.model.impact(t, state)[1])
        dtype = ravel_pytree(state)[0].dtype
        zeros = lambda tree: jax.tree.map(lambda x: jnp.zeros(x.shape, dtype), tree)  # noqa: E731
        return state, Integrals(zeros(taken), zeros(jax.eval_shape(lambda: self._requested_rates(t, state))))

    def vector_field(self, t, state):
        motion, beside = state
        rate, power = self.model.rates(t, motion)
        taken = {name: power.get(name, jnp.zeros_like(x)) for name, x in beside.losses.items()}
        return rate, Integrals(taken, self._requested_rates(t, motion))

    def boundary(self, t: Scalar, state: Any) -> Scalar:
        return self.model.boundary(t, state[0])

    def impact(self, t: Scalar, state: Any) -> Any:
        motion, beside = state
        motion, taken = self.model.impact(t, motion)
        total = {name: x + taken.get(name, jnp.zeros_like(x)) for name, x in beside.losses.items()}
        return motion, Integrals(total, beside.requested)

    def closing_speed(self, t: Scalar, state: Any) -> Scalar:
        return self.model.closing_speed(t, state[0])

    def is_in_contact(self, t: Scalar, state: Any) -> Any:
        return self.model.is_in_contact(t, state[0])

    def approach(self, t, state):
        return self.model.approach(t, state[0])

    def energy(self, t, state):
        """The parts of the energy and what was taken from them: their sum is constant.

        **Arguments:** `t`, s; `state`, the joined one. **Returns:** energies in J by name.
        """
        motion, beside = state
        parts = self.model.energy(t, motion)
        return parts | beside.losses if parts else {}

    def scales(self, t, state):
        """Energies in units of a third of the kinetic energy that all of the state's units make; others in SI.

        **Arguments:** `t`, s; `state`, the joined one. **Returns:** origin and unit.
        """
        motion, beside = state
        origin, unit = self.model.scales(t, motion)
        energy = self._energy_of(t, origin, unit) if beside.losses else jnp.zeros(())
        energy = jnp.where(energy > 0, energy, 1.0)
        taken = {name: energy * jnp.ones_like(x) for name, x in beside.losses.items()}
        zeros, ones = (jax.tree.map(of, beside.requested) for of in (jnp.zeros_like, jnp.ones_like))
        return (origin, Integrals(jax.tree.map(jnp.zeros_like, taken), zeros)), (unit, Integrals(taken, ones))

    def energy_unit(self, t: Scalar, origin: Any, unit: Any) -> Scalar:
        """The energy to which the tolerance of a smooth motion is relative, J: that of a body at its unit of speed.

        A body that starts at rest has hardly any energy. Its unit is its weight times its size, the energy of a fall
        through itself. 0 where impacts make the energies exact, and where a model has no scales: in SI units the
        motion may be a million times slower than the unit.

        **Arguments:** `t`, s, of the start; `origin` and `unit` of `scales`. **Returns:** J.
        """
        if isinstance(self.model, AbstractImpactModel) or type(self.model).scales is AbstractModel.scales:
            return jnp.zeros(())
        return self._energy_of(t, origin[0], unit[0])

    def _energy_of(self, t: Scalar, origin: Any, unit: Any) -> Scalar:
        """A third of the kinetic energy that all of the state's units make: they move along three axes."""
        fast = self.model.energy(t, jax.tree.map(jnp.add, origin, unit))
        return jnp.asarray(fast.get("kinetic", 0.0)) / 3

    def starts_inside(self, state):
        return self.model.starts_inside(state[0])

    def _requested_rates(self, t: Scalar, motion: Any) -> dict[str, Any]:
        if self.integrands is None:
            return {}
        asked = explain_errors("simulate: integrals", self.integrands)(self.model, t, motion)
        if not isinstance(asked, dict):
            raise CallError(f"simulate: integrals returned {describe(asked)}: return a dict of name -> rate")
        return jax.tree.map(as_float, asked)
