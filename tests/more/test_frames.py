"""Flights and rotations in frames that do not rotate steadily, against inertial axes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, contact, simulate
from difsim.body import RigidBody, RigidState
from difsim.dynamics import Flight, FlightState, Hopper, InertialFlight, Kepler, Libration, Primary, tumble
from difsim.gravity import Mascons, PointMass
from difsim.sensors import Gyro
from difsim.shape import Sphere
from tests.core.test_frames import INERTIA, LIBRATION, ORIGIN
from tests.helpers import check_gradients
from tests.hoppers import ball, friction_law, normal

FRAMES = {
    "libration": lambda: LIBRATION,
    "tumbling": lambda: tumble(INERTIA, (0.05, 0.12, 0.3), jnp.linspace(0.0, 40.0, 161)),
}
LOBES = Mascons([3.0, 1.5], [[0.2, 0.1, 0.0], [-0.5, 0.1, 0.2]])
PRIMARY = Primary(PointMass(18.0, ORIGIN), Kepler(12.0, 60.0, 0.3, 0.5, 0.4, 1.0, -0.7))


@pytest.mark.parametrize("primary", [None, PRIMARY], ids=["alone", "with a primary"])
@pytest.mark.parametrize("name", ["libration", "tumbling"])
def test_flight_is_the_inertial_one_and_its_energy_closes(name, primary):
    body = Flight(LOBES, FRAMES[name](), Sphere(ORIGIN, 0.1), primary=primary)
    start, times = FlightState((2.0, 0.3, -0.4), (0.1, 0.9, 0.5)), jnp.linspace(0.0, 30.0, 7)
    fine = Adaptive(1e-12, 1e-12, order=8)
    turning = simulate(body, start, times, solver=fine)
    inertial = InertialFlight(body)
    fixed = simulate(inertial, inertial.from_body(times[0], start), times, solver=fine)
    seen = jax.vmap(inertial.to_body)(times, fixed.states)
    np.testing.assert_allclose(seen.position, turning.states.position, atol=2e-9)
    for solution in (turning, fixed):
        energy = {key: np.asarray(part) for key, part in solution.energy.items()}
        assert np.ptp(energy["frame"]) > 1e-3 and (primary is None or np.ptp(energy["tide"]) > 1e-5)
        np.testing.assert_allclose(sum(energy.values()), sum(energy.values())[0], atol=1e-9)


def test_free_top_keeps_its_momentum_in_a_frame_that_librates():
    body = RigidBody(2.0, np.diag([0.05, 0.07, 0.09]))
    made = ball(normal("linear", 0.5, 1e-4), friction_law("each point", 0.6, 1e-3))
    model = Hopper(
        body, made.contact, Sphere((0.0, 0.0, -90.0), 1.0), PointMass(0.0, ORIGIN), LIBRATION, primary=None
    )
    start = model.start(RigidState((1.0, 0.5, 0.2), (0.3, -0.1, 0.2), (1.0, 0.0, 0.0, 0.0), (0.4, 1.1, -0.6)))
    times = jnp.linspace(0.0, 6.0, 4)
    solution = simulate(model, start, times, solver=Adaptive(1e-11, 1e-11, order=8))

    def momentum(t, state):
        motion, turn = LIBRATION.at(t), state.body.rotation
        return (motion.attitude @ turn) @ (body.inertia @ (state.body.spin + turn.inverse @ motion.spin))

    kept = np.asarray(jax.vmap(momentum)(times, solution.states))
    np.testing.assert_allclose(kept, np.tile(kept[0], (4, 1)), atol=1e-9)
    energy = sum(np.asarray(part) for part in solution.energy.values())
    np.testing.assert_allclose(energy, energy[0], atol=1e-9)


def test_derivatives_of_tumbling():
    times = jnp.linspace(0.0, 1.5, 4)
    late = jnp.asarray(1.2)

    def follow(inertia, spin):
        motion = tumble(inertia + inertia.T, spin, times).at(late)
        return jnp.concatenate([motion.attitude.quaternion, motion.spin])

    check_gradients(follow, jnp.asarray(INERTIA), jnp.array([0.05, 0.12, 0.3]))


@pytest.mark.parametrize("name", ["libration", "tumbling"])
def test_a_box_comes_to_rest_on_a_target_whose_spin_changes(name):
    """It lies still in the frame: its spin against the stars is the target's, and the energy account closes."""
    spin, times = (0.008, 0.004, 0.02), jnp.linspace(0.0, 40.0, 41)
    frames = {
        "libration": lambda: Libration(spin, 0.1, 0.1, 0.4),
        "tumbling": lambda: tumble(INERTIA, spin, times),
    }
    primary = Primary(PointMass(4500.0, ORIGIN), Kepler(300.0, 60.0, 0.1))
    body = RigidBody(2.0, np.diag([0.05, 0.04, 0.03]))
    law = contact.NormalForce.from_restitution(
        0.4, contact.Hooke(400.0), 1e-4, mass=2.0, damping=contact.ClippedDamping
    )
    touch = contact.SurfaceContact(
        contact.Vertices.box((0.3, 0.4, 0.5)),
        law,
        contact.AtEffectivePoint(contact.StickSlip(0.6, 0.6, 1e-3)),
        (contact.RollingTorque(0.02, 1e-3), contact.SpinningResistance(0.02, 1e-3)),
    )
    model = Hopper(body, touch, Sphere(ORIGIN, 30.0), PointMass(180.0, ORIGIN), frames[name](), 0.02, primary)
    start = model.start(
        RigidState((30.35, 1.0, 0.0), (-0.05, 0.02, 0.0), (0.96, 0.0, 0.28, 0.0), (0.05, 0.0, 0.1))
    )
    solution = simulate(model, start, times, solver=Adaptive(1e-8, 1e-8, max_steps=20_000))
    assert solution.stats.contacts > 0
    t, end = times[-1], solution.last
    np.testing.assert_allclose(end.body.velocity, 0, atol=1e-5)
    seen = end.body.rotation @ Gyro().sense(model, t, end)
    turning = model.frame.at(t)
    np.testing.assert_allclose(seen, turning.spin, atol=1e-3 * np.linalg.norm(turning.spin))
    assert jnp.linalg.norm(turning.spin - model.frame.at(times[0]).spin) > 0.1 * jnp.linalg.norm(turning.spin)
    energy = {key: np.asarray(part) for key, part in solution.energy.items()}
    assert min(np.ptp(energy["frame"]), np.ptp(energy["tide"])) > np.ptp(energy["friction"]) > 1e-3
    np.testing.assert_allclose(
        sum(energy.values()), sum(energy.values())[0], atol=1e-4 * np.ptp(energy["friction"])
    )
