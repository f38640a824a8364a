"""A lander's hull: its lowest point, how it bounces and lies, its energy, its derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import safe, simulate
from difsim.body import Hull, RigidState
from difsim.rotation import Rotation
from tests.helpers import check_finite, check_gradients
from tests.philae import BOX, P0, RESTITUTION, build

SIDE, OVER = 0.5 * np.pi, np.pi


def directions(count, seed=0):
    n = np.random.default_rng(seed).normal(size=(count, 3))
    return jnp.asarray(n / np.linalg.norm(n, axis=1, keepdims=True))


def thrown(turn, height, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), gravity=0.0, hull=BOX):
    """A lander that is turned about an axis halfway between x and y, over flat ground, far from the boulder."""
    model, _ = build(P0, hull=hull, gravity=gravity)
    attitude = Rotation.from_rotation_vector(turn * jnp.array([1.0, 1.0, 0.0]) / np.sqrt(2))
    return model, model.start(RigidState([-20.0, 0.0, height], velocity, attitude, spin))


def test_the_lowest_point_is_that_of_a_rounded_box():
    """It supports the hull: no other point lies lower; along a diagonal it is the box's corner, to 1 %."""
    ups = directions(200)
    points = jax.vmap(BOX.lowest)(ups)
    heights = np.asarray(points @ ups.T)  # of each point along each direction
    assert np.all(np.diag(heights) <= heights.min(axis=0) + 1e-12)
    corner = BOX.lowest(jnp.ones(3) / np.sqrt(3))
    np.testing.assert_allclose(corner, -0.5 * BOX.size, rtol=0.01)
    assert np.linalg.norm(points, axis=1).max() <= BOX.radius
    face = BOX.lowest(jnp.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(face, [0, 0, -0.35 - 0.01], atol=2e-4)


def test_the_lowest_point_is_minus_the_slope_of_the_depth():
    """So a push that depends on the depth alone does the work of an energy, however the hull turns."""
    depth = lambda up: -BOX.lowest(safe.unit(up)) @ safe.unit(up)  # noqa: E731
    for up in directions(20, seed=1):
        across = -BOX.lowest(up) - (-BOX.lowest(up) @ up) * up
        np.testing.assert_allclose(jax.grad(depth)(up), across, rtol=0, atol=1e-14)
    check_gradients(lambda hull, up: hull.lowest(up), BOX, directions(1)[0])
    check_finite(BOX.lowest, jnp.array([0.0, 0.0, 1.0]))


def test_it_bounces_from_a_face_with_its_restitution():
    """Upside down, face first: a central impact on one point. Smoothing raises e by less than 0.03."""
    model, state = thrown(OVER, 0.5, velocity=(0.0, 0.0, -0.5))
    solution = simulate(model, state, jnp.linspace(0.0, 3.0, 41))
    velocity = solution.states.body.velocity[-1]
    assert 0 < float(velocity[2]) / 0.5 - RESTITUTION < 0.03
    assert np.abs(velocity[:2]).max() < 1e-9


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ([1.0, 0.0, 0.8], "size = .*must be positive"),
        ([1.0, 0.8], "shape"),
        ([1.0, float("nan"), 0.8], "must be finite"),
    ],
)
def test_wrong_hulls_are_refused(size, message):
    with pytest.raises(ValueError, match=message):
        Hull(size, BOX.normal)
