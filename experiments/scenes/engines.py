"""Options of `simulate` for each engine."""

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
PARTICLE_STEPS, FRACTION = 60, 0.3  # steps of particles in each interval, of the longest stable step
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

    def options(self, scene: Any, base: Any, tolerance: Scalar, derivative: AbstractDerivative) -> Options:
        """Return the options of a run near the numbers `base` of a scene."""
        if isinstance(derivative, Unrolled):
            return {"solver": FixedSteps(EQUAL_STEPS), "derivative": derivative, "trust": Ignore()}
        solver = Adaptive(tolerance, tolerance, order=self.order, max_steps=MAX_STEPS)
        return {"solver": solver, "derivative": derivative, "until": self.until}

    def allowed_share(self, tolerance: Scalar) -> Scalar:
        """Return the share of the energy that a run may lose track of."""
        return allowed_error(tolerance, tolerance.dtype)


@dataclass(frozen=True)
class Stones(Motion):
    """Two stones, whose steps are their law's own, without a tolerance."""

    has_tolerance: ClassVar[bool] = False

    def options(self, scene, base, tolerance, derivative):
        return {"until": MaxImpacts(4)}


@dataclass(frozen=True)
class Particles(Motion):
    """Particles by equal steps, whose derivatives are those of the steps. Times of their scenes are in intervals."""

    reverse: Unrolled = UNROLLED
    has_tolerance: ClassVar[bool] = False

    def options(self, scene, base, tolerance, derivative):
        model, state, intervals = scene.build(base)
        near = _list_neighbours(scene)
        if isinstance(model, Grains):
            near = eqx.tree_at(lambda n: n.near.pairs.radius, near, model.radius)
        step = FRACTION * model.stable_time_step(initialise(model, state, listed=near).motion)
        solver = FixedSteps(PARTICLE_STEPS, neighbours=near)
        return {"solver": solver, "derivative": Unrolled(), "times": PARTICLE_STEPS * step * intervals}

    def allowed_share(self, tolerance):
        return jnp.asarray(SHARE)


@cache
def _list_neighbours(scene):
    """Return the neighbour list of a scene's middle, with room for any other. Made once, also while it is traced."""
    with jax.ensure_compile_time_eval():
        model, state, _ = scene.build(jax.tree.map(jnp.asarray, scene.middle))
        return allocate(model, state, SKIN, SLACK)
