"""From release to rest: the time of settling, what was touched, and how a release that does not settle says so."""

import jax.numpy as jnp
import numpy as np
import pytest

from difsim.body import RigidBody, RigidState
from difsim.contact import AtEachPoint, Ball, LinearClipped, RegularisedCoulomb, Sharp, SurfaceContact
from difsim.dynamics import Hopper, PointState
from difsim.gravity import Uniform
from difsim.shape import Plane, Sphere
from difsim.stepping import Status, Still, settle
from experiments.hopper.scenes import GRAVITY, cube, thrown

G, HEIGHT, E = 1e-3, 0.5, 0.6
TIMES = jnp.array([0.0, 50.0, 2000.0])


def ball() -> Hopper:
    """A ball of 10 cm and 1 kg that returns with E, on ground so stiff that gravity is nothing in a contact."""
    normal = LinearClipped.from_restitution(E, 1e4, 1.0, Sharp())
    contact = SurfaceContact(Ball(0.1), normal, AtEachPoint(RegularisedCoulomb(0.0, 1e-3)))
    ground = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    return Hopper(RigidBody(1.0, 0.004 * np.eye(3)), contact, ground, Uniform((0.0, 0.0, -G)), resolution=1e-3)


def test_ball_settles_when_the_closed_form_says():
    model = ball()
    state = model.start(RigidState((0.0, 0.0, 0.1 + HEIGHT), (0.0,) * 3, (1.0, 0.0, 0.0, 0.0), (0.0,) * 3))
    still = Still(speed=1e-3, spin=1e-3, hold=5.0)
    found = settle(model, state, TIMES, still)
    fall, speed = np.sqrt(2 * HEIGHT / G), np.sqrt(2 * HEIGHT * G)
    # It is slow from the first impact on that returns it with less than the speed of rest.
    impacts = int(np.ceil(np.log(float(still.speed) / speed) / np.log(E)))
    expected = fall * (1 + 2 * sum(E**i for i in range(1, impacts)))
    assert found.status == Status.OK
    # Each contact lasts pi sqrt(m/k) = .03 s, which the closed form leaves out.
    assert float(found.time) == pytest.approx(expected, abs=0.05 * impacts)
    assert float(found.touch_time) == pytest.approx(fall, abs=0.01)
    assert float(found.touchdown.body.position[2]) == pytest.approx(0.1, abs=1e-3)
    assert int(found.contacts) >= impacts
    assert float(found.times[-1]) - float(found.time) == pytest.approx(5.0, abs=3.0)  # the hold, and a step


REGION = Sphere((0.0, 0.0, 0.0), 100.0)


def drop(region=REGION, last=2e4, up=0.0):
    model = cube(GRAVITY["67p"])
    state = thrown(model)
    body = RigidState(
        state.body.position,
        state.body.velocity + jnp.array([0.0, 0.0, up]),
        state.body.attitude,
        state.body.spin,
    )
    times = jnp.array([0.0, 20.0, last])
    return settle(model, model.start(body), times, Still(), region=region, throw=False)


def test_tumbling_cube_comes_to_rest_on_a_face_and_ends_there():
    found = drop()
    body = found.last.body
    assert found.status == Status.OK and float(found.times[-1]) < 5e3
    assert float(body.position[2]) == pytest.approx(0.1, abs=1e-3)  # half an edge, and the depth of the onset
    assert float(jnp.linalg.norm(body.velocity)) < 1e-4 and float(jnp.linalg.norm(body.spin)) < 1e-3
    assert 5 < int(found.contacts) < 100 and int(found.steps) < 10_000
    # After the end nothing moves in what is handed out.
    np.testing.assert_array_equal(found.states.body.position[-1], body.position)
    assert float(found.times[1]) == 20.0


def test_what_does_not_settle_says_so():
    late = drop(last=100.0)
    assert late.status == Status.UNSETTLED and np.isnan(late.time) and float(late.times[-1]) == 100.0
    assert int(late.contacts) > 0 and np.isfinite(late.touch_time)
    gone = drop(region=Sphere((0.0, 0.0, 0.0), 1.0), up=0.2)
    assert gone.status == Status.LEFT and np.isnan(gone.time) and np.isnan(gone.touch_time)
    assert float(jnp.linalg.norm(gone.last.body.position)) > 1.0 and float(gone.times[-1]) < 100.0
    with pytest.raises(RuntimeError, match="UNSETTLED"):
        settle(
            cube(GRAVITY["67p"]),
            thrown(cube(GRAVITY["67p"])),
            jnp.array([0.0, 20.0, 30.0]),
            Still(),
            region=REGION,
        )


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="hold"):
        Still(hold=0.0)
    with pytest.raises(ValueError, match="PointState has no rigid body"):
        settle(ball(), PointState((0.0, 0.0, 1.0)), TIMES)
