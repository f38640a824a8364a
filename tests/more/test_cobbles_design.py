"""Experiment design by gradient: the derivative of ln σ(e), places on the surface, a descent within bounds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.shape import Box
from experiments.cobbles.cameras import SCENARIOS, scenario
from experiments.cobbles.design import paper_design
from experiments.cobbles.design_model import APART, Place, build_setup, crowding_penalty, surface_point
from experiments.cobbles.through import setup
from tests.collision_toy import RADIUS, ball

DIRECTIONS = np.array([[0.6, 0.0, 0.8], [0.0, 0.6, 0.8], [-0.5, -0.6, 0.6], [-0.7, 0.5, 0.1]])


@pytest.fixture(scope="module")
def start():
    return paper_design(3, DIRECTIONS)[0]


@pytest.fixture(scope="module")
def place():
    walls = paper_design(3, DIRECTIONS)[1]
    return Place(setup(ball(), scenario(3), np.tile(RADIUS * DIRECTIONS, (2, 1, 1))), walls, 1.0)


def test_the_papers_cameras_come_back_from_their_design(place, start):
    rig = jax.jit(build_setup)(place, start).view.rig
    np.testing.assert_allclose(rig.rotation, scenario(3).rotation, atol=1e-12)
    np.testing.assert_allclose(jax.vmap(lambda c: c.position)(rig), [p for p, _ in SCENARIOS[3]], atol=1e-12)


def test_markers_are_on_the_surface_and_move_along_it():
    half = np.array([0.03, 0.05, 0.04])
    box = Box(half)
    there = jax.jit(jax.value_and_grad(lambda d, axis: surface_point(box, 0.08, d) @ axis))
    for d in np.array([(1.0, 0.2, -0.3), (0.1, 2.0, 0.4), (0.3, 0.1, -0.9)]):
        k = int(np.argmax(np.abs(d) / half))  # the face that the ray meets: p = h d/|d_k|
        for axis in np.eye(3):
            value, slope = there(jnp.asarray(d), jnp.asarray(axis))
            assert float(value) == pytest.approx(half[k] / np.abs(d[k]) * d @ axis, abs=1e-9)
            closed_form = half[k] / np.abs(d[k]) * (axis - (d @ axis) / d[k] * np.eye(3)[k])
            np.testing.assert_allclose(slope, closed_form, atol=1e-9)


def test_markers_on_one_another_are_pushed_apart():
    markers = np.zeros((2, 2, 3))
    markers[:, 1, 0] = (0.5 * APART, 2 * APART)
    value, slope = jax.value_and_grad(crowding_penalty)(jnp.asarray(markers))
    assert float(value) == pytest.approx(0.25)
    assert slope[0, 1, 0] < 0 < slope[0, 0, 0] and not np.asarray(slope[1]).any()
