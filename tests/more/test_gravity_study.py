"""The mesh of the gravity study: a wrong unit is seen, and 67P has its density."""

import numpy as np
import pytest
import trimesh

from difsim.mesh import load
from experiments.gravity.run import GravityStudy, density_of


def comet_in(tmp_path, unit):
    """A ball with the volume of 67P, 18.75 km3, as a file in that unit."""
    radius = (18.75 / (4 / 3 * np.pi)) ** (1 / 3)
    trimesh.creation.icosphere(4, radius * (1 if unit == "km" else 1000)).export(tmp_path / "comet.obj")
    return tmp_path / "comet.obj"


@pytest.mark.parametrize("stage", ["tables", "packed"])
@pytest.mark.parametrize(("unit", "other"), [("m", "km"), ("km", "m")])
def test_a_wrong_unit_is_seen_by_the_density(tmp_path, unit, other, stage):
    """It asked for terabytes of memory. 533 kg/m3 are 533e-9 for a mesh in m that is read in km."""
    study = GravityStudy(mesh=comet_in(tmp_path, unit), unit=other, stage=stage, out=tmp_path / "out", points=11)
    implied = "5.3\\de-07" if unit == "m" else "5.3\\de\\+11"
    with pytest.raises(
        ValueError, match=f"imply {implied} kg/m3, which must be .*: if the mesh is in {unit}, give --unit {unit}"
    ):
        study.run()


def test_the_density_of_67p(tmp_path):
    shape = load(comet_in(tmp_path, "km"), "km")
    assert density_of(666.2, shape, "km") == pytest.approx(532.3, rel=5e-3)
    with pytest.raises(ValueError, match=r"imply 0.05.* must be in .* give the GM of this body"):
        density_of(0.0666, shape, "km")
    with pytest.warns(UserWarning, match=r"imply 53.* is implausible, 200 to 8000 kg/m³ is usual"):
        density_of(66.62, shape, "km")
