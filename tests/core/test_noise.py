"""Roughness: reproducible, bounded in height and slope, twice differentiable, a distance that never overshoots."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.shape import Patch, Plane, Rough, Sphere
from difsim.shape.noise import Constant
from tests.helpers import check_gradients, count_traces, single

PLANE = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
BALL = Sphere((0.1, -0.2, 0.3), 2.0)
POINTS = jnp.array(np.random.default_rng(3).uniform(-40, 40, size=(4000, 3)))


def rough(amplitude=1.0, seed=5, octaves=4, sdf=PLANE, wavelength=10.0):
    return Rough(sdf, amplitude, wavelength, seed, octaves)


heights = jax.jit(jax.vmap(lambda sdf, x: sdf.height(x), in_axes=(None, 0)))
slopes = jax.jit(jax.vmap(lambda sdf, x: jax.grad(sdf.height)(x), in_axes=(None, 0)))
distances = jax.jit(jax.vmap(lambda sdf, x: sdf.distance(x), in_axes=(None, 0)))


def test_the_seed_makes_the_ground():
    first = heights(rough(), POINTS)
    np.testing.assert_array_equal(heights(rough(), POINTS), first)
    others = [np.asarray(heights(rough(seed=s), POINTS)) for s in (4, 6, 2**31)]
    assert np.abs(np.corrcoef([np.asarray(first), *others]) - np.eye(4)).max() < 0.1
    # One compiled function serves all seeds, amplitudes and wavelengths.
    calls = [(rough(a, s, wavelength=w), POINTS[0]) for a, s, w in ((1.0, 1, 9.0), (2.0, 2, 8.0))]
    assert count_traces(lambda sdf, x: sdf.distance(x), *calls) == 1


@pytest.mark.parametrize("octaves", [1, 4])
def test_height_and_slope_are_of_the_stated_size(octaves):
    ground = rough(octaves=octaves)
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
    at_origin = jax.vmap(lambda seed: rough(seed=seed).height(jnp.zeros(3)))(jnp.arange(8))
    assert jnp.all(at_origin != 0) and jnp.std(at_origin) > 0.03


def test_the_direction_makes_no_difference():
    """Mean square slopes along x, y, z, and along the diagonal, agree."""
    g = np.asarray(slopes(rough(octaves=4), POINTS))
    mean = (g**2).mean()
    np.testing.assert_allclose((g**2).mean(axis=0), mean, rtol=0.15)
    assert ((g @ np.ones(3)) ** 2).mean() / 3 == pytest.approx(mean, rel=0.15)


def test_two_derivatives_are_continuous_across_cells():
    """Along a line, second differences of the second derivative shrink with the step; a kink would keep them."""
    ground = rough(octaves=1, wavelength=1.0)
    line = jnp.array([0.31, 0.67, 0.43])

    def along(t):
        return ground.height(t * line)

    second = jax.jit(jax.vmap(jax.grad(jax.grad(along))))
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


def test_derivatives_of_the_normal():
    check_gradients(rough(octaves=2).normal, POINTS[0] / 10)


def test_the_amplitude_follows_its_map():
    patch = Patch((0.0, 0.0, 0.0), 5.0, 0.0, 1.0)
    far, near = POINTS + jnp.array([[200.0, 0, 0]]), POINTS / 40 * 0.1
    np.testing.assert_allclose(heights(rough(patch), far), heights(rough(1.0), far), rtol=1e-12)
    assert abs(np.asarray(heights(rough(patch), near))).max() < 2e-3
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


def test_float32():
    ground = single(rough())
    d = distances(ground, POINTS[:50].astype(jnp.float32))
    assert d.dtype == jnp.float32
    np.testing.assert_allclose(d, distances(rough(), POINTS[:50]), atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rough(octaves=0), "octaves: 0"),
        (lambda: rough(octaves=33), "give 1 to 32"),
    ],
)
def test_wrong_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
