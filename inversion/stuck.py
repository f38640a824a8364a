"""Searches that look stuck: values of one parameter between better ones, where the model has no reason for it."""

from collections.abc import Sequence

import numpy as np

from .branch import Node
from .profile_likelihood import THRESHOLD


def find_stuck_values(
    values: Sequence[float], misfit: Sequence[float] | np.ndarray, threshold: float = THRESHOLD
) -> tuple[float, ...]:
    """The values whose misfit lies above both of the nearest better ones by more than `threshold`.

    A search at such a value most likely ended in a local minimum: the solution of a neighbour, moved by one step,
    would fit better. It may be a ridge of the model as well, so that this is a reason to search again, no proof.

    **Arguments:** `values` of one parameter, ascending; `misfit` at each, infinite where no simulation is valid;
    `threshold` of the misfit. **Returns:** the suspicious ones among `values`.
    """
    misfit = np.asarray(misfit, float)
    below = np.minimum.accumulate(misfit)  # the least on each side, not the neighbour alone: two may be stuck
    above = np.minimum.accumulate(misfit[::-1])[::-1]
    inside = range(1, len(misfit) - 1)
    return tuple(values[i] for i in inside if misfit[i] > max(below[i - 1], above[i + 1]) + threshold)


def find_stuck_leaves(leaves: Sequence[Node]) -> dict[str, tuple[float, ...]]:
    """`find_stuck_values` of each Discrete parameter of a tree, by the best leaf at each of its values.

    **Arguments:** `leaves`, all of them (`enumerate_leaves`). **Returns:** name -> suspicious
    values, for the parameters that have any.
    """
    found = {}
    for name in leaves[0].assignment:
        values = sorted({leaf.assignment[name] for leaf in leaves})
        least = [min(leaf.misfit for leaf in leaves if leaf.assignment[name] == value) for value in values]
        if stuck := find_stuck_values(values, least):
            found[name] = stuck
    return found
