"""Options of the solver for each sort of model, and where its runs start."""

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim import Adaptive, FixedSteps, Ignore, MaxImpacts, Reverse, Unrolled, allocate
from difsim.dem import Grains
from difsim.stepping.derivatives import AbstractDerivative
from difsim.stepping.energy import allowed_error
from difsim.stepping.marching import initialise
from difsim.stepping.particles import SHARE
from difsim.stepping.stops import AbstractStop
from difsim.typing import Scalar

Options = dict[str, Any]  # keyword arguments of `simulate`

MAX_STEPS = 200_000  # adaptive steps: springs along the surface take tens of thousands
EQUAL_STEPS = 300  # in each interval of the saved times, where a derivative is taken through such
UNROLLED = Unrolled()
SKIN, SLACK = 0.3, 8.0  # of neighbour lists, which get no more room inside `jit`


@dataclass(frozen=True)
class Motion:
    """Ordinary differential equations with or without impacts, by adaptive steps.

    **Arguments:** `tolerance`, relative and absolute; `order` of the steps; `until`, the stopping rule; `reverse`, the
    derivative in reverse mode that is checked: the longest to compile, so not of every scene; `has_derivative`: a law
    that jumps has none.
    """

    tolerance: float = 1e-8
    order: int = 5
    until: AbstractStop | None = None
    reverse: Reverse | Unrolled | None = None
    has_derivative: bool = True
    has_tolerance: ClassVar[bool] = True

    def options(self, tolerance: Scalar, derivative: AbstractDerivative) -> Options:
        """Return the keyword arguments of `simulate`."""
        if isinstance(derivative, Unrolled):
            return {"solver": FixedSteps(EQUAL_STEPS), "derivative": derivative, "trust": Ignore()}
        solver = Adaptive(tolerance, tolerance, order=self.order, max_steps=MAX_STEPS)
        return {"solver": solver, "derivative": derivative, "until": self.until}

    def allowed_share(self, tolerance: Scalar) -> Scalar:
        """Return the share of the energy that a run may lose track of."""
        return allowed_error(tolerance, tolerance.dtype)

    def make_room(self, scene: Any) -> Any:
        """Return what is allocated once for all runs of a scene, on the host: nothing."""

    def prepare(self, model: Any, state: Any, room: Any) -> Any:
        """Return what a run needs besides its numbers, and what no derivative sees: nothing."""

    def complete(self, options: Options, times: Any, prepared: Any) -> tuple[Options, Any]:
        """Return the options and the times with what was prepared."""
        return options, times


@dataclass(frozen=True)
class Collision(Motion):
    """Two stones, whose steps are their law's own, without a tolerance."""

    has_tolerance: ClassVar[bool] = False

    def options(self, tolerance, derivative):
        return {"until": MaxImpacts(4)}


@dataclass(frozen=True)
class Particles(Motion):
    """Particles by equal steps, whose derivatives are those of the steps.

    **Arguments:** `steps` in each interval; `fraction` of the longest stable step.
    """

    reverse: Unrolled = UNROLLED
    steps: int = 60
    fraction: float = 0.3
    has_tolerance: ClassVar[bool] = False

    def options(self, tolerance, derivative):
        return {"solver": FixedSteps(self.steps), "derivative": Unrolled()}

    def allowed_share(self, tolerance):
        return jnp.asarray(SHARE)

    def make_room(self, scene):
        """Return the neighbour list of the scene's middle, with room for any other."""
        return _make_room(scene)

    def prepare(self, model, state, room):
        """Return the neighbour list and the time of an interval."""
        if isinstance(model, Grains):
            room = eqx.tree_at(lambda n: n.near.pairs.radius, room, model.radius)
        motion = initialise(model, state, listed=room).motion
        return room, self.steps * self.fraction * model.stable_time_step(motion)

    def complete(self, options, times, prepared):
        room, interval = prepared
        return options | {"solver": FixedSteps(self.steps, neighbours=room)}, times * interval


@cache
def _make_room(scene):
    model, state, _ = scene.build(jax.tree.map(jnp.asarray, scene.middle))
    return allocate(model, state, SKIN, SLACK)
