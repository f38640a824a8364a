"""The reduced law calibrated by grains: design, factor of a throw, the table and its reader, the new unknown."""

import json

import pytest

from experiments.foot import calibrate, calibration, footpads
from experiments.foot.calibration import read
from experiments.foot.run import FootStudy
from experiments.foot.soils import THICKNESSES, ground_of
from experiments.foot.throws import law_fall
from tests.more.test_calibration import (
    table_calibration,  # noqa: F401  # of fixtures
)


@pytest.fixture
def soles_among_grains(monkeypatch, tmp_path):
    """Of the soles of a study the first three of one bed are thrown among grains; the law stops all the others.

    To pour seven beds and throw 57 soles takes 25 minutes.
    """
    pour, throw, among_grains = footpads.pour_bed, footpads.path_of, []
    bed = (footpads.GRAINS, THICKNESSES[0], 0.48, 0)  # the first of the drum of --quick

    def fake_throw(one, first, until):
        if one.grains == bed and len(among_grains) < 3:
            among_grains.append(one.key)
            return throw(one, first, until)
        way, speed = law_fall(one.speed, one.load, ground_of(one.soil, one.soil.thickness))
        falls = speed > until * one.speed
        told = {"time": way, "penetration": way - 1e-3, "speed": speed}  # its time is not judged
        return {name: x[falls] for name, x in told.items()} | {
            "thickness": one.soil.thickness,
            "unrest": 0.0,
            "steps": 1,
        }

    monkeypatch.setattr(footpads, "pour_bed", lambda *grains: pour(*grains) if grains == bed else None)
    monkeypatch.setattr(footpads, "path_of", fake_throw)
    monkeypatch.setattr(calibrate, "CACHE", tmp_path)
    monkeypatch.setattr("experiments.beds.CACHE", tmp_path)
    return among_grains


def test_a_quick_study_goes_on_and_writes_its_table(tmp_path, monkeypatch, soles_among_grains):
    options = FootStudy(stage="calibrate", quick=True, out=tmp_path / "out")
    options.run()
    known = read(tmp_path / "out" / calibration.TABLE.name)
    assert known.inertia > 0 and known.sigma > 0
    assert (tmp_path / "out" / "factors.png").stat().st_size > 10_000
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    for row in summary["throws"]:
        assert row["lost"] > 0 and row["way"] > 0 and row["unrest"] < 0.01
    assert len(soles_among_grains) == 3 and sum(row["unrest"] > 0 for row in summary["throws"]) >= 3
    # Nothing is thrown again.
    monkeypatch.setattr(footpads, "path_of", lambda *_: pytest.fail("thrown again"))
    options.run()
