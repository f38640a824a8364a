"""What happens to somebody who forgets to enable float64: a warning that names it, and answers with a stated
error."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, FixedSteps, MaxImpacts, simulate
from difsim.dem import Grains, HertzMindlin
from difsim.dynamics import Bouncer, Flight, FlightState, PointState
from difsim.gravity import PointMass, Uniform
from difsim.shape import Plane, Sphere
from difsim.stepping import precision
from difsim.stepping.marching import initialise
from inversion import Bounded, Observation, Observations, Problem, fit
from tests.helpers import to_single
from tests.ways import flight, forward, name, reverse


def floor():
    """Made where it is used, in the session's precision."""
    return Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


@pytest.fixture
def single_session():
    """float32, as without `difsim.configure()`, and a process that has not warned yet."""
    precision._warn_once.cache_clear()
    with jax.enable_x64(False):
        yield
    precision._warn_once.cache_clear()


def test_what_was_forgotten_is_said_once(single_session):
    start, times = FlightState((9e3, 0.0, 0.0), (0.0, 0.27, 0.0)), jnp.array([0.0, 5e2])
    comet = Flight(PointMass(666.0, (0.0, 0.0, 0.0)), (0.0, 0.0, 0.0), Sphere((0.0, 0.0, 0.0), 1e3))
    with pytest.warns(UserWarning, match=r"difsim\.configure") as said:
        for _ in range(2):
            simulate(to_single(comet), to_single(start), times)
    assert len(said) == 1


def test_a_fit_without_a_valid_start_names_float64(single_session):
    def fail(p):
        return {"height": p["e"]}, jnp.asarray(False)

    problem = Problem({"e": Bounded(0.05, 0.95)}, fail, Observations({"height": Observation(0.4, 0.001)}))
    with pytest.raises(RuntimeError, match=r"difsim\.configure"):
        fit(problem, key=jax.random.PRNGKey(0), starts=4, keep=2)
    with jax.enable_x64(True), pytest.raises(RuntimeError, match="no start gave") as said:
        fit(
            Problem({"e": Bounded(0.05, 0.95)}, fail, Observations({"height": Observation(0.4, 0.001)})),
            key=jax.random.PRNGKey(0),
            starts=4,
            keep=2,
        )
    assert "configure" not in str(said.value)


def test_no_warning_where_float32_can_do_what_is_asked(single_session):
    ball = Bouncer(Uniform((0.0, 0.0, -1e-4)), floor(), 0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(
            ball,
            PointState((0.0, 0.0, 1.0)),
            jnp.array([0.0, 200.0]),
            solver=Adaptive(1e-5, 1e-5, order=8),
            until=MaxImpacts(3),
        )


@pytest.mark.filterwarnings("ignore:simulate. the state is float32")
@pytest.mark.parametrize("method", [flight(), forward(), reverse()], ids=name)
def test_default_tolerances_are_met_by_a_flight_in_float32(method):
    """Half an orbit about 67P: as good as its rounding."""
    start, times = FlightState((9e3, 0.0, 0.0), (0.0, 0.27, 0.0)), jnp.array([0.0, 5e4])
    comet = Flight(PointMass(666.0, (0.0, 0.0, 0.0)), (0.0, 0.0, 0.0), Sphere((0.0, 0.0, 0.0), 1e3))
    wide = simulate(comet, start, times, solver=Adaptive(1e-12, 1e-12, order=8))
    narrow = simulate(to_single(comet), to_single(start), times.astype(jnp.float32), **method)
    assert narrow.last.position.dtype == jnp.float32
    np.testing.assert_allclose(narrow.last.position, wide.last.position, atol=1e-4 * 9e3)


def test_grains_far_from_the_origin_need_float64_positions_only():
    model = Grains(HertzMindlin(1e7, 0.25, 0.5, 0.5), np.full(2, 5e-3), 2500.0)
    far = 10.0 + jnp.asarray([[0.0, 1e-2 - 1e-6], [0.0, 0.0], [0.0, 0.0]])

    def push(model, position):
        return initialise(model, model.at_rest(position)).motion.rates.velocity[0, 1]

    exact, plain = push(model, far), push(to_single(model), to_single(far))
    assert push(to_single(model), far) == pytest.approx(float(exact), rel=3e-3)
    assert abs(plain / exact - 1) > 0.1
    end = simulate(to_single(model), to_single(model).at_rest(far), [0.0, 1e-4], solver=FixedSteps(10)).last
    assert end.position.dtype == jnp.float64 and end.velocity.dtype == jnp.float32
