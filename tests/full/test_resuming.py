"""Results that are kept in files: damaged and crafted ones are refused wherever they are looked for."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import difsim
from difsim import FixedSteps, allocate
from difsim.dem import Grains
from tests.helpers import to_single
from tests.more.test_resuming import HIGH, LAW, TEN, TIMES, TWO


def test_a_run_whose_list_got_more_room_resumes_to_the_same_bits(tmp_path):
    """Arrays of the list, what contacts remember, and the list's grid are no longer those of the run's start."""
    place = np.stack(np.meshgrid(np.arange(4), np.arange(3), np.arange(2), indexing="ij")).reshape(3, -1) * 0.05
    place = jnp.asarray(place + 0.01 * np.random.default_rng(0).uniform(size=place.shape))
    model = Grains(LAW, np.full(place.shape[1], 0.01), 1000.0)
    inwards = -3.0 * (place - place.mean(axis=1)[:, None])
    state = eqx.tree_at(lambda s: s.velocity, model.at_rest(place), inwards)

    def run(**more):
        solver = FixedSteps(300, neighbours=allocate(model, state, slack=1.0, skin=0.1))
        return difsim.run(model, state, np.linspace(0.0, 0.24, 9), solver=solver, **more)

    def stop(time):
        if 0.2 < time < 0.22:
            raise KeyboardInterrupt

    whole, seen = run(), []
    with pytest.raises(KeyboardInterrupt):
        run(checkpoint=tmp_path, watch=stop)
    resumed = run(checkpoint=tmp_path, watch=seen.append)
    assert seen == [0.24] and resumed.stats.lists == whole.stats.lists == 2
    grid = resumed.progress.neighbours.pairs.near.cells
    assert grid == whole.progress.neighbours.pairs.near.cells != allocate(model, state).near.pairs.near.cells
    jax.tree.map(np.testing.assert_array_equal, resumed.states, whole.states)
    jax.tree.map(np.testing.assert_array_equal, resumed.progress, whole.progress)


def test_single_precision_run_resumes_to_the_same_bits_and_types(tmp_path):
    """Numbers of a list are weakly typed: as float64 they would make what they meet float64."""
    model, state = to_single(TWO), to_single(HIGH)
    whole = difsim.run(model, state, TIMES, solver=TEN)
    with pytest.raises(ZeroDivisionError):
        difsim.run(model, state, TIMES, solver=TEN, checkpoint=tmp_path, watch=lambda t: 1 / (t < 0.001))
    resumed = difsim.run(model, state, TIMES, solver=TEN, checkpoint=tmp_path)
    assert resumed.states.position.dtype == np.float32 and resumed.times.size == 3
    jax.tree.map(np.testing.assert_array_equal, resumed.states, whole.states)
    types = [[(x.dtype, x.weak_type) for x in jax.tree.leaves(r.progress)] for r in (resumed, whole)]
    assert types[0] == types[1]
