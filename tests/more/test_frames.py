"""Flights and rotations in frames that do not rotate steadily, against inertial axes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

from difsim import Adaptive, FixedSteps, contact, simulate
from difsim.body import RigidBody, RigidState
from difsim.dynamics import Flight, FlightState, Hopper, InertialFlight, Kepler, Libration, Primary, tumble
from difsim.gravity import Mascons, PointMass
from difsim.sensors import Gyro
from difsim.shape import Sphere
from tests.core.test_frames import INERTIA, LIBRATION, ORIGIN
from tests.helpers import check_gradients
from tests.hoppers import BALL

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


def test_eccentric_binary_is_that_of_three_bodies():
    """In a frame that librates, against SciPy in inertial axes, where primary and secondary attract each other."""
    near, far = 0.4, 18.0
    orbit = Kepler(12.0, 2 * np.pi * np.sqrt(12.0**3 / (near + far)), 0.2, 0.5)
    frame = Libration((0.0, 0.0, 2 * np.pi / float(orbit.period)), 0.3, 0.1)
    model = Flight(
        PointMass(near, ORIGIN), frame, Sphere(ORIGIN, 0.1), primary=Primary(PointMass(far, ORIGIN), orbit)
    )
    times = jnp.linspace(0.0, 40.0, 5)
    start = FlightState((1.2, 0.0, 0.1), (0.0, -0.7, 0.05))
    inertial = InertialFlight(model)
    flown = simulate(model, start, times, solver=Adaptive(1e-13, 1e-13, order=8))
    seen = jax.vmap(inertial.from_body)(times, flown.states)

    first = inertial.from_body(times[0], start)
    place, speed = jax.jvp(orbit, (times[0],), (jnp.ones(()),))

    def rate(t, y):
        primary, point, *speeds = y.reshape(4, 3)
        pull = lambda GM, d: GM * d / np.linalg.norm(d) ** 3  # noqa: E731
        fall = pull(far, primary)  # of the secondary, which is the origin
        return np.concatenate(
            [*speeds, -pull(near, primary) - fall, -pull(near, point) + pull(far, primary - point) - fall]
        )

    y = np.concatenate([place, first.position, speed, first.velocity])
    there = scipy.integrate.solve_ivp(rate, (0, 40.0), y, "DOP853", times, rtol=1e-13, atol=1e-13).y
    np.testing.assert_allclose(jax.vmap(orbit)(times), there[:3].T, atol=1e-9 * 12)
    np.testing.assert_allclose(seen.position, there[3:6].T, atol=1e-9 * 12)
    energy = {key: np.asarray(part) for key, part in flown.energy.items()}
    assert min(np.ptp(energy["frame"]), np.ptp(energy["tide"])) > 1e-3
    np.testing.assert_allclose(sum(energy.values()), sum(energy.values())[0], atol=1e-10)


def momentum(model, t, state):
    """Linear and angular momentum about the origin against the stars, in axes that do not rotate."""
    motion, body = model.frame.at(t), state.body
    moving = model.body.mass * (body.velocity + motion.velocity_at(body.position))
    spin = body.rotation @ (model.body.inertia @ (body.spin + body.rotation.inverse @ motion.spin))
    return jnp.stack([motion.attitude @ p for p in (moving, jnp.cross(body.position, moving) + spin)])


def impulse_rates(model, t, state):
    """All real forces, and their torques about the origin, in axes that do not rotate."""
    motion, body, touch = model.frame.at(t), state.body, model.wrench(t, state)
    force = touch.force + model.body.mass * model.gravity.acceleration(body.position)
    torque = jnp.cross(body.position, force) + touch.torque
    return {"impulse": jnp.stack([motion.attitude @ force, motion.attitude @ torque])}


def test_bounce_on_a_tumbling_target_closes_energy_and_momentum():
    """A ball on a sphere of 3 m: what it gains against the stars is the impulse of the real forces."""
    frame = tumble(np.diag([1.0, 1.4, 1.7]), (0.02, 0.05, 0.12), jnp.linspace(0.0, 1.5, 13))
    body = RigidBody(2.0, np.diag([0.07, 0.08, 0.06]))
    model = Hopper(body, BALL, Sphere(ORIGIN, 3.0), PointMass(2.0, ORIGIN), frame, 1e-2)
    start = model.start(RigidState((3.35, 0.0, 0.0), (-0.1, 0.0, 0.02), (1.0, 0.0, 0.0, 0.0), (0.1, 0.2, -0.3)))
    times = jnp.linspace(0.0, 1.2, 4)
    solution = simulate(model, start, times, integrals=impulse_rates, solver=FixedSteps(400))
    gained = np.asarray(jax.vmap(lambda t, s: momentum(model, t, s))(times, solution.states))
    gained = gained - gained[0]
    assert np.abs(gained).max() > 1e-2
    np.testing.assert_allclose(gained, solution.integrals["impulse"], atol=1e-8 * np.abs(gained).max())
    energy = {key: np.asarray(part) for key, part in solution.energy.items()}
    assert np.ptp(energy["frame"]) > 1e-5 and energy["friction"][-1] > 1e-5
    np.testing.assert_allclose(sum(energy.values()), sum(energy.values())[0], atol=1e-5 * energy["friction"][-1])
