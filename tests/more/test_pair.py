"""Two stones that collide: closed forms, conservation, several points, edges, derivatives, bad input."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import MaxImpacts, Status, simulate
from difsim.contact import Newton
from difsim.dynamics import HardPair, Pair
from tests.bodies import TIMES, boxes, cross_boxes, stone


def test_a_miss_an_overlap_and_wrong_times_are_told():
    away = cross_boxes(speed=-1.0)
    missed = simulate(boxes(), away, TIMES, throw=False)
    assert missed.status == Status.NO_CONTACT and np.isnan(missed.impacts.energy_restitution)
    with pytest.raises(RuntimeError, match="NO_CONTACT"):
        simulate(boxes(), away, TIMES)
    with pytest.raises(RuntimeError, match="INSIDE"):
        simulate(boxes(), cross_boxes(height=0.1), TIMES)
    nonfinite = eqx.tree_at(lambda s: s.first.spin, cross_boxes(), jnp.full(3, jnp.nan))
    assert simulate(boxes(), nonfinite, TIMES, throw=False).status == Status.NOT_FINITE
    with pytest.raises(ValueError, match="increase"):
        simulate(boxes(), cross_boxes(), jnp.array([0.0, 1.0, 0.5]))
    with pytest.raises(ValueError, match="count: 0 must be 1 or more"):
        simulate(boxes(), cross_boxes(), TIMES, until=MaxImpacts(0))
    with pytest.raises(ValueError, match="Pair: law: got an object Newton: give a PairLaw"):
        Pair(stone(), stone(), Newton(0.5))
    with pytest.raises(ValueError, match=r"gravity = .* must be finite"):
        Pair(stone(), stone(), boxes().law, gravity=(0.0, 0.0, np.nan))
    with pytest.raises(ValueError, match="together"):
        HardPair(Newton(0.5), together=-1.0)
