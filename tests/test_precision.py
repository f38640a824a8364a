"""What happens to somebody who forgets to enable float64: a warning that names it, and answers with a stated
error."""

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, FixedSteps, MaxImpacts, Status, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import (
    AtEffectivePoint,
    Hooke,
    NormalForce,
    RollingForceAndTorque,
    StickSlip,
    SurfaceContact,
    Vertices,
)
from difsim.dem import Grains, HertzMindlin
from difsim.dynamics import Bouncer, Flight, FlightState, Hopper, PointState
from difsim.gravity import PointMass, Uniform
from difsim.shape import Plane, Sphere
from difsim.stepping import precision
from difsim.stepping.marching import initialise
from inversion import Bounded, Observation, Observations, Problem, fit
from tests.helpers import approx, single
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


def bounce(p):
    model = Bouncer(Uniform((0.0, 0.0, -1e-4)), floor(), p["e"])
    end = simulate(model, PointState((0.0, 0.0, 1.0)), jnp.array([0.0, 200.0]), until=MaxImpacts(3), throw=False)
    return {"height": end.states.position[-1, 2]}, end.ok


def test_what_was_forgotten_is_said_once(single_session):
    start, times = FlightState((9e3, 0.0, 0.0), (0.0, 0.27, 0.0)), jnp.array([0.0, 5e2])
    comet = Flight(PointMass(666.0, (0.0, 0.0, 0.0)), (0.0, 0.0, 0.0), Sphere((0.0, 0.0, 0.0), 1e3))
    with pytest.warns(UserWarning, match=r"difsim\.configure") as said:
        for _ in range(2):
            simulate(single(comet), single(start), times)
    assert len(said) == 1


@pytest.mark.slow
def test_the_first_example_without_float64(single_session):
    """It is fitted all the same, and says once what was forgotten."""
    problem = Problem({"e": Bounded(0.05, 0.95)}, bounce, Observations({"height": Observation(0.408, 0.001)}))
    with pytest.warns(UserWarning, match=r"difsim\.configure") as said:
        found = fit(problem, key=jax.random.PRNGKey(0), starts=8, keep=2)
        bounce({"e": jnp.array(0.6)})
    assert sum(str(w.message).startswith("simulate: the state is float32") for w in said) == 1
    assert found.values["e"] == pytest.approx(0.6996, abs=1e-4)
    assert found.sigma["e"] == pytest.approx(0.0012, rel=0.02)


def test_a_fit_without_a_valid_start_names_float64(single_session):
    def never(p):
        return {"height": p["e"]}, jnp.asarray(False)

    problem = Problem({"e": Bounded(0.05, 0.95)}, never, Observations({"height": Observation(0.4, 0.001)}))
    with pytest.raises(RuntimeError, match=r"difsim\.configure"):
        fit(problem, key=jax.random.PRNGKey(0), starts=4, keep=2)
    with jax.enable_x64(True), pytest.raises(RuntimeError, match="no start gave") as said:
        fit(
            Problem({"e": Bounded(0.05, 0.95)}, never, Observations({"height": Observation(0.4, 0.001)})),
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
    narrow = simulate(single(comet), single(start), times.astype(jnp.float32), **method)
    assert narrow.last.position.dtype == jnp.float32
    np.testing.assert_allclose(narrow.last.position, wide.last.position, atol=1e-4 * 9e3)


def box(p):
    contact = SurfaceContact(
        Vertices.box((0.2, 0.2, 0.2)),
        NormalForce.from_restitution(p[0], Hooke(1e3), 1e-4, mass=1.0),
        AtEffectivePoint(StickSlip(p[1], p[1], 1e-3)),
        (RollingForceAndTorque(2e-3, 1e-3),),
    )
    return Hopper(RigidBody(1.0, np.eye(3) * 0.04 / 6), contact, floor(), Uniform((0.0, 0.0, -5.7e-3)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:simulate. the state is float32")
def test_a_jacobian_in_float32_states_its_error():
    """The box of docs/examples.md: what `validity.error` says is an upper bound, and no more than 30 times too
    much."""

    def slope():
        @eqx.filter_jit
        @lambda f: jax.jacfwd(f, has_aux=True)
        def place(p):
            model = box(p)
            state = RigidState((0.0, 0.0, 0.5), (0.05, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.1, 0.2, 0.05))
            solution = simulate(model, model.start(state), jnp.array([0.0, 20.0]), throw=False)
            return solution.last.body.position, solution

        return place(jnp.array([0.6, 0.5]))

    wide, exact = slope()
    with jax.enable_x64(False):
        narrow, found = slope()
    assert found.status == Status.OK and narrow.dtype == jnp.float32
    error = float(jnp.abs(narrow - wide).max() / jnp.abs(wide).max())
    assert error < found.validity.error < 30 * error
    assert exact.validity.error == approx(1e-4, rel=0.1)


def test_grains_far_from_the_origin_need_float64_positions_only():
    model = Grains(HertzMindlin(1e7, 0.25, 0.5, 0.5), np.full(2, 5e-3), 2500.0)
    far = 10.0 + jnp.asarray([[0.0, 1e-2 - 1e-6], [0.0, 0.0], [0.0, 0.0]])

    def push(model, position):
        return initialise(model, model.at_rest(position)).motion.rates.velocity[0, 1]

    exact, plain = push(model, far), push(single(model), single(far))
    assert push(single(model), far) == pytest.approx(float(exact), rel=3e-3)
    assert abs(plain / exact - 1) > 0.1
    end = simulate(single(model), single(model).at_rest(far), [0.0, 1e-4], solver=FixedSteps(10)).last
    assert end.position.dtype == jnp.float64 and end.velocity.dtype == jnp.float32
