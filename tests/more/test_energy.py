"""The share of the energy of which a solution has lost track."""

import equinox as eqx
import jax.numpy as jnp
import pytest

from difsim import Adaptive, Status, simulate
from tests.core.test_energy import RADIUS, resting_ball
from tests.helpers import approx


@eqx.filter_jit
def rest(gravity, stiffness, until):
    model, state = resting_ball(gravity, stiffness)
    solver = Adaptive(1e-8, 1e-8, max_steps=100_000)
    return simulate(model, state, jnp.stack([0.0, until]), solver=solver, throw=False)


@pytest.mark.parametrize(
    ("gravity", "stiffness", "until"), [(9.81, 1.4e5, 100.0), (1e-4, 14.0, 1e4)], ids=["1 g", "1e-4 m/s2"]
)
def test_a_body_that_rests_on_its_spring_keeps_its_energy(gravity, stiffness, until):
    """Its spring stores m²g²/(2 k), 3.4e-4 J on Earth, and a fall through its own size would make 1 J.

    It ended as ENERGY, with 3e-4 and 8e-4 of what is stored, and in the right place.
    """
    found = rest(*(jnp.asarray(x) for x in (gravity, stiffness, until)))
    assert found.status == Status.OK
    assert found.last.body.position[2] == approx(RADIUS - gravity / stiffness, abs=1e-8)  # the solver's tolerance
    assert found.energy["elastic"][0] == approx(gravity**2 / (2 * stiffness), rel=1e-3)
    assert float(found.energy_error) < 1e-7
