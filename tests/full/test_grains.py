"""Soft spheres: closed forms, what is conserved, derivatives, what stops a run."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import Courant, FixedSteps, allocate, simulate
from difsim.contact import ConstantCohesion, RollingTorque
from difsim.dem import Grains
from difsim.shape import Plane
from tests.core.test_grains import FLOOR, HERTZ, RHO, G, R, equal, moving_state
from tests.helpers import to_single
from tests.more.test_grains import (
    MASS,
    falling_grains,  # noqa: F401  # of fixtures
    law,
)


def test_steps_are_of_second_order_for_elastic_grains():
    model = equal(law(restitution=1.0, friction=0.0), (0.0, 0.0, 0.0))
    x = 2.0001 * R * np.array([[0.0, np.cos(0.2), 0], [0, np.sin(0.2), 50], [50, 50, 50]])
    begin = moving_state(model, x, [[0.3, 0, 0], [0, 0, 0], [0, 0, 0]])
    with_steps = [simulate(model, begin, [0.0, 2.4e-4], solver=FixedSteps(n)) for n in (40, 80, 640)]
    coarse, fine, best = (run.last.position for run in with_steps)
    assert np.abs(best[1, 0]) > 1e-8  # they have met
    slope = np.log2(np.abs(coarse - best).max() / np.abs(fine - best).max())
    assert slope > 1.8


def test_fall_is_exact_and_a_stack_carries_its_weight():
    model = Grains(law(restitution=0.1), np.full(4, R), RHO, (0.0, 0.0, -G), (FLOOR,))
    k = 4 / 3 * HERTZ.effective_modulus
    above = np.array([4, 3, 2, 1]) * MASS * G
    effective = np.array([R, R / 2, R / 2, R / 2])
    depth = (above / (k * effective**0.5)) ** (2 / 3)
    height = np.cumsum(np.array([1, 2, 2, 2]) * R - depth)
    x = np.zeros((3, 4))
    x[2] = height
    run = simulate(model, model.at_rest(jnp.asarray(x)), [0.0, 0.05])
    np.testing.assert_allclose(run.states.position[-1, 2], height, rtol=0, atol=1e-5 * depth.min())
    x[2] += 0.05
    x[0] = np.arange(4) * 3 * R
    run = simulate(model, model.at_rest(jnp.asarray(x)), [0.0, 0.02, 0.05])
    np.testing.assert_allclose(
        run.states.position[1:, 2], x[2] - 0.5 * G * np.array([[4e-4], [25e-4]]), rtol=1e-13
    )


def test_a_sliding_sphere_begins_to_roll():
    """v = 5/7 v₀ from t = 2 v₀/(7 μ g) on, and with a resistance C it is slowed by 5/7 C/R g."""
    depth = (MASS * G / (4 / 3 * HERTZ.effective_modulus * R**0.5)) ** (2 / 3)
    for C in (0.0, 2e-5):
        rolling = (RollingTorque(C, 0.1),) if C else ()
        model = Grains(law(friction=0.3, rolling=rolling), np.full(2, R), RHO, (0.0, 0.0, -G), (FLOOR,))
        x = np.array([[0.0, 0.0], [0.0, 5 * R], [R - depth, R - depth]])
        state = moving_state(model, x, [[0.2, 0.2], [0, 0], [0, 0]])
        begins = 2 * 0.2 / (7 * 0.3 * G)
        run = simulate(model, state, [0.0, begins / 2, 2 * begins, 4 * begins], solver=Courant(0.3))
        v, w = run.states.velocity[1:, 0, 0], run.states.spin[1:, 1, 0]
        np.testing.assert_allclose(v[0], 0.2 - 0.3 * G * begins / 2, rtol=2e-3)
        if not C:
            arm = R - depth  # of the contact: friction turns the sphere by a little less than its radius
            rolls = 0.2 / (1 + 0.4 * (R / arm) ** 2)
            np.testing.assert_allclose([v[1:], w[1:] * arm], rolls, rtol=2e-4)
        else:
            np.testing.assert_allclose(v[1] - v[2], 5 / 7 * C / R * G * 2 * begins, rtol=2e-2)


def test_cohesion_holds_up_to_its_pull_off():
    hold = law(cohesion=(ConstantCohesion(3 * MASS * G, 0.02 * R),))
    for pulls, stays in ((2.5, True), (3.5, False)):
        model = Grains(hold, np.full(2, R), RHO, (0.0, 0.0, -pulls * G), (FLOOR,))
        ceiling = eqx.tree_at(lambda m: m.walls, model, (Plane((0.0, 0.0, 0.0), (0.0, 0.0, -1.0)),))
        x = np.array([[0.0, 5 * R], [0, 0], [-R, -R]])
        run = simulate(ceiling, ceiling.at_rest(jnp.asarray(x)), [0.0, 0.05])
        assert (abs(run.states.position[-1, 2] + R) < 0.02 * R).all() == stays


def test_memory_outlives_its_list():
    """Oblique impacts that stick, on each other and on a wall, are the same however often lists are made."""
    model = Grains(HERTZ, np.full(3, R), RHO, walls=(FLOOR,))
    x = np.array([[0.0, 2.001 * R, 9 * R], [0, 0, 0], [5 * R, 5 * R, 1.001 * R]])
    state = moving_state(model, x, [[0.3, 0, 0.05], [0.05, 0, 0], [0, 0, -0.3]])
    lists = (allocate(model, state, skin=skin) for skin in (0.5, 4e-4))
    once, often = (simulate(model, state, [0.0, 4e-4], solver=FixedSteps(200, neighbours=x)) for x in lists)
    assert (np.abs(once.states.spin[-1]).max(axis=0) > 0.1).all()
    np.testing.assert_allclose(often.states.spin[-1], once.states.spin[-1], rtol=1e-12)


def test_float32_stays_float32_within_a_float64_session(falling_grains):
    model, state = falling_grains
    both = (model, state), to_single((model, state))
    wide, narrow = (simulate(*given, [0.0, 4e-4], solver=FixedSteps(100)).states for given in both)
    assert {x.dtype for x in jax.tree.leaves(narrow) if x.dtype.kind == "f"} == {np.dtype(np.float32)}
    assert np.abs(wide.spin).max() > 1.0  # two have met
    np.testing.assert_allclose(narrow.position, wide.position, atol=1e-4 * R)
