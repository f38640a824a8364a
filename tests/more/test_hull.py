"""A lander's hull: its lowest point, how it bounces and lies, its energy, its derivatives."""

import jax.numpy as jnp
import numpy as np
import pytest

from difsim import simulate
from difsim.body import RigidState
from difsim.rotation import Rotation
from tests.helpers import approx
from tests.philae import BOX, P0, RESTITUTION, build
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
    assert solution.values_are_valid and np.abs(model.hull(state).normal) == 0
    account = total(solution)
    assert np.abs(account - account[0]).max() < 1e-5 * solution.energy["kinetic"][0]
    strict = simulate(model, state, jnp.linspace(0.0, 8.0, 41), **forward(1e-10, 1e-11), throw=False)
    for sink in ("ground", "friction"):
        part = np.asarray(strict.energy[sink])
        assert part[-1] > 0.1 and np.diff(part).min() > -1e-9, sink


def test_a_lander_that_tips_over_lies_on_its_hull():
    """On its side it comes to rest above the ground, and the ground carries its weight."""
    gravity = 0.5
    model, state = throw(SIDE, 1.0, gravity=gravity)
    solution = simulate(model, state, jnp.linspace(0.0, 40.0, 41), throw=False)
    end = solution.last
    assert solution.values_are_valid and float(end.body.position[2]) > 0.3
    assert float(jnp.linalg.norm(end.body.velocity)) < 0.01
    assert float(model.contact_force(end)[2]) == approx(96.3 * gravity, rel=0.02)
    assert float(model.hull(end).normal) > 0.1 * 96.3 * gravity


def test_it_bounces_from_a_face_with_its_restitution():
    """Upside down, face first: a central impact on one point. Smoothing raises e by less than 0.03."""
    model, state = throw(OVER, 0.5, velocity=(0.0, 0.0, -0.5))
    solution = simulate(model, state, jnp.linspace(0.0, 3.0, 41))
    velocity = solution.states.body.velocity[-1]
    assert 0 < float(velocity[2]) / 0.5 - RESTITUTION < 0.03
    assert np.abs(velocity[:2]).max() < 1e-9
