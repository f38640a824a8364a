"""A ball in grains: until when derivatives agree, the stages whole, bad options."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from difsim.beds.settling import Settling
from experiments.beds import settle
from experiments.intruder.run import IntruderStudy
from experiments.intruder.scene import harden, recipe
from tests.results import assert_described


@pytest.mark.parametrize(
    "stage", ["derivatives", "published", "codes", "katsuragi", "soil", "friction", "exponents", "descent"]
)
def test_a_stage_writes_its_numbers_and_its_picture(stage, tmp_path):
    IntruderStudy(stage=stage, out=tmp_path, quick=True).run()
    found = xr.load_dataset(tmp_path / "result.nc", engine="h5netcdf")
    assert (tmp_path / f"{stage}.png").stat().st_size > 1e4
    assert_described(json.loads((tmp_path / "summary.json").read_text()), found)
    assert "<h2>" in (tmp_path / "report.html").read_text()
    if stage == "derivatives":
        # So early one path says all.
        np.testing.assert_allclose(found["forward"], found["difference"].sel(step=1e-5), rtol=1e-4, atol=1e-9)
        apart = np.abs(found["smoothed"] - found["pathwise"])
        assert (apart <= 4 * np.hypot(found["smoothed_error"], found["pathwise_error"])).all()
    elif stage == "published":
        assert (found["depth"] > 0).all() and (found["fall"] > found["depth"]).all()
    elif stage == "codes":
        assert (found["height"][:, 0, 0] > found["height"][:, 0].min("time")).all()
    elif stage in ("katsuragi", "soil"):
        assert (found["length"] > 0).all() and (found["stop"] > 0).all()
    elif stage == "exponents":
        assert np.isfinite(found["depth"]).sum() >= 4 and (found["duration"].dropna("throw") > 0).all()
    elif stage == "friction":
        assert np.isfinite(found["found"]).all() and (found["sigma"] > 0).all()
    else:
        assert np.isfinite(found["descent"]).all() and np.isfinite(found["history"]).all()


def test_a_hardened_bed_is_at_rest():
    """Contacts that are fifty times as stiff all at once would throw its grains up at 0.2 m/s."""
    bed = settle(recipe())
    law = replace(bed.grains.law, modulus=50 * bed.grains.law.modulus)
    hard = harden(bed, law, law)
    run = Settling.from_loose(hard.grains, hard.state, 1.0)
    run.advance(5e-3)
    np.testing.assert_allclose(run.state.position[2].mean(), bed.state.position[2].mean(), rtol=0.015)
    assert np.sqrt(np.mean(np.sum(run.state.velocity**2, axis=0))) < 0.02
