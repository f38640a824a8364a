"""Derivatives in a mode that a run has are right, of second order too; those that it has not are refused by name."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import Courant, FixedSteps, MaxImpacts, Unrolled, allocate, simulate
from difsim.dem import Grains, HertzMindlin
from difsim.dynamics import Bouncer, PointState
from difsim.gravity import Uniform
from difsim.shape import Plane
from tests.helpers import approx

FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))

G, E, END = 2.0, 0.6, 1.6  # m/s², 1, s

ONE = jnp.array(1.0)


def height_after_a_bounce(release, **way):
    model, times = Bouncer(Uniform((0.0, 0.0, -G)), FLOOR, E), jnp.array([0.0, END])
    start = PointState(jnp.stack([0.0, 0.0, release]))
    return simulate(model, start, times, until=MaxImpacts(2), throw=False, **way).last.position[2]


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


def test_second_derivative_through_an_impact_closed_form():
    def closed_form(release):
        fall, speed = jnp.sqrt(2 * release / G), jnp.sqrt(2 * G * release)
        return E * speed * (END - fall) - G / 2 * (END - fall) ** 2

    found, right = (jax.jit(jax.jacfwd(jax.jacfwd(f)))(ONE) for f in (height_after_a_bounce, closed_form))
    assert found == approx(right, rel=1e-8) and right == approx(-1.28)


def test_unrolled_grains_have_two_derivatives_in_both_modes():
    """Two grains that slide: the way is a smooth function of the gravity, and differences of it are the measure."""
    way = {"solver": FixedSteps(200), "derivative": Unrolled()}
    moved = jax.jit(lambda x: slide(0.1, x, **way))
    h = 1e-3
    first, second = (moved(1 + h) - moved(1 - h)) / (2 * h), (moved(1 + h) - 2 * moved(1.0) + moved(1 - h)) / h**2
    for derivative in (jax.jacfwd, jax.grad):
        assert jax.jit(derivative(moved))(ONE) == approx(float(first), rel=1e-4)
    for derivative in (jax.hessian, lambda f: jax.jacfwd(jax.jacfwd(f))):
        assert jax.jit(derivative(moved))(ONE) == approx(float(second), rel=1e-2, abs=1e-6)
