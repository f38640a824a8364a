"""Reaction wheels in a hopper, and the hop that they make."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import rotation
from difsim.body import RigidState
from difsim.dynamics import Burst, Wheeled
from difsim.stepping import FixedSteps, Sensitivities, simulate
from experiments.hopper import hop
from experiments.hopper.scenes import EDGE, cube


def test_a_burst_gives_the_wheels_their_momentum_and_takes_it():
    burst = Burst((1e-3, -2e-3, 0.0), 10.0, 0.5)
    t = np.linspace(0.0, 11.0, 110_001)
    torque = np.asarray(jax.vmap(burst.torque)(jnp.asarray(t)))
    momentum = np.cumsum(torque, axis=0) * (t[1] - t[0])
    np.testing.assert_allclose(momentum[t <= 10.0][-1], burst.momentum, atol=1e-8)
    np.testing.assert_allclose(momentum[-1], 0, atol=1e-8)
    assert np.abs(torque).max() == pytest.approx(2 * 2e-3 / 0.5, rel=1e-3)
    for bad in ({"spin_up": 0.0, "brake": 1.0}, {"spin_up": 1.0, "brake": -1.0}):
        with pytest.raises(ValueError, match="must be positive"):
            Burst((1e-3, 0.0, 0.0), **bad)


def test_wheels_turn_the_body_and_conserve_what_they_must():
    """Far above a rotating target: total angular momentum against the stars, and energy less the motors' work."""
    hopper = replace(cube(1e-4), omega=jnp.array([0.02, 0.05, -0.1]))
    body = RigidState((0.0, 0.0, 50.0), (0.0, 0.0, 0.0), (0.8, 0.36, 0.48, 0.0), (0.2, -0.1, 0.3))
    model = Wheeled(hopper, Burst((3e-3, -2e-3, 1e-3), 3.0, 1.0), wheel_inertia=1e-3)
    solution = simulate(model, model.start(hopper.start(body)), jnp.linspace(0.0, 5.0, 11), method=FixedSteps(40))
    energy = sum(np.asarray(part) for part in solution.ledger["energy"].values())
    works = np.abs(solution.states.work).max()
    assert works > 1e-4
    np.testing.assert_allclose(energy, energy[0], atol=1e-7 * works)

    def angular(state):
        b = state.hopper.body
        turn = rotation.to_matrix(b.attitude)
        inside = hopper.body.inertia @ (b.spin + turn.T @ hopper.omega) + state.momentum
        return rotation.rotate(rotation.multiply(state.hopper.target, b.attitude), inside)

    momentum = np.asarray(jax.vmap(angular)(solution.states))
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (11, 1)), atol=1e-9 * np.linalg.norm(momentum[0]))
    # Half way the wheels have some of it, and the body's own has changed by as much.
    assert np.linalg.norm(solution.states.momentum[3]) > 1e-3


def test_the_rigid_hop_pivots_about_its_edge_where_friction_holds():
    """Then ω = H/I_edge, and the centre leaves at 45 degrees."""
    sure = hop.rigid(2e-3, friction=2.0)
    assert sure["spin"] == pytest.approx(2e-3 / (hop.INERTIA + hop.MASS * EDGE**2 / 2), rel=1e-12)
    assert sure["along"] == pytest.approx(sure["up"]) and sure["up"] == pytest.approx(sure["spin"] * EDGE / 2)
    slid = hop.rigid(2e-3, friction=0.3)
    assert slid["along"] == pytest.approx(0.3 * slid["up"]) and slid["up"] > sure["up"]


def test_at_rest_the_ground_carries_the_cube():
    model, start = cube(hop.HERE), hop.at_rest()
    rate = eqx.filter_jit(model.field)(jnp.zeros(()), model.start(start)).body
    assert np.abs(rate.velocity).max() < 1e-4 * hop.HERE and np.abs(rate.spin).max() < 1e-9


@pytest.mark.slow
def test_a_hop_is_near_the_closed_form_and_its_derivative_near_differences():
    """The stop lasts 1 s, in which the cube turns: a tenth off the rigid cube that is stopped at once."""
    momenta = np.array([[0.0, 2e-3], [0.0, 4e-3], [-1e-3, 3e-3]])
    inverse = hop.problem(method=Sensitivities(1e-9, 1e-9, resolve=0.0))
    places, slopes, ok = (np.asarray(x) for x in hop.slopes(inverse, jnp.asarray(momenta)))
    assert ok.all()
    for place, momentum in zip(places[:2], momenta[:2, 1], strict=True):
        assert place[0] == pytest.approx(hop.rigid(momentum)["distance"], rel=0.15) and abs(place[1]) < 1e-6
    predict = eqx.filter_jit(inverse.predict)
    h = 1e-6
    for i, direction in enumerate(np.eye(2)):
        ends = []
        for sign in (1, -1):
            values = momenta[2] + sign * h * direction
            found, _ = predict(dict(zip(hop.GUESS, map(jnp.asarray, values), strict=True)))
            ends.append(np.asarray(found["landing"]))
        differences = (ends[0] - ends[1]) / (2 * h)
        np.testing.assert_allclose(slopes[2][:, i], differences, atol=1e-2 * np.abs(slopes[2]).max())
