"""From release to rest: the time of settling, what was touched, and how a release that does not settle says so."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.body import RigidState
from difsim.contact import Vertices, box_corners
from difsim.dynamics import PointState
from difsim.shape import Sphere
from difsim.stepping import Status, Still, settle
from experiments.hopper.scenes import EDGE, GRAVITY, MASS, Ground, cube, jumping, thrown

REGION = Sphere((0.0, 0.0, 0.0), 100.0)  # of no consequence but in the last test; all solves share one compilation
HEIGHT, E = 0.5, 0.6


def test_cube_on_a_face_settles_when_the_closed_form_says():
    g = 1e-3
    # Four corners share the fall, so each has a quarter of the mass; no friction, no rolling resistance.
    ground = Ground(E, friction=0.0, rolling=0.0, depth=1e-4, speed=0.03)
    contact = ground.contact(Vertices(box_corners((EDGE,) * 3)), MASS / 4, jumping)
    plain = cube(g, normal=jumping)
    model = eqx.tree_at(lambda m: (m.contact, m.resolution), plain, (contact, ground.resolution))
    state = model.start(RigidState((0.0, 0.0, 0.1 + HEIGHT), (0.0,) * 3, (1.0, 0.0, 0.0, 0.0), (0.0,) * 3))
    still = Still(speed=3e-3, spin=1e-3, hold=10.0)
    found = settle(model, state, jnp.array([0.0, 50.0, 2000.0]), still, region=REGION, rtol=1e-8, atol=1e-8)
    fall, speed = np.sqrt(2 * HEIGHT / g), np.sqrt(2 * HEIGHT * g)
    # It is slow from the first impact on that returns it with less than the speed of rest.
    impacts = int(np.ceil(np.log(float(still.speed) / speed) / np.log(E)))
    contact = np.pi * 1e-4 / 0.03  # s: π √(m/k)
    expected = fall * (1 + 2 * sum(E**i for i in range(1, impacts))) + impacts * contact
    assert found.status == Status.OK
    # Damping changes how long a contact lasts a little.
    assert float(found.time) == pytest.approx(expected, abs=0.2 * impacts * contact)
    assert float(found.touch_time) == pytest.approx(fall, abs=0.01)
    assert float(found.touchdown.body.position[2]) == pytest.approx(0.1, abs=1e-3)
    assert int(found.contacts) >= impacts
    assert 10.0 <= float(found.times[-1]) - float(found.time) < 20.0  # the hold, and a step


def drop(region=REGION, last=2e4, up=0.0, throw=False):
    model = cube(GRAVITY["67p"], normal=jumping)
    state = thrown(model)
    body = RigidState(
        state.body.position,
        state.body.velocity + jnp.array([0.0, 0.0, up]),
        state.body.attitude,
        state.body.spin,
    )
    times = jnp.array([0.0, 20.0, last])
    return settle(model, model.start(body), times, Still(), region=region, rtol=1e-8, atol=1e-8, throw=throw)


def test_tumbling_cube_comes_to_rest_on_a_face_and_ends_there():
    found = drop()
    body = found.last.body
    assert found.status == Status.OK and float(found.times[-1]) < 5e3
    assert float(body.position[2]) == pytest.approx(0.1, abs=1e-3)  # half an edge
    assert float(jnp.linalg.norm(body.velocity)) < 1e-4 and float(jnp.linalg.norm(body.spin)) < 1e-3
    assert 5 < int(found.contacts) < 200 and int(found.steps) < 20_000
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
        drop(last=30.0, throw=True)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="hold"):
        Still(hold=0.0)
    with pytest.raises(ValueError, match="PointState has no rigid body"):
        settle(cube(1e-3), PointState((0.0, 0.0, 1.0)), jnp.array([0.0, 1.0]))
