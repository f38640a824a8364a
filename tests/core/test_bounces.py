"""Hard impacts of a point: their statuses, and states between them. experiments/scenes has their closed forms."""

import jax.numpy as jnp
import pytest

from difsim import Status, simulate
from difsim.dynamics import Bouncer, PointState
from difsim.gravity import Uniform
from difsim.shape import Plane
from tests.helpers import approx
from tests.ways import impacts

G = 9.81


def ball(e, friction=0.0) -> Bouncer:
    return Bouncer(Uniform(jnp.array([0.0, 0.0, -G])), Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), e, friction)


def drop_above(h):
    return PointState(jnp.stack([0.0 * h, 0.0 * h, h]))


def drop(h, e, time, throw=True):
    """With room for two impacts each time: one program. A NaN takes all the steps, so they are few."""
    way = impacts(2, max_steps=1000)
    return simulate(ball(e), drop_above(h), jnp.array([0.0, time]), **way, throw=throw)


def test_too_many_impacts_are_a_status():
    fall = jnp.array(1.2), jnp.array(0.5), 3.0
    with pytest.raises(RuntimeError, match="IMPACT_LIMIT"):
        drop(*fall)
    solution = drop(*fall, throw=False)
    assert solution.status == Status.IMPACT_LIMIT and not solution.ok


def test_nan_is_never_ok():
    assert not drop(jnp.array(jnp.nan), jnp.array(0.8), 0.8, throw=False).ok
    with pytest.raises(RuntimeError, match="NOT_FINITE"):
        drop(jnp.array(jnp.nan), jnp.array(0.8), 0.8)


def test_before_an_impact_is_a_free_fall():
    assert drop(jnp.array(1.2), jnp.array(0.8), 0.3).states.position[-1, 2] == approx(
        1.2 - 0.5 * G * 0.09, abs=1e-9
    )
