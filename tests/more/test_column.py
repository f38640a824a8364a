"""Columns of grains: what is measured of a heap, and the smallest run of the study."""

import numpy as np
import pytest

from experiments.column.collapse import lube
from experiments.column.heap import Heap
from experiments.column.scene import PACKED, Column


def test_a_cone_is_measured_as_one():
    """30 cm wide, 6 cm high, of 1 mm grains at random, off the axis."""
    random = np.random.default_rng(0)
    reach, top, size = 0.15, 0.06, 1e-3
    count = round(PACKED * np.pi / 3 * reach**2 * top / (np.pi / 6 * size**3))
    share = random.uniform(size=(3, count))
    z = top * (1 - share[0] ** (1 / 3))
    r = reach * (1 - z / top) * np.sqrt(share[1])
    place = np.stack([r * np.cos(2 * np.pi * share[2]) + 0.3, r * np.sin(2 * np.pi * share[2]), z])
    heap = Heap.measure(place, np.full(count, 0.5 * size), rings=200)
    assert heap.slope == pytest.approx(np.degrees(np.arctan(top / reach)), abs=0.3)
    assert heap.top == pytest.approx(top, rel=0.05)
    assert heap.front == pytest.approx(reach * (1 - 0.5 * size / top), abs=size)
    assert 0 < heap.beyond < 1e-3
    with pytest.raises(ValueError, match=r"past 0\.1 m: give more than 100 rings"):
        Heap.measure(place, np.full(count, 0.5 * size), rings=100)
    with pytest.raises(ValueError, match="are no heap"):
        Heap.measure(place[:, :3], np.full(3, 0.5 * size))


def test_columns_have_one_volume_at_any_scale():
    fine, coarse = Column(2.0, 8000), Column(2.0, 1000)
    assert coarse.radius == pytest.approx(fine.radius) and coarse.diameter == pytest.approx(2 * fine.diameter)
    assert lube(np.array([1.0, 4.0])).tolist() == [1.24, 3.2]
