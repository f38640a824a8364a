"""Beds: sizes and coarse ones, containers, figures of known packings, settling, what a file keeps."""

import pytest

from difsim.beds import BedSpecification, CylindricalContainer
from tests.more.test_beds import LAW, SIZES


class Settles(Exception):
    pass


def refuse_to_rest(share):
    if share > 0.2:  # the fall is the first of six parts
        raise Settles


def test_an_interrupted_bed_goes_on_and_rests_in_low_gravity(tmp_path):
    """Philae's comet: the bed springs up as gravity falls, by little, and rests again."""
    recipe = BedSpecification(LAW, SIZES, 1500.0, CylindricalContainer(0.11), 0.1, gravity=1e-3, seed=3)
    with pytest.raises(Settles):
        recipe.bed(tmp_path, watch=refuse_to_rest)
    (file,) = tmp_path.glob("*/*")
    looks = []
    bed = recipe.bed(tmp_path, watch=looks.append)
    assert [file] == list(tmp_path.glob("*/*"))
    assert looks == sorted(looks) and looks[0] < 0.4 and looks[-1] == 1.0
    assert {round(look, 9) for look in looks} >= {round(i / 6, 9) for i in range(2, 7)}  # rest under each gravity
    assert float(bed.grains.gravity[2]) == -1e-3
    assert 0.5 < bed.figures.solid_fraction < 0.66 and bed.figures.coordination > 3.5
