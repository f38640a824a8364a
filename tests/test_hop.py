"""Reaction wheels in a hopper, and the hop that they make."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, FixedSteps, simulate
from difsim.body import RigidState
from difsim.dynamics import TorqueProfile, Wheeled
from difsim.rotation import Rotation
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
    for bad in ({"spin_up": 0.0, "brake": 1.0}, {"spin_up": 1.0, "brake": -1.0}):
        with pytest.raises(ValueError, match="must be positive"):
            TorqueProfile((1e-3, 0.0, 0.0), **bad)


def test_wheels_turn_the_body_and_conserve_what_they_must():
    """Far above a rotating target: total angular momentum against the stars, and energy less the motors' work."""
    hopper = replace(cube(1e-4), omega=jnp.array([0.02, 0.05, -0.1]))
    body = RigidState((0.0, 0.0, 50.0), (0.0, 0.0, 0.0), (0.8, 0.36, 0.48, 0.0), (0.2, -0.1, 0.3))
    model = Wheeled(hopper, TorqueProfile((3e-3, -2e-3, 1e-3), 3.0, 1.0), wheel_inertia=1e-3)
    solution = simulate(model, model.start(hopper.start(body)), jnp.linspace(0.0, 5.0, 11), solver=FixedSteps(40))
    energy = sum(np.asarray(part) for part in solution.energy.values())
    works = np.abs(solution.energy["motors"]).max()
    assert works > 1e-4
    np.testing.assert_allclose(energy, energy[0], atol=1e-7 * works)

    def angular(state):
        b = state.hopper.body
        turn = b.rotation.as_matrix()
        inside = hopper.body.inertia @ (b.spin + turn.T @ hopper.omega) + state.momentum
        return (Rotation(state.hopper.target) @ b.rotation) @ inside

    momentum = np.asarray(jax.vmap(angular)(solution.states))
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
    model, start = cube(hop.HERE), hop.at_rest()
    rate = eqx.filter_jit(model.vector_field)(jnp.zeros(()), model.start(start)).body
    assert np.abs(rate.velocity).max() < 1e-4 * hop.HERE and np.abs(rate.spin).max() < 1e-9


@pytest.mark.slow
def test_hop_and_its_derivative_agree_with_the_closed_form():
    """The stop lasts 1 s, in which the cube turns: a tenth off the rigid cube that is stopped at once.

    A mirrored throw lands mirrored. Straight over the edge two corners touch at once, so the range, which is even
    in the momentum aside, has a kink there: its derivative is that of one side, and central differences give 0.
    """
    momenta = np.array([[0.0, 2e-3], [2e-5, 2e-3], [-2e-5, 2e-3], [-1e-3, 3e-3], [0.0, 4e-3]])
    inverse = hop.problem(solver=Adaptive(1e-10, 1e-10, resolve=0.0))
    places, slopes, ok = hop.slopes(inverse, momenta)
    assert ok.all()
    for i in (0, 4):
        closed = hop.rigid(momenta[i, 1])["distance"]
        assert places[i, 0] == pytest.approx(closed, rel=0.15) and abs(places[i, 1]) < 1e-6
    size = np.abs(slopes[0]).max()
    np.testing.assert_allclose(slopes[1], [[-1, 1], [1, -1]] * slopes[2], atol=1e-5 * size)
    assert abs(slopes[0][0, 0]) > 0.03 * size  # the kink
    h = 1e-6
    around = momenta[[1, 3]][:, None] + np.array([[h, 0], [-h, 0], [0, h], [0, -h]])
    values = eqx.filter_jit(lambda all_: jax.lax.map(lambda m: hop_to(inverse, m), all_))
    ends = np.asarray(values(jnp.asarray(around.reshape(-1, 2)))).reshape(2, 4, 2)
    differences = np.stack([ends[:, 0] - ends[:, 1], ends[:, 2] - ends[:, 3]], axis=-1) / (2 * h)
    for i, found in zip((1, 3), differences, strict=True):
        np.testing.assert_allclose(slopes[i], found, atol=5e-4 * np.abs(slopes[i]).max())


@pytest.mark.slow
def test_the_derivative_of_a_hop_falls_with_the_tolerance():
    momentum = np.array([[-1e-3, 3e-3]])
    strict, *rest = (
        hop.slopes(hop.problem(solver=Adaptive(t, t, resolve=0.0)), momentum)[1] for t in (1e-11, 1e-7, 1e-9)
    )
    coarse, fine = (np.abs(x - strict).max() / np.abs(strict).max() for x in rest)
    assert fine < 1e-6 and fine < coarse / 10


def hop_to(inverse, momentum):
    """Where a hop lands [2] m."""
    found, _ = inverse.predict(dict(zip(hop.GUESS, momentum, strict=True)))
    return found["landing"]
