"""Attitudes that are none: refused by name, value and remedy, and a status where nothing can be refused."""

from functools import cache

import jax
import jax.numpy as jnp
import pytest

from difsim import Status, simulate
from difsim.body import RigidState
from difsim.dynamics import PairState
from tests.bodies import TIMES, boxes

NONE = [(2.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (1.0, 0.1, 0.0, 0.0), (1.002, 0.0, 0.0, 0.0)]


@cache
def status(run, model, times):
    """The status of a run as a function of its start: one program for all of them."""
    return jax.jit(lambda start: run(model(), start, jnp.asarray(times), throw=False).status)


@pytest.mark.parametrize("q", NONE[:2])
def test_a_collision_refuses_it_and_in_jit_it_is_a_status(q):
    """Two stones met elsewhere, with the status OK."""
    first = RigidState((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    second = RigidState((0.0, 0.0, 3.0), (0.0, 0.0, -1.0), q, (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match=r"^RigidState: attitude = .* has the length .* no unit quaternion"):
        simulate(boxes(), PairState(first, second), TIMES, throw=False)
    met = status(simulate, boxes, tuple(TIMES.tolist()))
    assert met(PairState(first, second)) == Status.INVALID_STATE
    assert met(PairState(first, first)) != Status.INVALID_STATE
