"""Beds: sizes and coarse ones, containers, figures of known packings, settling, what a file keeps."""

import numpy as np
import pytest

from difsim.beds import BedSpecification, CylindricalContainer, GaussianSizes
from difsim.dem import HertzMindlin

LAW = HertzMindlin(4e6, 0.25, restitution=0.3, friction=0.5)

SIZES = GaussianSizes(0.018, 0.003)


class Settles(Exception):
    pass


def refuse(gravity, unrest):
    raise Settles


def test_an_interrupted_bed_goes_on_and_rests_in_low_gravity(tmp_path):
    """Philae's comet: the bed springs up as gravity falls, by little, and rests again."""
    recipe = BedSpecification(LAW, SIZES, 1500.0, CylindricalContainer(0.11), 0.1, gravity=1e-3, seed=3)
    with pytest.raises(Settles):
        recipe.bed(tmp_path, watch=refuse)
    (file,) = tmp_path.glob("*/*")
    looks = []
    bed = recipe.bed(tmp_path, watch=lambda *look: looks.append(look))
    assert [file] == list(tmp_path.glob("*/*"))
    gravities = np.unique([gravity for gravity, _ in looks])
    np.testing.assert_allclose(gravities, np.geomspace(1e-3, 9.81, 5))
    assert looks[-1][1] < 1e-6 and float(bed.grains.gravity[2]) == -1e-3
    assert 0.5 < bed.figures.solid_fraction < 0.66 and bed.figures.coordination > 3.5
