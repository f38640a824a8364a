"""The share of the energy of which a solution has lost track."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, Status, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import AtEffectivePoint, Ball, Hooke, NormalForce, StickSlip, SurfaceContact
from difsim.dynamics import Hopper
from difsim.gravity import Uniform
from difsim.shape import Plane
from tests.helpers import approx

RADIUS = 0.1  # m


def resting_ball(gravity, stiffness):
    """A ball of 1 kg and 10 cm that rests on its spring."""
    normal = NormalForce.from_restitution(0.5, Hooke(stiffness), 1e-6, mass=1.0)
    contact = SurfaceContact(Ball(RADIUS), normal, AtEffectivePoint(StickSlip(0.5, 0.5, 1e-3)))
    floor, pull = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), jnp.stack([0.0, 0.0, -jnp.asarray(gravity)])
    body = RigidBody(1.0, 0.4 * RADIUS**2 * np.eye(3))
    model = Hopper(body, contact, floor, Uniform(pull), resolution=0.01)
    height = RADIUS - gravity / stiffness
    still = (0.0, 0.0, 0.0)
    return model, model.start(RigidState(jnp.stack([0.0, 0.0, height]), still, (1.0, 0.0, 0.0, 0.0), still))


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
