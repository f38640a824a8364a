"""The brush tool: its paths in closed form, its geometry at any spacing, a bed at rest, what is in the tray."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import cKDTree

from difsim.sph import Tool
from difsim.sph.tools import Carried, Sliding, Stopping, Turning
from experiments.sampling.collect import orderings, settling_time
from experiments.sampling.scene import (
    CASES,
    CLEARANCE,
    CONTACT,
    DESCENT,
    LOWERING,
    OPENING,
    PIVOTS,
    SUPPORT,
    TIP,
    Scene,
)

at = eqx.filter_jit(Tool.at)


def test_a_stopping_tool_stands_where_it_stopped():
    tool = Tool([0], [[1.0], [2.0]], Stopping([0.3, -0.5], 0.2))
    for time, place, velocity in [
        (0.0, (1.0, 2.0), (0.3, -0.5)),
        (0.1, (1.03, 1.95), (0.3, -0.5)),
        (5.0, (1.06, 1.9), (0.0, 0.0)),
    ]:
        x, v = at(tool, jnp.asarray(time))
        np.testing.assert_allclose(x[:, 0], place, rtol=1e-14)
        np.testing.assert_allclose(v[:, 0], velocity, atol=1e-14)


def test_a_brush_turns_in_a_tool_that_is_lowered():
    """x = c + R(ωt)(x0 - c) + u min(t, T), and its rate ω ẑ × (x - c - u t) + u."""
    centre, rate, down = np.array([0.4, 0.1]), 3.0, np.array([0.0, -0.05])
    first = np.array([[0.5, 0.4], [0.1, 0.0]])
    tool = Tool([0, 1], first, Carried(Turning(centre, rate), Stopping(down, 0.2)))
    for time in (0.05, 0.7):
        c, s = np.cos(rate * time), np.sin(rate * time)
        arm = np.array([[c, -s], [s, c]]) @ (first - centre[:, None])
        moving = time < 0.2
        x, v = at(tool, jnp.asarray(time))
        np.testing.assert_allclose(x, centre[:, None] + arm + (min(time, 0.2) * down)[:, None], rtol=1e-13)
        spun = rate * np.array([-arm[1], arm[0]]) + moving * down[:, None]
        np.testing.assert_allclose(v, spun, rtol=1e-12, atol=1e-13)
    # Two uniform motions add up.
    x, v = at(Tool([0], first[:, :1], Carried(Sliding([1.0, 0.0]), Sliding([0.0, 2.0]))), jnp.asarray(0.5))
    np.testing.assert_allclose((x[:, 0], v[:, 0]), ([1.0, 1.1], [1.0, 2.0]))


@pytest.mark.parametrize("spacing", [0.0012, 0.0018, 0.0024, 0.0028])
def test_the_tool_is_touched_from_3_mm_at_any_spacing(spacing):
    scene = Scene.build(CASES["P0"], spacing)
    _, left, right, frame = (np.asarray(tool.reference) for tool in scene.tools)
    reach = SUPPORT * spacing
    assert scene.bed[1].max() == pytest.approx(0.0, abs=1e-15)
    for brush in (left, right):
        assert brush[1].min() - reach == pytest.approx(CLEARANCE - CONTACT)
    # 12 bristles, 30 degrees apart, that end at one radius.
    arm = right - np.array([[PIVOTS / 2], [CLEARANCE + TIP]])
    radius, angle = np.hypot(*arm), np.degrees(np.arctan2(arm[1], arm[0]))
    tips = np.round(angle[(radius > radius.max() - 1e-4)] / 30) % 12
    assert set(tips) == set(range(12))
    # What gets through the opening keeps 3 mm from its edges.
    tray = frame[:, frame[1] > CLEARANCE + 2 * TIP]
    inner = np.abs(tray[0, tray[1] < tray[1].min() + 1e-9]).min()
    assert 2 * (inner - reach) == pytest.approx(OPENING - 2 * CONTACT)
    # Nothing starts closer to another particle than particles may be, and nothing in the tray.
    bed, tools = cKDTree(scene.bed.T), np.concatenate([left, right, frame], axis=1)
    assert bed.query(tools.T)[0].min() > reach
    assert scene.position.shape[1] == scene.bed.shape[1] + sum(len(tool.members) for tool in scene.tools)
    assert not scene.is_in_tray(scene.position, 0.0).any()


def test_the_tray_goes_down_with_the_tool():
    scene = Scene.build(CASES["P0"], 0.0028)
    frame = np.asarray(scene.tools[-1].at(jnp.asarray(0.3))[0])
    tray = frame[1, frame[1] > CLEARANCE + 2 * TIP - DESCENT * LOWERING]
    floor, ceiling = tray.min(), tray.max()
    position = scene.position.copy()
    position[:, :4] = [
        [0.0, 0.0, 0.0, 0.039],
        [floor - 0.002, ceiling + 0.002, 0.5 * (floor + ceiling), ceiling - 0.02],
    ]
    assert np.flatnonzero(scene.is_in_tray(position, 0.3)).tolist() == [2, 3]
    assert scene.is_in_tray(position, 0.3).shape == (scene.bed.shape[1],)


def test_settling_is_the_longest_flight_and_areas_are_named():
    # Thrown up at 9.6 m/s in 8 mm/s²: the paper's 40 minutes. Dropped from 2 m: √(2h/g).
    assert settling_time(np.array([0.0]), np.array([9.6]), 8e-3) == pytest.approx(2400.0)
    assert settling_time(np.array([2.0, 0.1]), np.zeros(2), 9.81) == pytest.approx(np.sqrt(4 / 9.81))
    assert settling_time(np.zeros(0), np.zeros(0), 9.81) == 0.0
    found = {"P5": {"tray_at_end_cm2": 3.0}, "P6": {"tray_at_end_cm2": 2.0}, "P0": {"tray_at_end_cm2": 1.0}}
    verdicts = orderings(found)
    assert verdicts == {
        "P5 > P0": {"holds": True, "cm2": [3.0, 1.0]},
        "P6 > P5": {"holds": False, "cm2": [2.0, 3.0]},
    }
