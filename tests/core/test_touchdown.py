"""A Philae-like touchdown: its energies and momenta, and every output's derivative by every unknown."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Status, simulate
from tests.helpers import approx
from tests.philae import HALF, ON_TOP, P0, TOP, build, integrands
from tests.ways import forward

TIMES = np.linspace(0.0, 0.6, 7)


def run(p, method, clearance=0.02, times=TIMES):
    model, state = build(p, clearance=clearance)
    return simulate(model, state, times, **method, integrals=integrands, throw=False)


@pytest.fixture(scope="module")
def default():
    """One compilation for all parameters and heights with the central damper. Steps enough for each of them: a
    NaN goes on until there are no more."""
    return eqx.filter_jit(lambda p, clearance: run(p, forward(max_steps=5000), clearance=clearance))


@eqx.filter_jit
def momenta_of(model, times, states):
    return jax.vmap(model.momentum)(times, states)


CASES = {"strut on the edge": (P0, 0.02), "half": (HALF, ON_TOP), "sole on top": (TOP, ON_TOP)}


@pytest.mark.parametrize("case", CASES)
def test_energies_and_momenta_close(case, default):
    """Energy to 1e-6 of the initial one at the default tolerance, momentum and angular momentum likewise."""
    p, clearance = CASES[case]
    solution = default(p, jnp.array(clearance))
    assert solution.status == Status.OK
    energy = {name: np.asarray(part) for name, part in solution.energy.items()}
    total = sum(energy.values())
    assert np.abs(total - total[0]).max() < 1e-6 * energy["kinetic"][0]
    model, _ = build(p, clearance=clearance)
    momenta = momenta_of(model, solution.times, solution.states)
    for momentum, name in zip(momenta, ("impulse", "angular_impulse"), strict=True):
        account = np.asarray(momentum - solution.integrals[name])
        assert np.abs(account - account[0]).max() < 1e-6 * 96.3, name
    # It happened: energy went into ground, damper and friction, and none of the three gave any back.
    for sink in ("ground", "damper", "friction"):
        assert np.diff(energy[sink]).min() > -1e-9 and energy[sink][-1] > 1e-3, sink
    assert np.asarray(solution.integrals["boulder_impulse"])[-1] > 1
    assert np.diff(np.asarray(solution.integrals["sunk"]), axis=0).min() >= 0


def test_the_ground_keeps_what_went_into_it(default):
    """The lander leaves more slowly than it came, and the elastic parts are empty again."""
    solution = default(P0, jnp.array(0.02))
    energy = solution.energy
    assert energy["kinetic"][-1] < 0.3 * energy["kinetic"][0]
    assert abs(float(energy["elastic"][-1])) < 1e-2 * float(energy["kinetic"][0])
    assert solution.states.body.velocity[-1, 2] > 0


def test_a_footpad_above_the_ground_leaves_its_pit_behind():
    """At first by the share 2 d/(πR) of its depth in d m; none at rest above it, and none in it."""
    model, state = build(P0.at[7:10].set(0.0), clearance=0.02, velocity=(0.3, 0.4, 0.0))
    depth = jnp.array([0.1, 0.02, 0.0])
    above = eqx.tree_at(lambda s: (s.penetration, s.body.spin), state, (depth, jnp.zeros(3)))
    np.testing.assert_allclose(model.footpads(above).leaving, depth * 2 * 0.5 / (np.pi * 0.1), rtol=1e-12)
    still = eqx.tree_at(lambda s: s.body.velocity, above, jnp.zeros(3))
    np.testing.assert_array_equal(model.footpads(still).leaving, 0.0)
    inside = eqx.tree_at(lambda s: s.body.position, above, state.body.position - jnp.array([0.0, 0.0, 0.1]))
    assert np.abs(model.footpads(inside).leaving).max() < 1e-12


def test_flight_is_a_parabola(default):
    """Far from the ground nothing but gravity acts, and no sole creeps."""
    solution = default(P0, jnp.array(2.0))
    assert solution.status == Status.OK and solution.stats.steps_per_contact == np.inf
    t = np.asarray(TIMES)[:, None]
    start = jax.tree.map(lambda x: np.asarray(x[0]), solution.states.body)
    parabola = start.position + start.velocity * t - 0.5 * 1.69e-4 * t**2 * np.array([0, 0, 1])
    np.testing.assert_allclose(solution.states.body.position, parabola, atol=1e-13)
    assert np.all(np.asarray(solution.states.penetration) == 0)
    assert np.abs(solution.states.gear).max() < 1e-18  # the stop's tail, e⁻⁴² of its stiffness


def test_the_guard_sees_what_is_next():
    """The gap falls as fast as the lander at most, is positive before contact begins, and what a scenario does not
    touch is not near: with scenario 0 the sole beside the boulder passes its top's height untouched."""

    @jax.jit
    def see(p, clearance):
        model, state = build(p, clearance=clearance)
        return model.approach(jnp.array(0.0), state), model.contact_force(state)

    for p, clearance, height in ((P0, 0.05, 0.0), (TOP, ON_TOP + 0.05, 0.2)):
        near, force = see(p.at[7:10].set(0.0).at[6].set(1.0), jnp.array(clearance))
        assert near.gap == approx(0.04 + clearance - height - (0.02 if height == 0 else 0.0), abs=1e-9)
        assert near.speed >= 0.95
        assert np.abs(force).max() < 1e-4
