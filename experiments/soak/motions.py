"""Scenes that are ordinary differential equations, with impacts or without."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from difsim import Adaptive, FixedSteps, Forward, Ignore, Reverse, Unrolled, simulate
from difsim.dynamics import AbstractModel
from difsim.stepping.energy import allowed_error
from difsim.stepping.integrals import Integrands
from difsim.stepping.stops import AbstractStop
from difsim.stepping.trust import Refuse
from experiments.soak.kinds import (
    REVERSE,
    UNROLLED,
    Kind,
    Numbers,
    Told,
    all_finite,
    drift_of,
    energy_account,
)

SAVED = 5  # times of a scene
STEPS = 300  # equal steps in each interval, where a derivative is taken through such
MOST = 200_000  # adaptive steps: springs along the surface take tens of thousands

Scene = tuple[AbstractModel, Any, Float[Array, " T"]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Motion(Kind):
    """A kind of motion.

    **Arguments:** `build`, the model, its state at the start and the times, from the numbers; `watch`, the part of a
    state that is compared: no phase of contact, which is not a number; `until`, what makes the rule; `order` of the
    steps; `integrals`; `drives`, the losses that may be gains; `conserved`, of (model, solution), vectors [T, 3] that
    stay, each with its size.
    """

    build: Callable[[Numbers], Scene]
    watch: Callable[[Any], Any] = lambda state: state
    until: Callable[[], AbstractStop] | None = None
    order: int = 5
    integrals: Integrands | None = None
    drives: tuple[str, ...] = ()
    conserved: Callable[[AbstractModel, Any], list[tuple[Array, Array]]] = lambda model, solution: []

    def prepare(self, numbers):
        return _scales(self, numbers)

    def end(self, numbers, prepared, tolerance, mode):
        model, state, times = self.build(numbers)
        solution = simulate(
            model,
            state,
            times,
            **self._way(tolerance, mode),
            integrals=self.integrals,
            throw=False,
            trust=Ignore() if mode == UNROLLED else Refuse(),
        )
        origin, unit = prepared
        watched = jax.tree.map(lambda x, o, u: (x - o) / u, solution.last, origin, unit)
        energy, gain = energy_account(
            solution.energy, {*model.energy(times[0], state), *self.drives}, unit_dtype(watched)
        )
        return ravel_pytree(self.watch(watched))[0], jax.lax.stop_gradient(
            Told(
                status=solution.status,
                finite=all_finite((solution.states, solution.energy)),
                energy=energy,
                allowed=allowed_error(tolerance, unit_dtype(watched)),
                gain=gain,
                drift=drift_of(self.conserved(model, solution)),
                contacts=jnp.asarray(solution.stats.contacts),
                error=solution.validity.error,
            )
        )

    def _way(self, tolerance, mode):
        if mode == UNROLLED:
            return {"solver": FixedSteps(STEPS), "derivative": Unrolled()}
        solver = Adaptive(tolerance, tolerance, order=self.order, max_steps=MOST)
        return {
            "solver": solver,
            "derivative": Reverse() if mode == REVERSE else Forward(),
            "until": self.until and self.until(),
        }


@eqx.filter_jit
def _scales(kind: Motion, numbers: Numbers) -> Any:
    """Origin and unit of each number of the state."""
    model, state, times = kind.build(numbers)
    origin, unit = model.scales(times[0], state)
    spread = lambda of: jax.tree.map(lambda x, value: jnp.broadcast_to(value, jnp.shape(x)), state, of)  # noqa: E731
    return spread(origin), spread(unit)


def unit_dtype(tree: Any) -> jnp.dtype:
    """The precision of a state."""
    return jax.tree.leaves(tree)[0].dtype


def until_time(end: Array) -> Float[Array, " T"]:
    """The saved times of a scene that ends at `end` s."""
    return jnp.linspace(0.0, 1.0, SAVED) * end
