"""Soft spheres: closed forms, what is conserved, derivatives, what stops a run."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Courant, Status, allocate, simulate
from difsim.dem import Grains, HertzMindlin
from difsim.shape import Plane

R, RHO, E, NU = 5e-3, 2500.0, 1e7, 0.25

HERTZ = HertzMindlin(E, NU, restitution=0.6, friction=0.5)

FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))

G = 9.81


def moving_state(model, position, velocity, spin=None):
    state = model.at_rest(jnp.asarray(position, float))
    spin = jnp.zeros_like(state.spin) if spin is None else jnp.asarray(spin, float)
    return eqx.tree_at(lambda s: (s.velocity, s.spin), state, (jnp.asarray(velocity, float), spin))


def equal(of, gravity=(0.0, 0.0, -G)):
    """Three equal spheres on a floor."""
    return Grains(of, np.full(3, R), RHO, gravity, (FLOOR,))


@pytest.fixture(scope="module")
def near_list():
    """The list of a run of `equal` spheres. Lists with the same room for all make them share a program."""
    model, touching = equal(HERTZ), R * np.array([[0.0, 2, 1], [0, 0, 1.7], [1, 1, 1]])
    return allocate(model, model.at_rest(jnp.asarray(touching)))


def test_restitution_is_realised_as_steps_become_short(near_list):
    """Two spheres, head on; the third and the floor are far away."""
    model, speed = equal(HERTZ, (0.0, 0.0, 0.0)), 0.3
    x = R * np.array([[0.0, 2.02, 0.0], [0, 0, 50], [50, 50, 50]])
    state = moving_state(model, x, [[speed, 0, 0], [0, 0, 0], [0, 0, 0]])
    for courant in (0.4, 0.05):  # 25 and 200 steps a contact; of first order, since the damper lags by half a step
        solver = Courant(courant, neighbours=near_list)
        run = simulate(model, state, [0.0, 0.04 * R / speed + 0.02], solver=solver)
        v = run.states.velocity[-1, 0]
        np.testing.assert_allclose((v[1] - v[0]) / 0.3, 0.6, atol=0.04 * courant)
        np.testing.assert_allclose(v.sum(), 0.3, rtol=1e-13)


@pytest.fixture(scope="module")
def falling_grains():
    """`equal` spheres of which two touch, one of them the floor, and one is apart and falls."""
    model = equal(HERTZ)
    x = R * np.array([[0.0, 2.01, 4], [0.0, 0.1, 0], [0.99, 1.0, 1.4]])
    return model, moving_state(model, x, [[0.3, 0, 0], [0, 0.1, 0], [0, 0, -0.2]])


@pytest.mark.parametrize("who", ["buried", "in one place", "too fast"])
def test_what_is_past_its_law_stops_a_run(who, falling_grains, near_list):
    """Deep in each other or in the floor, at the start or later: not a motion that looks like one."""
    model, state = falling_grains
    place, velocity = state.position, state.velocity
    if who == "buried":
        place = place.at[2, 1].set(-3 * R)
    elif who == "in one place":
        place = place.at[:, 1].set(place[:, 2])
    else:  # apart at first, and met at a speed that their modulus does not stop
        model = equal(eqx.tree_at(lambda of: of.modulus, HERTZ, jnp.asarray(1e5)))
        place = jnp.array([[-3 * R, 0.0, 3 * R], [0.0, 9 * R, 0.0], [5 * R, 5 * R, 5 * R]])
        velocity = jnp.array([[50.0, 0.0, -50.0], [0.0] * 3, [0.0] * 3])
    begin = eqx.tree_at(lambda s: (s.position, s.velocity), state, (place, velocity))
    ended = simulate(model, begin, [0.0, 1e-3], solver=Courant(neighbours=near_list), throw=False)
    assert ended.status == Status.BEYOND_LAW
    assert ended.stats.particle == 1 if who == "buried" else ended.stats.particle in (0, 1, 2)
