"""A lander among grains: what its legs keep, how they give, that it is the lander it was made of."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from difsim.dem import Grains
from tests.legged import (
    DAMPING,
    LAW,
    SMALL,
    STIFFNESS,
    STROKE,
    moving,
    push_pebbles,
    ring_and_turn,
)

STILL = np.zeros((3, 4))


@eqx.filter_jit
def energies(clump, state):
    return clump.energy(state, jnp.zeros(3))


# Held outside of their centres of mass, so that what holds them turns them too.
HELD = eqx.tree_at(
    lambda c: c.attachment, SMALL, jnp.array([[0.1, 0.05, -0.2], [0.0, 0.1, -0.1], [0.0, 0.0, 0.1]])
)


def test_it_keeps_momentum_and_angular_momentum():
    wheeled = eqx.tree_at(lambda c: c.body.wheels, HELD, jnp.array([0.0, 0.0, 5.0]))
    begin = ring_and_turn(wheeled)
    before, after = (
        wheeled.total_motion(begin),
        wheeled.total_motion(push_pebbles(wheeled, begin, STILL, 1e-4, 5000)),
    )
    np.testing.assert_allclose(after[0], before[0] + 0.5 * before[1], atol=1e-11)
    np.testing.assert_allclose(after[1], before[1], atol=1e-12)
    np.testing.assert_allclose(after[2], before[2], atol=1e-10)


def test_energy_stays_without_dampers_and_falls_with_them():
    def energy(clump, state):
        parts = energies(clump, state)
        return float(parts["kinetic"] + parts["rotation"] + parts["elastic"])

    stiff = eqx.tree_at(lambda c: (c.damping, c.gear.damping), HELD, (jnp.array(1e-12), jnp.array(1e12)))
    begin = ring_and_turn(stiff)
    errors = [
        abs(energy(stiff, push_pebbles(stiff, begin, STILL, 0.02 / n, n)) / energy(stiff, begin) - 1)
        for n in (200, 400)
    ]
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] > 3  # second order
    begin = ring_and_turn(SMALL, along=0.0)  # where one leg goes out as another comes in, the gear takes nothing
    states = [push_pebbles(SMALL, begin, STILL, 1e-4, n) for n in (0, 100, 1000, 20000)]
    assert (np.diff([energy(SMALL, s) for s in states]) < 0).all()
    # Legs that ring come to rest: what they store then is by the turning of all.
    early, late = (float(energies(SMALL, s)["elastic"]) for s in (states[1], states[-1]))
    assert late < 0.02 * early


def test_push_on_all_soles_is_springs_and_damper_in_series():
    push, m, leg = 500.0, 90.0, 3.0

    def rate(_, y):
        body, feet, v, w, stroke = y
        spring = STIFFNESS * (feet - body - stroke)
        stop = 1e7 * max(stroke - STROKE, 0.0) ** 2
        return v, w, 3 * spring / m, 3 * (push - spring) / leg, (3 * spring - stop) / DAMPING

    theirs = solve_ivp(rate, (0.0, 0.05), np.zeros(5), rtol=1e-10, atol=1e-12, method="LSODA").y[:, -1]
    assert theirs[-1] > STROKE  # into the stop
    force = jnp.array([[0.0] * 4, [0.0] * 4, [0.0, push, push, push]])
    begin = moving(SMALL)
    ours = [push_pebbles(SMALL, begin, force, 0.05 / n, n) for n in (1000, 2000)]
    errors = [
        np.array(
            [
                s.body.position[2] - begin.body.position[2] - theirs[0],
                s.body.velocity[2] - theirs[2],
                s.gear[0] - theirs[4],
            ]
        )
        for s in ours
    ]
    # The dampers take the velocity half a step back: first order.
    np.testing.assert_allclose(2 * errors[1] - errors[0], 0.0, atol=1e-5)
    np.testing.assert_allclose(errors[1], 0.0, atol=1e-3)


def test_the_state_of_one_body_is_none_of_a_lander():
    with pytest.raises(ValueError, match="RigidState is no state of a LeggedClump"):
        Grains(LAW, np.array([0.04]), 600.0, clumps=(SMALL,), clump_laws=(None,)).at_rest(
            jnp.zeros((3, 1)), (moving(SMALL).body,)
        )
