"""A hopper in flight near a turning body: the inertial flight in other axes."""

import jax.numpy as jnp
import numpy as np

from difsim import Adaptive, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import AtEachPoint, Ball, Hertz, NormalForce, RegularisedCoulomb, SurfaceContact, Undamped
from difsim.dynamics import Flight, FlightState, Hopper, InertialFlight
from difsim.gravity import PointMass
from difsim.rotation import Rotation
from difsim.shape import Plane
from tests.hoppers import MASS, state

INERTIA = np.diag([0.05, 0.07, 0.09])  # an asymmetric top
START = state((1.0, 0.5, 0.2), (0.3, -0.1, 0.2), (0.4, 1.1, -0.6), (0.7, 0.1, -0.5, 0.4))
SECONDS = 4.0
FLOOR, PULL = Plane((0.0, 0.0, -90.0), (0.0, 0.0, 1.0)), PointMass(3.0, (0.0, 0.0, -3.0))


def fly(omega, body):
    """The state of a hopper after `SECONDS` near a point mass at (0, 0, -3)."""
    contact = SurfaceContact(
        Ball(0.1), NormalForce(Hertz(1e5, 0.1), Undamped(), 1e-4), AtEachPoint(RegularisedCoulomb(0.3, 1e-3))
    )
    model = Hopper(RigidBody(MASS, INERTIA), contact, FLOOR, PULL, omega)
    return simulate(model, model.start(body), [0.0, SECONDS], solver=Adaptive(1e-12, 1e-12, order=8)).last.body


def to_inertial(body, omega):
    """The state of a body in a frame that turns with `omega`, after `SECONDS`, in the inertial frame."""
    flight = InertialFlight(Flight(PULL, omega, FLOOR))
    fly = flight.from_body(jnp.array(SECONDS), FlightState(body.position, body.velocity))
    spin = body.spin + body.rotation.inverse @ jnp.asarray(omega)
    turn = Rotation.from_rotation_vector(jnp.asarray(omega) * SECONDS)
    return RigidState(fly.position, fly.velocity, turn @ body.rotation, spin)


def test_flight_is_the_inertial_flight_transformed():
    """About an axis through the attractor: both frames see the same field."""
    omega = np.array([0.0, 0.0, 0.3])
    there = to_inertial(fly(omega, START), omega)
    from_outside = RigidState(
        START.position,
        START.velocity + np.cross(omega, START.position),
        START.attitude,
        START.spin + START.rotation.inverse @ jnp.asarray(omega),
    )
    inertial = fly(np.zeros(3), from_outside)
    for name in ("position", "velocity", "attitude", "spin"):
        np.testing.assert_allclose(getattr(there, name), getattr(inertial, name), atol=1e-10, err_msg=name)
