"""A Philae-like touchdown: its energies and momenta, and every output's derivative by every unknown."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from difsim import Adaptive, Status, simulate
from tests.core.test_touchdown import (
    TIMES,
    default,  # noqa: F401  # a fixture
)
from tests.philae import NAMES, P0, build


@pytest.fixture(scope="module")
def put_numbers_in():
    """The touchdown with numbers put into a model that was right, inside jit, where no value is known."""
    places = lambda m: (m.regolith.porosity, m.boulder.edge_point, m.boulder.radius, m.lander.feet)  # noqa: E731

    @jax.jit
    def find(porosity, height, radius, spread):
        model, state = build(P0)
        edge, feet = model.boulder.edge_point.at[2].set(height), model.lander.feet.at[:, :2].multiply(spread)
        model = eqx.tree_at(places, model, (porosity, edge, radius, feet))
        solution = simulate(model, state, TIMES[:2], solver=Adaptive(1e-6, 1e-6), throw=False)
        return solution.status, solution.ok, solution.values_are_valid

    return find


RIGHT = {"porosity": 0.75, "height": 0.2, "radius": 0.2, "spread": 1.0}


@pytest.mark.parametrize(
    "change",
    [{"porosity": 1.0}, {"porosity": 0.0}, {"height": -0.2}, {"height": 0.0}, {"radius": 0.0}, {"spread": 0.0}],
)
def test_an_impossible_touchdown_is_a_status_inside_jit(put_numbers_in, change):
    assert put_numbers_in(**RIGHT)[0] == Status.OK
    status, ok, values_are_valid = put_numbers_in(**RIGHT | change)
    assert status == Status.INVALID_MODEL and not ok and not values_are_valid


def test_nan_is_never_ok(default):
    for i in range(5):
        assert default(P0.at[i].set(jnp.nan), jnp.array(0.02)).status != Status.OK, NAMES[i]
    assert default(P0.at[9].set(jnp.nan), jnp.array(0.02)).status == Status.INVALID_MODEL, "a boulder nowhere"
