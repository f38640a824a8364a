"""Roughness: reproducible, bounded in height and slope, twice differentiable, a distance that never overshoots."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.shape import Patch, Plane, Rough, Sphere
from difsim.shape.noise import Constant
from tests.helpers import check_gradients, to_single

PLANE = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))

BALL = Sphere((0.1, -0.2, 0.3), 2.0)

POINTS = jnp.array(np.random.default_rng(3).uniform(-40, 40, size=(4000, 3)))


def rough_plane(amplitude=1.0, seed=5, octaves=4, wavelength=10.0):
    return Rough(PLANE, amplitude, wavelength, seed, octaves)


heights = jax.jit(jax.vmap(lambda sdf, x: sdf.height(x), in_axes=(None, 0)))

slopes = jax.jit(jax.vmap(lambda sdf, x: jax.grad(sdf.height)(x), in_axes=(None, 0)))

distances = jax.jit(jax.vmap(lambda sdf, x: sdf.distance(x), in_axes=(None, 0)))


def test_the_seed_makes_the_ground():
    first = heights(rough_plane(), POINTS)
    np.testing.assert_array_equal(heights(rough_plane(), POINTS), first)
    others = [np.asarray(heights(rough_plane(seed=s), POINTS)) for s in (4, 6, 2**31)]
    assert np.abs(np.corrcoef([np.asarray(first), *others]) - np.eye(4)).max() < 0.1


@pytest.mark.parametrize("octaves", [1, 4])
def test_height_and_slope_are_of_the_stated_size(octaves):
    ground = rough_plane(octaves=octaves)
    h, g = np.asarray(heights(ground, POINTS)), np.linalg.norm(slopes(ground, POINTS), axis=1)
    bound = float(ground.gradient_bound())
    frequency = [1, (1 + 1 + 1 + 1) / (1 + 0.5 + 0.25 + 0.125)][octaves > 1]
    assert bound == pytest.approx(3.225 / 10 * frequency, rel=1e-12)
    assert abs(h).max() <= 1 and abs(h).max() > 0.3
    assert np.std(h) == pytest.approx({1: 0.22, 4: 0.135}[octaves], rel=0.05)
    assert abs(np.mean(h)) < 0.02
    assert bound / 4 < g.max() <= bound


def test_no_place_is_flat_in_all_octaves():
    """Gradient noise is zero on its lattice: the origin would be a level spot of every seed."""
    at_origin = jax.jit(jax.vmap(lambda seed: rough_plane(seed=seed).height(jnp.zeros(3))))(jnp.arange(8))
    assert jnp.all(at_origin != 0) and jnp.std(at_origin) > 0.03


def test_the_direction_makes_no_difference():
    """Mean square slopes along x, y, z, and along the diagonal, agree."""
    g = np.asarray(slopes(rough_plane(octaves=4), POINTS))
    mean = (g**2).mean()
    np.testing.assert_allclose((g**2).mean(axis=0), mean, rtol=0.15)
    assert ((g @ np.ones(3)) ** 2).mean() / 3 == pytest.approx(mean, rel=0.15)


def test_two_derivatives_are_continuous_across_cells():
    """Along a line, second differences of the second derivative shrink with the step; a kink would keep them."""
    ground = rough_plane(octaves=1, wavelength=1.0)
    line = jnp.array([0.31, 0.67, 0.43])

    def distance_along(t):
        return ground.height(t * line)

    second = jax.jit(jax.vmap(jax.grad(jax.grad(distance_along))))
    jumps = []
    for step in (4e-3, 1e-3):
        jumps.append(np.abs(np.diff(second(jnp.arange(0, 12, step)))).max())
    assert jumps[1] < 0.35 * jumps[0]


@pytest.mark.parametrize(
    "amplitude", [Constant(0.3), Patch((1.0, 2.0, 0.5), 3.0, 0.05, 0.4)], ids=["constant", "patch"]
)
def test_derivatives(amplitude):
    ground = Rough(BALL, amplitude, 4.0, 3, 2)
    check_gradients(lambda sdf, x: jax.vmap(sdf.distance)(x), ground, POINTS[:3] / 10)


def test_float32():
    ground = to_single(rough_plane())
    d = distances(ground, POINTS[:50].astype(jnp.float32))
    assert d.dtype == jnp.float32
    np.testing.assert_allclose(d, distances(rough_plane(), POINTS[:50]), atol=1e-5)
