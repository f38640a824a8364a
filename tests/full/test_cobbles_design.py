"""Experiment design by gradient: the derivative of ln σ(e), places on the surface, a descent within bounds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.cobbles import design
from experiments.cobbles.design import descend
from experiments.cobbles.design_model import slopes
from tests.collision_toy import motion_sensitivity, theta
from tests.more.test_cobbles_design import DIRECTIONS, place, start  # noqa: F401  # of fixtures

TIMES = jnp.linspace(0.0, 1.6, 9)


@pytest.fixture(scope="module")
def motion():
    return jax.jit(motion_sensitivity)(theta(), TIMES)


def test_the_derivative_of_the_predicted_sigma(place, start, motion):
    """By cameras and markers and by the motion, one random direction each, against central differences."""
    _, by_design, by_motion = slopes(place, start, motion)
    rng = np.random.default_rng(0)
    for name in ("cameras", "markers"):
        way = rng.standard_normal(getattr(start, name).shape)
        at = lambda h: eqx.tree_at(lambda d: getattr(d, name), start, getattr(start, name) + h * way)  # noqa: B023, E731
        slope = (slopes(place, at(1e-5), motion)[0] - slopes(place, at(-1e-5), motion)[0]) / 2e-5
        assert abs(float(slope)) > 1e-3
        assert float(jnp.sum(getattr(by_design, name) * way)) == pytest.approx(float(slope), rel=1e-6)
    way = jnp.asarray(rng.standard_normal(motion.by_theta.first.position.shape))
    at = lambda h: eqx.tree_at(  # noqa: E731
        lambda m: m.by_theta.first.position, motion, motion.by_theta.first.position + h * way
    )
    slope = (slopes(place, start, at(1e-7))[0] - slopes(place, start, at(-1e-7))[0]) / 2e-7
    assert float(jnp.sum(by_motion.by_theta.first.position * way)) == pytest.approx(float(slope), rel=1e-5)


def test_a_descent_stays_within_its_bounds_and_is_sharper(place, start, motion):
    end = descend(place, start, ("cameras",), motion, 5)
    low, high = np.array([*design.WALL, *design.AIM]).T
    assert (np.asarray(end.cameras) >= low - 1e-12).all() and (np.asarray(end.cameras) <= high + 1e-12).all()
    assert float(slopes(place, end, motion)[0]) < float(slopes(place, start, motion)[0]) - 0.05
    np.testing.assert_array_equal(end.markers, start.markers)
