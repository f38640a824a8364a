"""Searches that look stuck are named, and the screen says what the summary of the Agilkia study says."""

import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Status
from difsim.status import raise_unless_ok
from inversion.outcome import Calls
from inversion.stuck import find_stuck_leaves, find_stuck_values
from inversion.tree import Node


@pytest.mark.parametrize(
    "misfit,expected",
    [
        ([9.0, 23.0, 9.0], (2.0,)),
        ([9.0, 12.0, 9.0], ()),  # within what chance does
        ([1.0, 9.0, 23.0], ()),  # a parabola
        ([1.0, 23.0, 23.0, 1.0], (2.0, 3.0)),
        ([1.0, np.inf, 1.0], (2.0,)),
        ([np.inf, np.inf, 1.0], ()),
    ],
)
def test_a_value_between_better_ones_is_stuck(misfit, expected):
    assert find_stuck_values([1.0, 2.0, 3.0, 4.0][: len(misfit)], misfit) == expected


def test_leaves_are_judged_by_the_best_at_each_value():
    rows = [
        (0.2, 0.0, 9.1),
        (0.2, 1.0, 30.0),
        (0.6, 0.0, 23.0),
        (0.6, 1.0, 40.0),
        (1.0, 0.0, 9.4),
        (1.0, 1.0, 11.0),
    ]
    leaves = [
        Node({"friction": f, "scenario": s}, misfit, misfit, 1.0, {}, None, "leaf", Calls())
        for f, s, misfit in rows
    ]
    assert find_stuck_leaves(leaves) == {"friction": (0.6,)}


def test_a_batch_says_how_its_runs_ended():
    codes = np.array([[0, 5, 0], [0, 9, 5]])
    assert Status.tally(codes) == {Status.OK: 3, Status.NO_CONTACT: 2, Status.LEFT: 1}
    with pytest.raises(RuntimeError, match=r"1 of 6 runs: LEFT: the body left the region: make the region larger"):
        raise_unless_ok(jnp.asarray(codes))
    with pytest.raises(RuntimeError, match=r"^NO_CONTACT: "):
        raise_unless_ok(jnp.asarray(5))
