"""Beds: sizes and coarse ones, containers, figures of known packings, settling, what a file keeps."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.beds import BedSpecification, BoxContainer, CylindricalContainer, GaussianSizes
from difsim.beds.loose import scatter_spheres
from difsim.dem import HertzMindlin
from difsim.saving.marks import digest

LAW = HertzMindlin(4e6, 0.25, restitution=0.3, friction=0.5)

SIZES = GaussianSizes(0.018, 0.003)

RECIPE = BedSpecification(LAW, SIZES, 1500.0, CylindricalContainer(0.11), 0.1, seed=3)


@pytest.fixture(scope="module")
def settled_bed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beds")
    return RECIPE.bed(folder), folder


def test_a_bed_rests(settled_bed):
    bed, _ = settled_bed
    place, radius = np.asarray(bed.state.position), np.asarray(bed.grains.radius)
    assert radius.size == RECIPE.count
    assert 0.5 < bed.figures.solid_fraction < 0.66  # between loose and random close packing
    assert 3.5 < bed.figures.coordination < 6.5  # isostatic with friction: 4; without: 6
    assert 0.09 < bed.figures.height < 0.13
    speed = np.sqrt((np.asarray(bed.state.velocity) ** 2).sum(axis=0))
    assert speed.max() < 0.02 * np.sqrt(9.81 * 0.018)
    gaps = np.linalg.norm(place[:, :, None] - place[:, None], axis=0) - radius[:, None] - radius
    assert -0.02 * 0.018 < gaps[~np.eye(radius.size, dtype=bool)].min() < 0


def test_a_bed_is_kept_by_what_made_it(settled_bed):
    bed, folder = settled_bed
    (file,) = folder.glob("*/*")
    written, looks = file.stat().st_mtime_ns, []
    again = RECIPE.bed(folder, watch=looks.append)
    assert not looks and file.stat().st_mtime_ns == written
    jax.tree.map(np.testing.assert_array_equal, again, bed)
    others = (
        eqx.tree_at(lambda r: r.law.friction, RECIPE, 0.4 * jnp.ones(())),
        eqx.tree_at(lambda r: r.gravity, RECIPE, 9.0 * jnp.ones(())),
        BedSpecification(LAW, SIZES, 1500.0, CylindricalContainer(0.11), 0.1, seed=4),
        BedSpecification(LAW, SIZES, 1500.0, BoxContainer((0.11, 0.11)), 0.1, seed=3),
    )
    assert len({digest(recipe) for recipe in (RECIPE, *others)}) == 5


@pytest.mark.parametrize("container", [BoxContainer((0.1, 0.2)), CylindricalContainer(0.15)], ids=["bin", "drum"])
def test_grains_begin_apart_and_inside(container):
    radius = SIZES.radii(60, 0)
    place = scatter_spheres(radius, container, 0)
    gaps = np.linalg.norm(place[:, :, None] - place[:, None], axis=0) - radius[:, None] - radius
    assert gaps[~np.eye(60, dtype=bool)].min() >= 0
    assert (container.from_sides(place) >= radius).all() and (place[2] >= radius).all()
    sides = np.abs(place[:2]) + radius
    assert (sides.max(axis=1) <= np.asarray(container.half_size)).all()
    with pytest.raises(ValueError, match="do not fit"):
        scatter_spheres(radius[:20], CylindricalContainer(0.02), 0)
