"""Beds of grains in the cache folder, with a bar while they settle."""

from difsim.beds import BedSpecification
from difsim.beds.specification import Bed
from difsim.session import CACHE
from inversion.progress import Bar


def settle(made: BedSpecification) -> Bed:
    """The bed at rest, made or from the cache.

    **Arguments:** `made`, its specification. **Returns:** the bed.
    """
    with Bar(f"{made.count} grains of {100 * float(made.sizes.mean):g} cm settle", 1.0) as bar:
        return made.bed(CACHE / "beds", bar.reach)
