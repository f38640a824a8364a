"""A lander's hull in regolith: how it digs in and lies, its pit, its energy, its derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import simulate
from difsim.body import Flywheel, Lander, RigidState
from difsim.dynamics import Touchdown
from difsim.rotation import Rotation
from tests.helpers import approx, check_finite, check_gradients
from tests.philae import BOX, P0, build
from tests.ways import forward

SIDE, OVER = 0.5 * np.pi, np.pi


def throw(turn, height, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), gravity=0.0, hull=BOX):
    """A lander that is turned about an axis halfway between x and y, over flat ground, far from the boulder."""
    model, _ = build(P0, hull=hull, gravity=gravity)
    attitude = Rotation.from_rotation_vector(turn * jnp.array([1.0, 1.0, 0.0]) / np.sqrt(2))
    return model, model.start(RigidState([-20.0, 0.0, height], velocity, attitude, spin))


def total(solution):
    return np.sum([np.asarray(part) for part in solution.energy.values()], axis=0)


@pytest.mark.parametrize("turn", [1.2, SIDE, 2.5])
def test_its_energy_closes_and_no_sink_gives_any_back(turn):
    """Thrown with a spin on edges and corners, again and again: 1e-5 of the initial energy, at the default."""
    model, state = throw(turn, 1.6, (0.2, -0.1, -0.6), (0.9, -0.4, 0.2), gravity=0.05)
    solution = simulate(model, state, jnp.linspace(0.0, 8.0, 41), throw=False)
    assert solution.values_are_valid and model.hull(state).normal < 1e-9
    account = total(solution)
    assert np.abs(account - account[0]).max() < 1e-5 * solution.energy["kinetic"][0]
    strict = simulate(model, state, jnp.linspace(0.0, 8.0, 41), **forward(1e-10, 1e-11), throw=False)
    for sink in ("ground", "friction"):
        part = np.asarray(strict.energy[sink])
        assert part[-1] > 0.1 and np.diff(part).min() > -1e-9, sink


def test_a_lander_without_legs_lies_on_a_face():
    """Dropped flat it comes to rest on the ground, which carries its weight."""
    gravity = 0.01
    model, state = throw(0.0, 0.4, (0.0, 0.0, -0.1), gravity=gravity)
    lander = Lander.without_legs(model.lander.body, Flywheel(0.0, 1.0), BOX)
    model = Touchdown(lander, model.regolith, None, model.gravity, 0.0)
    solution = simulate(model, model.start(state.body), jnp.linspace(0.0, 10.0, 11), throw=False)
    end = solution.last
    assert solution.values_are_valid and float(jnp.linalg.norm(end.body.velocity)) < 1e-3
    assert float(model.contact_force(end)[2]) == approx(96.3 * gravity, rel=0.02)
    assert 0.34 < float(end.body.position[2]) < 0.36


def test_a_face_stops_in_the_ground_and_leaves_a_pit():
    """Upside down, face first: no elastic part throws it back, and the pit has taken the energy."""
    model, state = throw(OVER, 0.5, velocity=(0.0, 0.0, -0.5))
    solution = simulate(model, state, jnp.linspace(0.0, 3.0, 41))
    assert np.abs(solution.last.body.velocity).max() < 1e-3
    lost = float(solution.energy["ground"][-1])
    assert lost == approx(0.5 * 96.3 * 0.5**2, rel=1e-3)
    (pit,) = solution.last.pit
    # Between no and full area of the face from its first touch: the bearing pressure times a volume.
    pressure = float(model.regolith.bearing_pressure(pit, jnp.array(0.5)))
    assert 0.2 * lost / pressure < float(pit) < 3 * lost / pressure


def test_a_pit_stays_where_it_was_made():
    """The hull that rises leaves its pit as it is below it, and finds firm ground where it travelled in the air."""
    model, state = throw(SIDE, 1.0)

    def fly(velocity):
        body = eqx.tree_at(lambda b: b.velocity, state.body, jnp.asarray(velocity))
        start = eqx.tree_at(lambda s: (s.pit, s.body), state, (jnp.array([0.03]), body))
        return simulate(model, start, jnp.linspace(0.0, 1.0, 3)).last.pit

    assert fly([0.0, 0.0, 0.2]) == approx(0.03, rel=1e-3)  # the flywheel turns it a little
    away = 0.1 * BOX.radius
    assert fly([float(away), 0.0, 0.2]) == approx(0.03 / np.e, rel=1e-3)


STATES = {  # height over where it lies, m; velocity, m/s; depth of the pit, m
    "separated": (0.2, (0.1, -0.05, -0.3), 0.0),
    "touching": (0.0, (0.1, -0.05, -0.3), 0.0),
    "in its pit": (-0.031, (0.02, 0.01, -0.1), 0.03),
    "rising": (-0.031, (0.02, 0.01, 0.1), 0.03),
    "sliding to a stop": (-0.033, (4e-3, -3e-3, -2e-3), 0.03),
    "at rest": (-0.034, (0.0, 0.0, -1e-5), 0.03),
}


@pytest.mark.parametrize("case", STATES)
def test_forces_have_derivatives(case):
    """Forward, reverse and differences of all rates by the state and by the ground."""
    over, velocity, pit = STATES[case]
    model, state = throw(1.2, 1.0)
    height = 1.0 + over - model.hull(state).point[0, 2]
    body = RigidState([-20.0, 0.0, height], velocity, Rotation(state.body.attitude), [0.02, -0.03, 0.01])

    def rates(regolith, velocity, spin, height, pit):
        moved = eqx.tree_at(
            lambda b: (b.velocity, b.spin, b.position), body, (velocity, spin, body.position.at[2].set(height))
        )
        now = eqx.tree_at(lambda s: (s.body, s.pit), state, (moved, pit[None]))
        rate, power = eqx.tree_at(lambda m: m.regolith, model, regolith).rates(jnp.array(0.0), now)
        return rate.body.velocity, rate.body.spin, rate.pit, power["ground"], power["friction"]

    at = body.velocity, body.spin, body.position[2], jnp.asarray(pit)
    check_gradients(rates, model.regolith, *at, step=1e-6, rtol=1e-5, reverse_rtol=1e-8)
    check_finite(rates, model.regolith, *at)


def test_a_landing_on_an_edge_has_derivatives():
    """Thrown on an edge, where it digs in, slides and turns: its end by its start and its ground."""

    @jax.jit
    def end(x):
        model, state = throw(1.2, 1.1, (0.3 * x[0], -0.1, -0.4 * x[1]), (0.1, -0.2, 0.0))
        model = eqx.tree_at(lambda m: m.regolith.friction, model, 0.6 * x[2])
        last = simulate(model, state, jnp.linspace(0.0, 1.5, 2), **forward(1e-9, 1e-9), throw=False).last
        return jnp.concatenate([last.body.velocity, last.body.spin, last.pit])

    exact, x, step = jax.jacfwd(end)(jnp.ones(3)), jnp.ones(3), 1e-4
    for i in range(3):
        e = step * jnp.eye(3)[i]
        difference = (8 * (end(x + e) - end(x - e)) - (end(x + 2 * e) - end(x - 2 * e))) / (12 * step)
        np.testing.assert_allclose(exact[:, i], difference, rtol=0, atol=2e-3 * float(jnp.abs(exact).max()))
