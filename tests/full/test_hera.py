"""A small run of the forecast of landings, and its score."""

import json

import numpy as np
import pytest

from experiments.hera.ensemble import FATES
from experiments.hera.run import Hera


def test_the_study_makes_a_forecast_that_can_be_scored(tmp_path):
    Hera(quick=True, out=tmp_path / "land").run()
    found = json.loads((tmp_path / "land" / "summary.json").read_text())
    for lander in found["landers"].values():
        fates = lander["forecast"]["fate"]
        assert list(fates) == list(FATES) and sum(row["value"] for row in fates.values()) == pytest.approx(1)
        assert lander["shares_of_runs"]["not finite"] == 0
    outcome = tmp_path / "outcome.toml"
    outcome.write_text('lander = "juventas"\nfate = "rest"\nbounces = 1\n')
    Hera(score=outcome, stamp=tmp_path / "land" / "summary.json", out=tmp_path / "score").run()
    scored = json.loads((tmp_path / "score" / "summary.json").read_text())
    assert set(scored["log_scores"]) == {"fate", "bounces"} and np.isfinite(scored["gain_nats"])
    with pytest.raises(ValueError, match="lander"):
        outcome.write_text('lander = "philae"\nfate = "rest"\n')
        Hera(score=outcome, stamp=tmp_path / "land" / "summary.json", out=tmp_path / "score").run()
