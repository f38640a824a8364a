"""Beds: sizes and coarse ones, containers, figures of known packings, settling, what a file keeps."""

import numpy as np
import pytest

from difsim.beds import BoxContainer, CylindricalContainer, GaussianSizes
from difsim.beds.sizes import coarse_grained
from difsim.beds.statistics import PackingStatistics

SIZES = GaussianSizes(0.018, 0.003)


def test_sizes_follow_a_truncated_normal_distribution():
    d = 2 * SIZES.radii(200_000, 0)
    assert d.min() > 0.012 and d.max() < 0.024
    np.testing.assert_allclose(d.mean(), 0.018, rtol=2e-3)
    np.testing.assert_allclose(d.std(), 0.8796 * 0.003, rtol=5e-3)  # of a normal one cut off at 2 σ
    np.testing.assert_allclose(np.pi / 6 * (d**3).mean(), SIZES.mean_volume, rtol=2e-3)
    np.testing.assert_array_equal(d, 2 * SIZES.radii(200_000, 0))
    assert np.abs(d[:10] - 2 * SIZES.radii(10, 1)).max() > 1e-4
    np.testing.assert_allclose(GaussianSizes(0.01, 0.0).radii(3, 0), 0.005)


def test_coarse_grains_keep_the_bulk_density():
    """The paper's drum of 5 m, 0.272 m deep, of 0.14 mm grains with a porosity of 0.75: 9.3e11 spheres."""
    drum, real = CylindricalContainer(5.0), GaussianSizes(1.4e-4, 0.0)
    volume = float(drum.area) * 0.272
    assert real.count(volume, 0.25) == pytest.approx(9.3e11, rel=2e-3)
    coarse = coarse_grained(real, 1000.0, 0.25, factor=200.0, packs=0.58)
    assert coarse.sizes.mean == pytest.approx(0.028)
    assert coarse.density * 0.58 == pytest.approx(250.0)
    assert coarse.sizes.count(volume, 0.58) * coarse.stands_for == pytest.approx(real.count(volume, 0.25))


def lattice(container, pitch, half, layers):
    along = (np.arange(-half, half) + 0.5) * pitch
    return np.stack(np.meshgrid(along, along, (np.arange(layers) + 0.5) * pitch, indexing="ij")).reshape(3, -1)


@pytest.mark.parametrize("container", [BoxContainer((0.2, 0.2)), CylindricalContainer(0.2)], ids=["bin", "drum"])
def test_figures_of_a_cubic_lattice(container):
    place = lattice(container, 0.01, 10, 20)
    overlap = 1e-3  # of the diameter: they touch
    figures = PackingStatistics.measure(place, np.full(place.shape[1], 0.005 * (1 + overlap)), 2000.0, container)
    assert figures.coordination == 6
    assert figures.height == pytest.approx(0.2)
    # The core begins and ends at the lattice's planes only nearly: 1 % of a bed of 16 pitches.
    assert figures.solid_fraction == pytest.approx(np.pi / 6, rel=0.01)
    assert figures.bulk_density == pytest.approx(2000 * figures.solid_fraction)
    assert figures.porosity == 1 - figures.solid_fraction
    apart = PackingStatistics.measure(place, np.full(place.shape[1], 0.0049), 2000.0, container)
    assert apart.coordination == 0
    with pytest.raises(ValueError, match="has no core"):
        PackingStatistics.measure(
            place[:, place[2] < 0.03], np.full((place[2] < 0.03).sum(), 0.005), 2000.0, container
        )
