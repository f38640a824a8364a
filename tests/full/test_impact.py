"""Impulses at one point: closed forms of balls, energy in any impact, slip that reverses, what holds a point."""

import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact import Newton, Stronge
from tests.helpers import check_gradients

UP = np.array([0.0, 0.0, 1.0])


def response(mass, inertia, arm):
    """1/m - [r]×I⁻¹[r]×."""
    x, y, z = arm
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) / mass - cross @ np.linalg.solve(inertia, cross)


BALL = response(2.0, 0.4 * 2.0 * 0.1**2 * np.eye(3), [0, 0, -0.1])  # 1/m along n, 7/2 of it across


def rod(angle):
    """A thin rod of 1 kg and 1 m that leans in the x-z plane and touches with its lower end."""
    axis = np.array([np.cos(angle), 0, np.sin(angle)])
    return response(1.0, (np.eye(3) - 0.999 * np.outer(axis, axis)) / 12, -0.5 * axis)


ROD = rod(np.radians(60))

SLIDES, STICKS = (BALL, [4.0, 0.5, -2.0], 0.3), (BALL, [1.0, 0.5, -2.0], 0.3)

REVERSES = (ROD, [0.6, 0.0, -1.0], 0.35)


@pytest.mark.parametrize(
    "Law, W, u, μ",
    [
        pytest.param(Stronge, *REVERSES, id="Stronge, reverses"),
        pytest.param(Newton, *SLIDES, id="Newton, slides"),
        pytest.param(Newton, *STICKS, id="Newton, sticks"),
        pytest.param(Newton, *REVERSES, id="Newton, reverses"),
        pytest.param(Stronge, *SLIDES, id="Stronge, slides"),
        pytest.param(Stronge, *STICKS, id="Stronge, sticks"),
    ],
)
def test_derivatives_of_an_impact(Law, W, u, μ):
    def end_velocity(law, u):
        return u + W @ law.impulse(jnp.asarray(W), jnp.asarray(UP), u).total

    # Along y the rod's slip is at rest and its path has a kink in y: only x and z.
    def in_plane(law, u):
        return end_velocity(law, jnp.array([1.0, 0.0, 0.0]) * u[0] + jnp.asarray(UP) * u[1])

    if W is ROD:
        check_gradients(in_plane, Law(0.7, μ, 0), jnp.array(u)[::2], rtol=1e-6)
    else:
        check_gradients(end_velocity, Law(0.7, μ, 0), jnp.array(u), rtol=1e-6)
