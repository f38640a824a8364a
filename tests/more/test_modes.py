"""Derivatives in a mode that a run has are right, of second order too; those that it has not are refused by name."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, AtContact, Courant, FixedSteps, Forward, MaxImpacts, Reverse, allocate, simulate
from difsim.dem import Grains, HertzMindlin
from difsim.dynamics import Bouncer, Flight, FlightState, PointState
from difsim.gravity import Uniform
from difsim.shape import Plane
from tests.bodies import boxes, cross_boxes
from tests.helpers import approx

FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))

G, E, END = 2.0, 0.6, 1.6  # m/s², 1, s

ONE = jnp.array(1.0)

TWICE = {
    "grad": jax.grad,
    "hessian": jax.hessian,
    "grad of grad": lambda f: jax.grad(jax.grad(f)),
    "jacrev of jacfwd": lambda f: jax.jacrev(jax.jacfwd(f)),
}


def height_after_a_bounce(release, **way):
    model, times = Bouncer(Uniform((0.0, 0.0, -G)), FLOOR, E), jnp.array([0.0, END])
    start = PointState(jnp.stack([0.0, 0.0, release]))
    return simulate(model, start, times, until=MaxImpacts(2), throw=False, **way).last.position[2]


def time_of_flight(speed, **way):
    """s, of a throw straight up from 1 m in 2 m/s²."""
    flight = Flight(Uniform((0.0, 0.0, -G)), (0.0, 0.0, 0.0), FLOOR)
    start = FlightState((0.0, 0.0, 1.0), speed * jnp.array([0.0, 0.0, 1.0]))
    until = {} if "solver" in way else {"until": AtContact(), "solver": Adaptive(1e-10, 1e-10)}
    return simulate(flight, start, jnp.array([0.0, 10.0]), throw=False, **until, **way).times[-1]


def place_in_flight(gravity, **way):
    """m, sideways after 1 s, of a point that is thrown up in a frame that turns."""
    flight = Flight(Uniform((0.0, 0.0, -gravity)), (0.0, 1.0, 0.0), FLOOR)
    start = FlightState((1.0, 0.0, 5.0), (0.0, 0.0, 1.0))
    return simulate(flight, start, jnp.array([0.0, 1.0]), throw=False, **way).last.position[0]


def grains(friction):
    law = HertzMindlin(1e6, 0.25, 0.5, friction)
    return Grains(law, np.array([0.01, 0.02]), density=2500.0, gravity=(3.0, 0.0, -9.81), walls=(FLOOR,))


@cache
def start():
    """Two grains on the floor, and their list of neighbours."""
    model = grains(0.3)
    state = model.at_rest(jnp.array([[0.0, 0.05], [0.0, 0.0], [0.01, 0.02]]))
    return state, allocate(model, state, slack=3.0)


def slide(friction, scale=1.0, solver=None, **way):
    """m, how far two grains on a floor slide in a gravity that leans, within 10 ms."""
    model = eqx.tree_at(lambda g: g.gravity, grains(friction), scale * jnp.array([3.0, 0.0, -9.81]))
    state, near = start()
    solver = eqx.tree_at(lambda s: s.neighbours, solver or Courant(), near, is_leaf=lambda x: x is None)
    end = simulate(model, state, jnp.array([0.0, 0.01]), solver=solver, throw=False, **way).last
    return jnp.sum(end.position[0])


def test_second_derivative_of_a_time_of_contact_closed_form():
    """t = (v + √(v² + 2 g h))/g: d²t/dv² = 2 h/(v² + 2 g h)^(3/2)."""
    assert jax.jit(jax.jacfwd(jax.jacfwd(time_of_flight)))(ONE) == approx(2 / 5**1.5, rel=1e-8)


def wrappings(derivative):
    """A derivative by one number alone, in a program, and of a batch."""
    return derivative, jax.jit(derivative), lambda x: jax.vmap(derivative)(x[None])


@pytest.mark.parametrize("derivative", TWICE.values(), ids=TWICE)
def test_reverse_mode_through_forward_is_refused(derivative):
    refused = pytest.raises(ValueError, match=r"derivative=Forward\(\) has derivatives in forward .*Reverse\(\)")
    for asked in wrappings(derivative(time_of_flight)) if derivative is jax.grad else [derivative(time_of_flight)]:
        with refused:
            asked(ONE)


ONCE = {"jacfwd": jax.jacfwd, "jacfwd of jacfwd": lambda f: jax.jacfwd(jax.jacfwd(f))} | TWICE

del ONCE["grad"]


@pytest.mark.parametrize("derivative", ONCE.values(), ids=ONCE)
@pytest.mark.parametrize("motion", [place_in_flight, slide])
def test_reverse_has_one_derivative_in_reverse_mode(motion, derivative):
    asked = derivative(lambda x: motion(x, derivative=Reverse()))
    for wrapped in wrappings(asked) if derivative is jax.jacfwd else [asked]:
        with pytest.raises(ValueError, match=r"derivative=Reverse\(\) has first derivatives in reverse mode"):
            wrapped(ONE)


@pytest.mark.parametrize("solver", [None, Courant(0.5), FixedSteps(100)], ids=["default", "Courant", "FixedSteps"])
def test_particles_without_a_derivative_refuse_one(solver):
    """Tangents through a bed said 5.6 and 194 m where a depth of some cm changes by 15 mm over the whole prior."""
    for derivative in (jax.jacfwd, jax.grad, jax.hessian):
        for asked in wrappings(derivative(lambda x: slide(x, solver=solver))):
            with pytest.raises(
                ValueError, match=r"particles without a derivative was differentiated.*Unrolled\(\)"
            ):
                asked(ONE)


def test_particles_with_stopped_inputs_pass():
    found = jax.jit(jax.jacfwd(lambda x: x * slide(jax.lax.stop_gradient(x))))(ONE)
    assert found == approx(float(slide(ONE)))


def test_stones_have_first_forward_derivatives_alone():
    """The gap h closes at v: t = h/v and dt/dv = -h/v². The second derivative was 0 in the place of 2 h/v³."""

    def touch(speed):
        return simulate(boxes(), cross_boxes(speed=speed), jnp.array([0.0, 0.5]), throw=False).impacts.time

    time, slope = jax.jit(lambda v: jax.jvp(touch, (v,), (ONE,)))(ONE)
    assert slope == approx(-float(time), rel=1e-9)
    for derivative in (*TWICE.values(), lambda f: jax.jacfwd(jax.jacfwd(f))):
        with pytest.raises(ValueError, match="a pair of stones has first derivatives in forward mode"):
            jax.jit(derivative(touch))(ONE)


def test_reverse_mode_passes_scans_checkpoints_and_batches():
    """d place/d gravity of each of several flights, through what users put around a run."""

    def place(gravity):
        return place_in_flight(gravity, derivative=Reverse())

    several = jnp.array([1.0, 2.0])
    exact = jax.jit(jax.vmap(jax.jacfwd(lambda g: place_in_flight(g, derivative=Forward()))))(several)
    ways = (
        jax.vmap(jax.grad(place)),
        jax.grad(lambda g: jnp.sum(jax.lax.map(place, g))),
        jax.grad(lambda g: jnp.sum(jax.vmap(place)(g))),
        jax.vmap(jax.grad(jax.checkpoint(place))),
    )
    for way in ways:
        np.testing.assert_allclose(jax.jit(way)(several), exact, rtol=1e-6)
