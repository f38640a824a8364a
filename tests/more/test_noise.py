"""Roughness: reproducible, bounded in height and slope, twice differentiable, a distance that never overshoots."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.shape import Patch, Rough
from tests.core.test_noise import BALL, POINTS, distances, heights, rough_plane


def test_the_amplitude_follows_its_map():
    patch = Patch((0.0, 0.0, 0.0), 5.0, 0.0, 1.0)
    far, near = POINTS + jnp.array([[200.0, 0, 0]]), POINTS / 40 * 0.1
    np.testing.assert_allclose(heights(rough_plane(patch), far), heights(rough_plane(1.0), far), rtol=1e-12)
    assert abs(np.asarray(heights(rough_plane(patch), near))).max() < 2e-3
    at_radius = float(jnp.linalg.norm(jax.grad(patch)(jnp.array([5.0, 0.0, 0.0]))))
    largest, slope = patch.bounds()
    assert float(slope) == pytest.approx(at_radius, rel=1e-12) and largest == 1
    everywhere = np.linalg.norm(jax.vmap(jax.grad(patch))(POINTS / 4), axis=1)
    assert everywhere.max() <= float(slope)


def test_the_distance_never_overshoots():
    """The true distance to the rough ball's surface, from many points of it, is never below |distance|."""
    ball = Rough(BALL, 0.2, 1.5, 11, 3)
    u = np.random.default_rng(0).normal(size=(20_000, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    surface = np.asarray(BALL.centre) + 2.3 * u
    for _ in range(40):  # marching by the distance, along the radius from outside, stops on the surface
        surface = surface - u * np.asarray(distances(ball, jnp.array(surface)))[:, None]
    np.testing.assert_allclose(distances(ball, jnp.array(surface)), 0, atol=1e-4)
    from_centre = np.linalg.norm(surface - np.asarray(BALL.centre), axis=1)
    assert abs(from_centre - 2).max() <= 0.2 and abs(from_centre - 2).max() > 0.05
    points = np.asarray(BALL.centre) + np.random.default_rng(1).uniform(-3, 3, size=(300, 3))
    true = np.array([np.linalg.norm(surface - p, axis=1).min() for p in points])
    claimed = np.abs(distances(ball, jnp.array(points)))
    assert np.all(claimed <= true + 1e-4)
    assert np.median(claimed / true) > 0.4
