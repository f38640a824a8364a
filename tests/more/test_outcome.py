"""One contract for all engines: a run means the same inside `jit`, and a figure that there is not has its reason."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import AtContact, Courant, Reverse, allocate, simulate
from difsim.dem import Grains, HertzMindlin
from difsim.dynamics import Bouncer, Flight, FlightState, PointState
from difsim.gravity import Uniform
from difsim.shape import Plane
from tests.bodies import TIMES, boxes, cross_boxes

FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
DOWN = Uniform((0.0, 0.0, -9.81))


def bounce():
    return Bouncer(DOWN, FLOOR, 0.6), PointState((0.0, 0.0, 0.3)), jnp.array([0.0, 0.1, 0.6]), {}


def fall():
    model, start = Flight(DOWN, (0.0, 0.0, 0.0), FLOOR), FlightState((0.0, 0.0, 1.0), (0.1, 0.0, 0.0))
    return model, start, jnp.array([0.0, 0.2, 10.0]), {"until": AtContact()}


def stones():
    return boxes(), cross_boxes(), TIMES, {}


def grains():
    law = HertzMindlin(1e6, 0.25, restitution=0.5, friction=0.5)
    model = Grains(law, np.full(2, 0.01), 1000.0, (0.0, 0.0, -9.81), (FLOOR,))
    state = model.at_rest(jnp.array([[0.0, 0.1], [0.0, 0.0], [0.0101, 0.03]]))
    return model, state, jnp.array([0.0, 0.002, 0.01]), {"solver": Courant(neighbours=allocate(model, state))}


@pytest.mark.parametrize("make", [bounce, fall, stones, grains])
def test_a_run_means_the_same_inside_jit(make):
    model, state, times, way = make()
    outside = simulate(model, state, times, **way)
    inside = eqx.filter_jit(lambda model, state: simulate(model, state, times, **way))(model, state)
    assert jax.tree.structure(outside) == jax.tree.structure(inside)

    def close(a, b):
        size = np.abs(a[np.isfinite(a)]).max(initial=0.0)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * size)

    jax.tree.map(close, *(jax.tree.map(np.asarray, x) for x in (outside, inside)))


def reasons(make, **more):
    model, state, times, way = make()
    return simulate(model, state, times, **way | more).unknown


def test_a_figure_that_there_is_not_has_its_reason():
    assert reasons(bounce) == ()
    (growth,) = reasons(bounce, derivative=Reverse())
    assert growth.startswith("validity: growth of the tangents: Reverse takes derivatives")
    (balance,) = reasons(stones)
    assert balance.startswith("energy_error: ")
    figures = [said.split(":")[0] for said in reasons(grains)]
    assert figures == ["validity", "validity, stats", "energy_error"]


def test_stones_tell_the_growth_of_their_tangents():
    """Stones that part at 3 m/s come to 3.3 m: the change of that place counts relative to it."""

    def run(speed):
        solution = simulate(boxes(), cross_boxes(speed=-speed), jnp.array([0.0, 1.0]), throw=False)
        return solution.last.second.position, solution

    _, solution = jax.jacfwd(run, has_aux=True)(jnp.asarray(3.0))
    assert float(solution.validity.growth) == pytest.approx(3 / 3.3, rel=1e-6)
    assert jnp.isnan(simulate(boxes(), cross_boxes(), TIMES).validity.growth)
