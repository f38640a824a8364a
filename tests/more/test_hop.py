"""Reaction wheels in a hopper, and the hop that they make."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import FixedSteps, simulate
from difsim.body import RigidState
from difsim.dynamics import Steady, TorqueProfile, Wheeled
from experiments.hopper import hop
from experiments.hopper.scenes import EDGE, cube


def test_a_burst_gives_the_wheels_their_momentum_and_takes_it():
    torque_profile = TorqueProfile((1e-3, -2e-3, 0.0), 10.0, 0.5)
    t = np.linspace(0.0, 11.0, 110_001)
    torque = np.asarray(jax.vmap(torque_profile.torque)(jnp.asarray(t)))
    momentum = np.cumsum(torque, axis=0) * (t[1] - t[0])
    np.testing.assert_allclose(momentum[t <= 10.0][-1], torque_profile.momentum, atol=1e-8)
    np.testing.assert_allclose(momentum[-1], 0, atol=1e-8)
    assert np.abs(torque).max() == pytest.approx(2 * 2e-3 / 0.5, rel=1e-3)


def test_wheels_turn_the_body_and_conserve_what_they_must():
    """Far above a rotating target: total angular momentum against the stars, and energy less the motors' work."""
    hopper = replace(cube(1e-4), frame=Steady((0.02, 0.05, -0.1)))
    body = RigidState((0.0, 0.0, 50.0), (0.0, 0.0, 0.0), (0.8, 0.36, 0.48, 0.0), (0.2, -0.1, 0.3))
    model = Wheeled(hopper, TorqueProfile((3e-3, -2e-3, 1e-3), 3.0, 1.0), wheel_inertia=1e-3)
    solution = simulate(model, model.start(hopper.start(body)), jnp.linspace(0.0, 5.0, 11), solver=FixedSteps(40))
    energy = sum(np.asarray(part) for part in solution.energy.values())
    works = np.abs(solution.energy["motors"]).max()
    assert works > 1e-4
    np.testing.assert_allclose(energy, energy[0], atol=1e-7 * works)

    def angular(t, state):
        b = state.hopper.body
        turn = b.rotation.as_matrix()
        inside = hopper.body.inertia @ (b.spin + turn.T @ hopper.frame.omega) + state.momentum
        return (hopper.frame.at(t).attitude @ b.rotation) @ inside

    momentum = np.asarray(jax.vmap(angular)(solution.times, solution.states))
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (11, 1)), atol=1e-9 * np.linalg.norm(momentum[0]))
    # Half way the wheels have some of it, and the body's own has changed by as much.
    assert np.linalg.norm(solution.states.momentum[3]) > 1e-3


def test_rigid_hop_pivots_about_its_edge_without_slip():
    """Then ω = H/I_edge, and the centre leaves at 45 degrees."""
    sure = hop.rigid(2e-3, friction=2.0)
    assert sure["spin"] == pytest.approx(2e-3 / (hop.INERTIA + hop.MASS * EDGE**2 / 2), rel=1e-12)
    assert sure["along"] == pytest.approx(sure["up"]) and sure["up"] == pytest.approx(sure["spin"] * EDGE / 2)
    slid = hop.rigid(2e-3, friction=0.3)
    assert slid["along"] == pytest.approx(0.3 * slid["up"]) and slid["up"] > sure["up"]


def test_at_rest_the_ground_carries_the_cube():
    model, start = cube(hop.HERE), hop.rest_state()
    rate = eqx.filter_jit(model.vector_field)(jnp.zeros(()), model.start(start)).body
    assert np.abs(rate.velocity).max() < 1e-4 * hop.HERE and np.abs(rate.spin).max() < 1e-9
