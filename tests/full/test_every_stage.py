"""Each stage of each study, and the command of a tutorial, run by themselves with --quick and leave a report."""

import json
import re
from pathlib import Path

import pytest
import trimesh

import experiments
from experiments.agilkia.run import Agilkia
from experiments.commands import find_studies
from experiments.data_files import data_folder

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "lander.py"

WITHOUT = {"benchmark", "soak"}  # have tests of their own
# Need what other runs have left, or a mesh of 67P, or what has happened.
NOT_ALONE = {("agilkia", "pictures"), ("agilkia", "assumptions"), ("agilkia", "joint"), ("validation", "pages")}
NOT_ALONE |= {("hera", "score")}

STUDIES = {name: study.load() for name, study in find_studies(experiments).items() if name not in WITHOUT}
STAGES = [
    (name, stage) for name, study in STUDIES.items() for stage in study.stages if (name, stage) not in NOT_ALONE
]


@pytest.mark.parametrize(("name", "stage"), STAGES, ids=["-".join(each) for each in STAGES])
def test_a_stage_runs_by_itself_and_leaves_a_report(name, stage, tmp_path, capsys):
    given = {}
    if name == "gravity":
        given["mesh"] = tmp_path / "body.obj"
        trimesh.creation.icosphere(2, 2.0).export(given["mesh"])
    if stage == "packings":
        given["case"] = data_folder() / "cases" / "tag.toml"
    STUDIES[name](stage=stage, quick=True, out=tmp_path, **given).run()
    written = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.json")]
    summaries = [found for found in written if found.get("stage") == stage]
    assert summaries and all(found["quick"] for found in summaries)
    assert [
        path for path in tmp_path.glob("*.html") if path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    ]
    assert f"written to {tmp_path}" in capsys.readouterr().out


@pytest.mark.parametrize("ground", ["grains", "soil"])
def test_a_ground_that_is_simulated_is_fitted(ground, tmp_path, capsys):
    case = data_folder() / "cases" / f"ball_in_{ground}.toml"
    STUDIES["contact"](case=case, quick=True, out=tmp_path).run()
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["runs"] == {"of the ground": 6, "failed": 0} and summary["explains_data"]
    assert "The ground was simulated in 6 runs" in capsys.readouterr().out


def test_a_lander_whose_ground_has_no_choices(tmp_path, capsys):
    """The lander of the tutorial: four legs, a known friction, no boulder."""
    tutorial = TUTORIAL.read_text(encoding="utf-8")
    lander, readings = tmp_path / "lander.toml", tmp_path / "readings.toml"
    lander.write_text(re.search(r'write_text\("""\n(.*?)"""\)', tutorial, re.DOTALL)[1], encoding="utf-8")
    # As that ground gives them, but for a tenth of an error.
    rows = {"rebound_speed": (0.03, 1e-2), "penetration_deepest": (0.043, 4e-3)}
    observed = [
        f'[observables.{k}]\nvalue = {v}\nsigma = {s}\nsource = "simulated"\n' for k, (v, s) in rows.items()
    ]
    start = "[initial]\nspin_rad_per_s = 0.01\nflywheel_N_m_s = 0.0\nrundown_s = 1.0\nhorizon_s = 5.0\n"
    readings.write_text('name = "mine"\n' + start + "\n".join(observed), encoding="utf-8")
    Agilkia(lander=lander, observations=readings, quick=True, out=tmp_path / "out").run()
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["scenario"] == "no boulder" and summary["branch"]["leaves"] == 1
    assert summary["branch"]["is_in_posterior"] and summary["branch"]["bound_gap"] == 0.0
    said = capsys.readouterr().out
    assert "In the touchdown that fits best there is no boulder" in said
    # The body is its file's: nothing of 67P is flown, and Philae is named in the head of the command alone.
    assert "Four legs on small asteroid: gravity (0, 0, -0.0001) m/s2" in said and "Philae" not in said
    assert summary["gravity_m_s2"] == [0.0, 0.0, -1e-4] and "chain" not in summary
    assert not (tmp_path / "out" / "contacts.png").exists()
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count("Philae") == 1 and "Four legs on small asteroid" in page
