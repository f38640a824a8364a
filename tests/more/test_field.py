"""The ground of 200 heights: its spline, the picture and the words, and, slowly, the descent that recovers it."""

import jax
import jax.numpy as jnp
import numpy as np

from experiments.hopper import field


def test_the_ground_is_a_cubic_spline():
    y, x = np.meshgrid(*((np.arange(k) - 1) * field.SPACING for k in field.CELLS), indexing="ij")
    slope = field.HeightField(jnp.asarray(0.03 + 0.1 * x - 0.2 * y), field.SPACING)
    at = jnp.array([1.234, 0.567])
    np.testing.assert_allclose(slope.height(at), 0.03 + 0.1234 - 0.1134, rtol=1e-12)
    normal = np.array([-0.1, 0.2, 1.0]) / np.sqrt(1.05)
    place = jnp.append(at, slope.height(at)) + 0.1 * normal
    np.testing.assert_allclose(slope.distance(place), 0.1, rtol=1e-12)
    np.testing.assert_allclose(slope.normal(place), normal, rtol=1e-12)
    # The second derivative is continuous where two cells meet.
    bumpy = field.HeightField(jnp.asarray(np.random.default_rng(0).normal(size=field.CELLS)), field.SPACING)
    bend = jax.jit(jax.grad(jax.grad(lambda x: bumpy.height(jnp.stack([x, jnp.asarray(0.5)])))))
    np.testing.assert_allclose(bend(4 * field.SPACING - 1e-9), bend(4 * field.SPACING + 1e-9), rtol=1e-5)


def test_maps_have_the_spread_of_their_coefficients():
    true, spread = field.truth(), 4e-6 * np.eye(true_size := field.truth().size)
    maps, at = field._maps(true, true, spread)
    assert true_size == 200 and maps["sigma"].shape == (at["y"].size, at["x"].size)
    np.testing.assert_allclose(maps["true"], maps["found"])
    assert maps["sigma"].min() > 0.3 * 2e-3 and maps["sigma"].max() < 2e-3
