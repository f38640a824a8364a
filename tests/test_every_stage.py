"""Each stage of each study runs by itself, from nothing, with --quick, and leaves a report and results."""

import json

import pytest
import trimesh

import experiments
from experiments.harness import find_studies

WITHOUT = {"benchmark", "soak"}  # have tests of their own
AFTER_OTHERS = {("agilkia", "pictures"), ("validation", "pages")}  # need what other runs have left

STUDIES = {name: study for name, study in find_studies(experiments).items() if name not in WITHOUT}
STAGES = [
    (name, stage) for name, study in STUDIES.items() for stage in study.stages if (name, stage) not in AFTER_OTHERS
]


def test_all_studies_have_stages():
    assert {"agilkia", "cliff", "cobbles", "column", "foot", "gravity", "hopper", "intruder", "sampling"} <= set(
        STUDIES
    )
    assert all(study.stages for study in STUDIES.values()) and len(STAGES) > 25


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stage"), STAGES, ids=["-".join(each) for each in STAGES])
def test_a_stage_runs_by_itself_and_leaves_a_report(name, stage, tmp_path, capsys):
    given = {}
    if name == "gravity":
        given["mesh"] = tmp_path / "body.obj"
        trimesh.creation.icosphere(2, 2.0).export(given["mesh"])
    STUDIES[name](stage=stage, quick=True, out=tmp_path, **given).run()
    summaries = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.json")]
    assert summaries and all(found["quick"] and found["stage"] == stage for found in summaries)
    assert [
        path for path in tmp_path.glob("*.html") if path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    ]
    assert f"written to {tmp_path}" in capsys.readouterr().out
