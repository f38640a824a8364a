"""From release to rest: the time of settling, what was touched, and how a release that does not settle says so."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from difsim import Adaptive, AtRest, Ignore, Outside, Status, simulate
from difsim.body import RigidState
from difsim.contact import Vertices
from difsim.shape import Sphere
from experiments.hopper.scenes import EDGE, GRAVITY, MASS, Ground, cube, jumping, throw_cube

REGION = Sphere((0.0, 0.0, 0.0), 100.0)  # of no consequence but in the last test; all solves share one compilation
HEIGHT, E = 0.5, 0.6
# At 1e-8 the steps across a force that jumps err by more than a contact lasts in the time of settling.
TIGHT = {"solver": Adaptive(1e-10, 1e-10, max_steps=100_000), "trust": Ignore()}


def impact(v, g, ω, ζ):
    """Speed after an impact at `v` on a spring that is damped while compressed, under the weight; its duration:
    a damped swing about the static depth up to the deepest point, a free one back to the surface."""
    sag, ω_d = g / ω**2, ω * np.sqrt(1 - ζ**2)
    b = (v - ζ * ω * sag) / ω_d
    t = np.arctan2(ω_d * b + ζ * ω * sag, ζ * ω * b - ω_d * sag) / ω_d
    deepest = np.exp(-ζ * ω * t) * (b * np.sin(ω_d * t) - sag * np.cos(ω_d * t))
    return ω * np.sqrt(deepest**2 - sag**2), t + np.arccos(-sag / deepest) / ω


def test_cube_on_a_face_settles_when_the_closed_form_says():
    g = 1e-3
    # Four corners share the fall, so each has a quarter of the mass; no friction, no rolling resistance.
    ground = Ground(E, friction=0.0, rolling=0.0, depth=1e-4, speed=0.03)
    contact = ground.contact(Vertices.box((EDGE,) * 3), MASS / 4, jumping)
    plain = cube(g, normal=jumping)
    model = eqx.tree_at(lambda m: (m.contact, m.resolution), plain, (contact, ground.resolution))
    state = model.start(RigidState((0.0, 0.0, 0.1 + HEIGHT), (0.0,) * 3, (1.0, 0.0, 0.0, 0.0), (0.0,) * 3))
    still = AtRest(speed=3e-3, spin=1e-3, hold=10.0)
    found = simulate(model, state, jnp.array([0.0, 50.0, 2000.0]), **TIGHT, until=(still, Outside(REGION)))
    fall, v = np.sqrt(2 * HEIGHT / g), np.sqrt(2 * HEIGHT * g)
    ω, ζ = 0.03 / 1e-4, brentq(lambda ζ: np.exp(-ζ * np.arccos(ζ) / np.sqrt(1 - ζ**2)) - E, 0.01, 0.9)
    # It is slow from the first impact on that returns it with less than the speed of rest.
    touch, impacts, (after, lasts) = fall, 1, impact(v, g, ω, ζ)
    while after > float(still.speed):
        touch, impacts, v = touch + lasts + 2 * after / g, impacts + 1, after
        after, lasts = impact(v, g, ω, ζ)
    assert found.status == Status.OK
    assert touch < float(found.stats.rest_time) < touch + lasts
    assert float(found.stats.contact_time) == pytest.approx(fall, abs=0.01)
    assert float(found.stats.contact_state.body.position[2]) == pytest.approx(0.1, abs=1e-3)
    assert int(found.stats.contacts) >= impacts
    assert 10.0 <= float(found.times[-1]) - float(found.stats.rest_time) < 20.0  # the hold, and a step


def drop(region=REGION, last=2e4, up=0.0, throw=False):
    model = cube(GRAVITY["67p"], normal=jumping)
    state = throw_cube(model)
    body = RigidState(
        state.body.position,
        state.body.velocity + jnp.array([0.0, 0.0, up]),
        state.body.attitude,
        state.body.spin,
    )
    times = jnp.array([0.0, 20.0, last])
    until = AtRest(), Outside(region)
    return simulate(model, model.start(body), times, **TIGHT, until=until, throw=throw)


def test_tumbling_cube_comes_to_rest_on_a_face_and_ends_there():
    found = drop()
    body = found.last.body
    assert found.status == Status.OK and float(found.times[-1]) < 5e3
    assert float(body.position[2]) == pytest.approx(0.1, abs=1e-3)  # half an edge
    assert float(jnp.linalg.norm(body.velocity)) < 1e-4 and float(jnp.linalg.norm(body.spin)) < 1e-3
    assert 5 < int(found.stats.contacts) < 200 and int(found.stats.steps) < 20_000
    # After the end nothing moves in what is handed out.
    np.testing.assert_array_equal(found.states.body.position[-1], body.position)
    assert float(found.times[1]) == 20.0


def test_what_does_not_settle_says_so():
    late = drop(last=100.0)
    assert late.status == Status.UNSETTLED and np.isnan(late.stats.rest_time) and float(late.times[-1]) == 100.0
    assert int(late.stats.contacts) > 0 and np.isfinite(late.stats.contact_time)
    gone = drop(region=Sphere((0.0, 0.0, 0.0), 1.0), up=0.2)
    assert gone.status == Status.LEFT and np.isnan(gone.stats.rest_time) and np.isnan(gone.stats.contact_time)
    assert float(jnp.linalg.norm(gone.last.body.position)) > 1.0 and float(gone.times[-1]) < 100.0
    with pytest.raises(RuntimeError, match="UNSETTLED"):
        drop(last=30.0, throw=True)
