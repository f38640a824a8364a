"""A bed of grains that have been poured and come to rest: made once, and kept. On the host."""

from collections.abc import Callable
from os import PathLike

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim.beds.containers import AbstractContainer
from difsim.beds.loose import LOOSE, scatter_spheres
from difsim.beds.settling import Settling
from difsim.beds.sizes import PACKS, GaussianSizes
from difsim.beds.statistics import PackingStatistics
from difsim.declarations import part, quantity, rule
from difsim.dem import AbstractGrainLaw, Grains
from difsim.dem.state import GrainsState
from difsim.saving.checkpoint import Checkpoint
from difsim.typing import Scalar

FORM = 3  # counts the ways in which beds are made and written: an older file is not read as one of this
BED = "bed"  # the name of its file
FALLS = 1.5  # of the time of a fall through the loose column, before a bed is stilled at all
LOOKS = 20  # during that fall
LESS = 10.0  # by which gravity falls at a time: a bed that is relieved springs up


class Bed(eqx.Module):
    """`grains` in their container, their `state` at rest, and the `figures` of the bed."""

    grains: Grains
    state: GrainsState
    figures: PackingStatistics


class BedSpecification(eqx.Module):
    """The specification of a bed of grains, which `bed()` makes.

    Grains begin apart at random, fall under `pour`, and come to rest. Then gravity is lowered by factors of at most
    ten to `gravity`, and each time they come to rest again. A bed is at rest if its kinetic energy is below
    1e-6 M g d after it was left alone for ½ √(d/g).
    """

    law: AbstractGrainLaw = part("law of the contacts of grains")
    sizes: GaussianSizes = part("distribution of their diameters")
    density: Scalar = quantity("kg/m³", "density of one grain", gt=0, usual=(100, 1e4), slip="g/cm³")
    container: AbstractContainer = part("container of the bed")
    depth: Scalar = quantity(
        "m", "depth of the bed at a solid fraction of 0.6, approximately", gt=0, usual=(0.01, 10), slip="cm"
    )
    gravity: Scalar = quantity(
        "m/s²", "gravity, downwards, under which the bed rests", gt=0, usual=(1e-5, 10), default=9.81
    )
    pour: Scalar = quantity(
        "m/s²", "gravity under which it is poured, `gravity` or more", gt=0, usual=(1e-5, 10), default=9.81
    )
    seed: int = eqx.field(static=True, default=0)  # of the diameters and places

    @rule("pour = {pour} m/s² must be gravity = {gravity} m/s² or more")
    def _has_pour_above_gravity(self):
        return self.pour >= self.gravity

    @rule(
        "depth = {depth} m, or the container, is less than five mean diameters: give a larger bed, or smaller grains"
    )
    def _has_room_for_grains(self):
        return jnp.minimum(2 * jnp.min(self.container.half_size), self.depth) >= 5 * self.sizes.mean

    @property
    def count(self) -> int:
        """The number of grains."""
        return round(self.sizes.count(float(self.container.area * self.depth), PACKS))

    def bed(self, cache: str | PathLike | None = None, watch: Callable[[float], None] | None = None) -> Bed:
        """The bed at rest, or as an earlier run left it in the folder `cache` (None: nothing is kept).

        A run that was interrupted goes on from its last look.

        **Arguments:** `cache`, a folder; `watch(share)`, called at each look with the share of the work that is done,
        an estimate between 0 and 1, for a progress bar. **Returns:** the bed. **Raises:** RuntimeError where it does
        not come to rest, or a step fails; ValueError where grains do not fit or the bed is too small to be measured,
        or for a damaged file.
        """
        kept = None if cache is None else Checkpoint(cache, (FORM, self))
        radius = self.sizes.radii(self.count, self.seed)
        grains = Grains(
            self.law, jnp.asarray(radius), self.density, jnp.array([0.0, 0.0, -self.gravity]), self.container.walls
        )
        gravities = self._gravities()
        rested, state = (0, None) if kept is None else _read(kept, grains)
        if state is None or rested < len(gravities):
            state = self._settle(grains, state, gravities, rested, kept, watch)
        figures = PackingStatistics.measure(
            np.asarray(state.position), radius, float(self.density), self.container
        )
        return Bed(grains, state, figures)

    def _gravities(self) -> np.ndarray:
        tens = np.log(float(self.pour / self.gravity)) / np.log(LESS)
        return np.geomspace(float(self.gravity), float(self.pour), 1 + int(np.ceil(tens - 1e-9)))[::-1]

    def _settle(self, grains, state, gravities, rested, kept, watch) -> GrainsState:
        def tell(done: float) -> None:  # of the fall, and of the rest under each gravity
            if watch is not None:
                watch(done / (1 + len(gravities)))

        if state is None:
            place = jnp.asarray(scatter_spheres(np.asarray(grains.radius), self.container, self.seed))
            run = Settling.from_loose(grains, grains.at_rest(place), LOOSE / PACKS)
            run.set_gravity(gravities[0])
            fall = FALLS * np.sqrt(2 * float(jnp.max(place[2])) / gravities[0])
            for look in range(1, LOOKS + 1):
                run.advance(fall / LOOKS)
                tell(look / LOOKS)
        else:
            run = Settling.from_loose(grains, state, 1.0)
        for stage in range(rested, len(gravities)):

            def report(share, rested=stage):
                if kept is not None:
                    kept.write_tree(BED, (np.asarray(rested), run.state))
                tell(1 + rested + share)

            run.set_gravity(gravities[stage])
            run.rest(float(self.sizes.mean), report)
            if kept is not None:
                kept.write_tree(BED, (np.asarray(stage + 1), run.state))
        return run.state


def _read(kept: Checkpoint, grains: Grains) -> tuple[int, GrainsState | None]:
    """The number of gravities under which a bed has come to rest, and its state; 0 and None of a new one."""
    if BED not in kept:
        return 0, None
    like = np.asarray(0), grains.at_rest(jnp.zeros((3, grains.radius.shape[0]), grains.radius.dtype))
    # What contacts remember is as long as the list of the last run was.
    rested, state = kept.read_tree(BED, like, grown=True)
    return int(rested), state
