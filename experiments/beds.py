"""Beds of grains in the cache folder, with a bar while they settle."""

from difsim.beds import BedSpecification
from difsim.beds.settling import Settling
from difsim.beds.specification import Bed
from difsim.dem import Grains
from difsim.dem.state import GrainsState
from difsim.session import CACHE
from inversion.progress import Bar

BEDS = CACHE / "beds"  # the folder of beds that were poured


def settle(made: BedSpecification) -> Bed:
    """The bed at rest, made or from the cache.

    **Arguments:** `made`, its specification. **Returns:** the bed.
    """
    with Bar(f"{made.count} grains of {100 * float(made.sizes.mean):g} cm settle", 1.0) as bar:
        return made.bed(BEDS, bar.reach)


def relax(grains: Grains, state: GrainsState, gravity: float, pause: float, times: int) -> GrainsState:
    """A bed whose grains have changed, stopped and let go again and again.

    **Arguments:** `grains`, as they are now; `state`, at rest before; `gravity`, m/s²; `pause` between, s; `times`,
    how often. **Returns:** the state.
    """
    run = Settling.from_loose(grains, state, 1.0)
    for _ in range(times):
        run.set_gravity(gravity)
        run.advance(pause)
    return run.state
