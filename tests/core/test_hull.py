"""A lander's hull: its lowest point, its section at a depth, and the derivatives of both."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import safe
from tests.helpers import approx, check_finite, check_gradients, directions
from tests.philae import BOX


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
    for up in jnp.asarray(directions(20, seed=1)):
        across = -BOX.lowest(up) - (-BOX.lowest(up) @ up) * up
        np.testing.assert_allclose(jax.grad(depth)(up), across, rtol=0, atol=1e-14)
    check_gradients(lambda hull, up: hull.lowest(up), BOX, jnp.asarray(directions(1)[0]))
    check_finite(BOX.lowest, jnp.array([0.0, 0.0, 1.0]))


def section(up, depth):
    return np.pi * BOX.contact_radius(jnp.asarray(up) / np.linalg.norm(up), jnp.asarray(depth)) ** 2


def test_the_section_is_that_of_a_box():
    """A triangle d²/(2 n₁n₂n₃); a strip of the edge's length, d/(n₂n₃) wide; the face, which bulges by 1 cm."""
    assert section([1.0, 1.0, 1.0], 0.02) == approx(0.5 * 0.02**2 * 3**1.5, rel=0.1)
    strip = 1.0 * 0.03 / (0.6 * 0.8)
    assert section([0.0, 0.6, 0.8], 0.03) == approx(strip, rel=0.1)
    assert section([0.0, 0.0, 1.0], 0.2) == approx(1.0, rel=0.03) and section([1.0, 0.0, 0.0], 0.2) == approx(
        0.7, rel=0.03
    )
    assert section([0.0, 0.0, 1.0], 1e-3) == approx(2 / np.pi * 2 * np.pi * 1e-3 * 0.5 / 0.01, rel=0.2)


def test_the_section_widens_with_depth_up_to_the_box():
    depths = jnp.geomspace(1e-4, 2.0, 60)
    for up in jnp.asarray(directions(20, seed=2)):
        radius = np.asarray(jax.vmap(BOX.contact_radius, in_axes=(None, 0))(up, depths))
        assert np.all(np.diff(radius) > 0)
        shadow = np.sum(np.abs(np.asarray(up)) * np.prod(BOX.size) / np.asarray(BOX.size))
        assert 0.57 * shadow < np.pi * radius[-1] ** 2 < shadow  # 1/√3 of the shadow along a diagonal
    check_gradients(
        lambda hull, *at: hull.contact_radius(*at), BOX, jnp.asarray(directions(1)[0]), jnp.array(0.03)
    )
    check_finite(BOX.contact_radius, jnp.array([0.0, 0.0, 1.0]), jnp.array(1e-3))
