"""Grains that are left alone, or stilled, until they are at rest. On the host."""

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim.dem import Grains
from difsim.dem.state import GrainsState
from difsim.status import Status
from difsim.stepping.marching import Progress, allocate, initialise
from difsim.stepping.running import resume
from difsim.stepping.solution import failure
from difsim.stepping.solvers import Courant
from difsim.typing import Scalar

REST = 1e-6  # kinetic energy of a bed at rest over M g d; one grain of 10 000 that falls d/100 has as much
LOOK = 0.5  # time between looks over √(d/g); a grain that nothing holds falls d/8 in it
LOOKS = 1000
COURANT, MAX_STEPS = 0.7, 100_000_000
SKIN = 0.1  # of the lists: beds move little


@dataclass
class Settling:
    """A run of `model`, which comes to rest under one gravity after the other."""

    model: Grains
    progress: Progress

    @classmethod
    def from_loose(cls, grains: Grains, state: GrainsState, share: float) -> "Settling":
        """A run from a loose state, whose neighbour list has room for the pairs of the settled bed.

        Each time that a list runs out of room costs a compilation.

        **Arguments:** `grains`; `state`; `share`, the height of the settled bed over that of `state`.
        **Returns:** the run.
        """
        pressed = eqx.tree_at(lambda s: s.position, state, state.position * jnp.array([[1.0], [1.0], [share]]))
        return cls(grains, initialise(grains, state, listed=allocate(grains, pressed, skin=SKIN)))

    @property
    def state(self) -> GrainsState:
        return self.progress.motion.state

    def set_gravity(self, gravity: float) -> None:
        """Set another gravity, m/s², and start again from standstill."""
        down = jnp.array([0.0, 0.0, -gravity], self.model.gravity.dtype)
        self.model = eqx.tree_at(lambda g: g.gravity, self.model, down)
        self.progress = _stop_motion(self.model, self.progress)

    def advance(self, seconds: float) -> None:
        """Simulate for some seconds. **Raises:** RuntimeError where a step fails."""
        now = float(self.progress.motion.time)
        solver = Courant(jnp.asarray(COURANT), MAX_STEPS)
        run = resume(
            self.model, self.progress, [now, now + seconds], solver=solver, save=lambda _: (), throw=False
        )
        if run.status != Status.OK:
            raise RuntimeError(f"a bed that settles: {failure(run)}")
        self.progress = run.progress

    def rest(self, size: float, seen: Callable[[float], None]) -> None:
        """Simulate until the bed is at rest.

        Kinetic damping: all velocities are set to zero once the kinetic energy falls from one look to the next.
        While it grows, as where a grain begins to topple, the bed is left alone.

        **Arguments:** `size` d, the mean diameter, m; `seen(share)`, called at each look with the share of the orders
        of magnitude by which the kinetic energy has to fall. **Raises:** RuntimeError where the bed does not come to
        rest.
        """
        gravity = float(-self.model.gravity[2])
        before, unrest, ever = 0.0, 0.0, []
        for _ in range(LOOKS):
            self.advance(LOOK * np.sqrt(size / gravity))
            before, unrest = unrest, float(_unrest(self.model, self.state, jnp.asarray(size)))
            ever.append(unrest)
            seen(1.0 if unrest < REST else np.log(ever[0] / min(ever)) / np.log(2 * ever[0] / REST))
            if unrest < REST:
                return
            if unrest < before:
                self.progress, unrest = _stop_motion(self.model, self.progress), 0.0
        raise RuntimeError(f"a bed that settles: no rest under {gravity:.3g} m/s², but {unrest:.1e} M g d")


def _stop_motion(model: Grains, progress: Progress) -> Progress:
    """The same bed at standstill at 0 s, with the forces that are then left."""
    state = progress.motion.state
    zero = jnp.zeros_like(state.position)
    state = eqx.tree_at(lambda s: (s.velocity, s.spin), state, (zero, zero))
    motion = eqx.filter_jit(model.begin)(jnp.zeros_like(progress.motion.time), state, progress.neighbours)
    return eqx.tree_at(lambda p: p.motion, progress, motion)


@eqx.filter_jit
def _unrest(model: Grains, state: GrainsState, size: Scalar) -> Scalar:
    """The kinetic energy of translation and rotation over M |g| d."""
    energy = model.energy(jnp.zeros_like(size), state)
    return (energy["kinetic"] + energy["rotation"]) / (jnp.sum(model.mass) * -model.gravity[2] * size)
