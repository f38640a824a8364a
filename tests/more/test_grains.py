"""Soft spheres: closed forms, what is conserved, derivatives, what stops a run."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Courant, FixedSteps, Status, simulate
from difsim.dem import Grains, HertzMindlin, LinearSprings
from difsim.stepping.marching import initialise
from tests.core.test_grains import (
    HERTZ,
    NU,
    RHO,
    E,
    G,
    R,
    equal,
    falling_grains,  # noqa: F401  # a fixture
    moving_state,
    near_list,  # noqa: F401  # a fixture
)

MASS = 4 / 3 * np.pi * RHO * R**3


@eqx.filter_jit
def energies(model, states):
    """At each of the times of a run."""
    return jax.vmap(model.energy, in_axes=(None, 0))(0.0, jax.tree.map(jnp.asarray, states))


def law(**changes):
    given = {"modulus": E, "poisson": NU, "restitution": 0.6, "friction": 0.5}
    return HertzMindlin(**given | changes)


@pytest.mark.parametrize("of", [law(restitution=0.01), LinearSprings(2e3, 12.0, restitution=0.6, friction=0.5)])
def test_friction_holds_for_any_damper_and_shear_stiffness(of, near_list):
    """A sphere that rolls down a slope: friction is 2/7 of its weight along it. In steps too long it swings."""
    model = equal(of, (2.0, 0.0, -G))
    state = model.at_rest(R * np.array([[0.0, 5, 10], [0, 0, 0], [1, 1, 1]]))
    run = simulate(model, state, [0.0, 0.1, 0.105], solver=Courant(0.95, neighbours=near_list))
    force = run.states.walls[0].memory.force[1:, 0, 0]
    np.testing.assert_allclose(-force, 2 / 7 * 2.0 * MASS, rtol=0.02)


def test_energy_along_a_wall_is_counted_once(near_list):
    """The last of all spheres, for which room in a list of those at a wall stands in, slides on the floor."""
    model = equal(law(friction=1e3), (0.0, 0.0, 0.0))
    x = np.array([[0.0, 5 * R, 10 * R], [0, 0, 0], [50 * R, 50 * R, R - 1e-5]])
    state = moving_state(model, x, [[0, 0, 0.1], [0, 0, 0], [0, 0, 0]])
    run = simulate(model, state, [0.0, 2e-5], solver=FixedSteps(20, neighbours=near_list))
    (at,) = run.states.walls
    force, stiffness = at.memory.force[-1, :, 0], at.memory.stiffness[-1, 0]
    assert at.who.shape[1] > 1
    np.testing.assert_allclose(
        energies(model, run.states)["tangential"][-1], 0.5 * force @ force / stiffness, rtol=1e-13
    )


def differentiate_both_ways(function, at, along, weights):
    """Value, its derivative forward `along` a change, and in reverse by `weights` of the value, of one program."""
    value, forward = jax.linearize(function, at)
    return value, forward(along), jax.linear_transpose(forward, at)(weights)[0]


def test_derivatives_are_finite_where_grains_pass_apart():
    model = Grains(HERTZ, np.full(2, R), RHO)
    x = np.array([[0.0, 2.1 * R], [0, 0], [0, 0]])  # within the skin
    progress = initialise(model, moving_state(model, x, np.zeros((3, 2))))
    assert progress.neighbours.pairs.first[0] != progress.neighbours.pairs.second[0]

    def end(speed):
        state = moving_state(model, x, jnp.zeros((3, 2)).at[1, 0].set(speed))
        near, dt = progress.neighbours, jnp.asarray(1e-5)
        motion = model.begin(jnp.zeros(()), state, near)
        last = jax.lax.scan(lambda m, _: (model.step(m, near, dt), None), motion, length=4)[0]
        return last.state.velocity[1, 0]

    one = jnp.ones(())
    np.testing.assert_allclose(
        jax.jit(lambda speed: differentiate_both_ways(end, speed, one, one))(0.3 * one), [0.3, 1.0, 1.0]
    )


def test_what_stops_a_run(falling_grains, near_list):
    model, state = falling_grains
    with pytest.raises(RuntimeError, match="STEP_TOO_LONG"):
        simulate(model, state, [0.0, 0.1], solver=FixedSteps(100, neighbours=near_list))
    thrown = eqx.tree_at(lambda s: s.velocity, state, state.velocity.at[0, 2].set(jnp.nan))
    ended = simulate(model, thrown, [0.0, 0.01], solver=FixedSteps(10_000, neighbours=near_list), throw=False)
    assert ended.status == Status.NOT_FINITE
