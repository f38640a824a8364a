"""Pictures of a motion show its numbers."""

from dataclasses import replace

import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest

from difsim import dynamics, gravity, mesh, plot, shape, simulate

matplotlib.use("agg")


@pytest.fixture(scope="module")
def bounce():
    ground = shape.Plane((0, 0, 1), (0, 0, 1))
    ball = dynamics.Bouncer(gravity.Uniform((0, 0, -1.0)), ground, 0.5)
    return ground, simulate(ball, dynamics.PointState((0, 0, 3)), jnp.linspace(0.0, 3.0, 31))


def test_height_is_the_distance_from_the_ground(bounce):
    ground, run = bounce
    ax = plot.height(run.times, run.states.position, ground, color="red")
    (line,) = ax.lines
    np.testing.assert_allclose(line.get_ydata(), run.states.position[:, 2] - 1.0)
    assert line.get_ydata()[0] == 2.0 and line.get_color() == "red"
    assert plot.height(run.times, run.states.position, ground, ax=ax) is ax and len(ax.lines) == 2


def test_energies_are_drawn_with_their_constant_sum(bounce):
    ax = plot.energy(bounce[1])
    *parts, total = ax.lines
    assert len(parts) == len(bounce[1].energy) and np.ptp(parts[0].get_ydata()) > 0.1
    np.testing.assert_allclose(total.get_ydata(), total.get_ydata()[0], rtol=1e-6)
    with pytest.raises(ValueError, match="has none: it was not asked"):
        plot.energy(replace(bounce[1], energy={}, unknown=("it was not asked",)))


def test_ellipse_has_the_axes_and_shares_of_its_places():
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    places = np.random.default_rng(0).normal(size=(4000, 2)) * (10.0, 2.0) @ turn.T + (5.0, 7.0)
    ax = plot.landing_ellipse(places)
    one, *_ = ax.patches
    np.testing.assert_allclose((one.width, one.height), (20.0, 4.0), rtol=0.05)
    np.testing.assert_allclose(one.center, (5.0, 7.0), atol=0.5)
    assert one.angle % 180 == pytest.approx(np.degrees(np.arctan2(0.6, 0.8)), abs=1.0)
    inside = [int(share) for share in ax.get_title().splitlines()[1].split(" %")[0].split(", ")]
    np.testing.assert_allclose(inside, (39, 86, 99), atol=2)
    for n, share in zip((1, 2, 3), inside, strict=True):
        holds = ax.patches[n - 1].contains_points(ax.transData.transform(places)).mean()
        assert 100 * holds == pytest.approx(share, abs=0.5)
    with pytest.raises(ValueError, match="2 places have no ellipse"):
        plot.landing_ellipse(places[:2])


def test_path_and_force():
    ax = plot.path(np.array([[0, 0, 2.0], [0, 1.0, 2.0]]), mesh.box((1.0, 1.0, 1.0)))
    assert len(ax.lines) == 2 and len(ax.collections) == 1
    ax = plot.force(np.array([0.0, 1.0]), np.array([[0.0, 3.0, 4.0], [0.0, 0.0, 1.0]]))
    assert ax.lines[0].get_ydata().tolist() == [5.0, 1.0] and "peak 5 N" in ax.get_title()
