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
from difsim.stepping.energy import allowed_error, energy_error
from tests.helpers import approx

RADIUS = 0.1  # m

F64, F32 = jnp.dtype(jnp.float64), jnp.dtype(jnp.float32)


def error(dtype=F64, unit=0.0, **parts) -> float:
    return float(
        energy_error({name: jnp.asarray(part, dtype) for name, part in parts.items()}, jnp.asarray(unit), dtype)
    )


@pytest.mark.parametrize("level", [0.0, -0.333, 1e3])
def test_the_zero_of_a_potential_counts_for_nothing(level):
    """A hop of 1 cm/s in 67P's field, which loses three fifths of its energy to nobody."""
    assert error(kinetic=[5e-5, 2e-5], potential=[level, level]) == approx(0.6, rel=1e-6)
    assert error(kinetic=[5e-5, 2e-5, 5e-5], potential=[level, level + 3e-5, level]) == approx(0.0, abs=1e-6)


def test_what_is_lost_to_an_account_is_there():
    assert error(kinetic=[2.0, 0.5], impacts=[0.0, 1.5]) == 0
    assert error(kinetic=[2.0, 0.5], impacts=[0.0, 1.4]) == approx(0.1 / 2.0)
    assert error(kinetic=[0.0, 0.0]) == 0 and np.isnan(error())  # NaN: no account at all


def test_roundings_of_large_parts_are_no_drift():
    """In float32 a potential of 0.333 J is known to some 1e-8 J."""
    assert error(F32, kinetic=[5e-5, 5e-5], potential=[-0.333, -0.333 + 3e-7]) == 0
    assert error(F64, kinetic=[5e-5, 5e-5], potential=[-0.333, -0.333 + 3e-7]) == approx(6e-3, rel=0.01)


def test_what_is_allowed_follows_tolerance_and_precision():
    assert float(allowed_error(1e-8, F64)) == approx(1e-4)
    assert float(allowed_error(1e-4, F64)) == approx(1e-2)
    assert float(allowed_error(1e-8, F32)) == approx(1.2e-3, rel=0.01)


def test_the_unit_is_energy_that_is_there():
    assert error(unit=1.0, kinetic=[0.0, 0.0], elastic=[3e-4, 2e-4]) == approx(1e-4)
    assert error(unit=1.0, kinetic=[2.0, 1.9]) == approx(0.05)


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


class HalfCounted(Hopper):
    """A hopper whose contact loses twice the energy that it owns up to."""

    def rates(self, t, state):
        rate, power = super().rates(t, state)
        return rate, {name: part / 2 for name, part in power.items()}


@pytest.mark.parametrize("drop", [1e-3, 1.0])
def test_a_force_without_an_account_is_found_at_any_height(drop):
    """From a hundredth of the body's size, whose fall has a hundredth of its unit of energy, as from ten sizes."""
    right, state = resting_ball(9.81, 1.4e5)
    state = eqx.tree_at(lambda s: s.body.position, state, jnp.stack([0.0, 0.0, RADIUS + jnp.asarray(drop)]))
    wrong = HalfCounted(right.body, right.contact, right.surface, right.gravity, resolution=0.01)
    found = bounce(wrong, state)
    assert found.status == Status.ENERGY
    assert bounce(right, state).status == Status.OK


@eqx.filter_jit
def bounce(model, state):
    return simulate(
        model, state, jnp.array([0.0, 0.6]), solver=Adaptive(1e-8, 1e-8, max_steps=100_000), throw=False
    )
