"""Attitudes that are none: refused by name, value and remedy, and a status where nothing can be refused."""

from functools import cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from difsim import AtRest, Status, simulate
from tests.core.test_attitude import NONE, hopper
from tests.hoppers import state

UNTIL_REST = partial(simulate, until=AtRest())


@cache
def status(run, model, times):
    """The status of a run as a function of its start: one program for all of them."""
    return jax.jit(lambda start: run(model(), start, jnp.asarray(times), throw=False).status)


@pytest.mark.parametrize("q", NONE[:2])
def test_a_solve_refuses_it_and_in_jit_it_is_a_status(q):
    model, times = hopper(), (0.0, 1e-3)
    good = model.start(state((0.0, 0.0, 1.0)))
    bad = eqx.tree_at(lambda s: s.body.attitude, good, jnp.asarray(q))
    for run in (simulate, UNTIL_REST):
        with pytest.raises(ValueError, match=r"^RigidState: attitude = .* has the length .* no unit quaternion"):
            run(model, bad, jnp.array(times), throw=False)
        found = status(run, hopper, times)
        assert found(bad) == Status.INVALID_STATE
        assert found(good) != Status.INVALID_STATE
