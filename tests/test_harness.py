"""The harness of the studies: a study is added by its folder alone, and everything of its run comes with it."""

import json
import os
import subprocess
import sys
from typing import get_args, get_type_hints

import matplotlib.image
import pytest
import xarray as xr

import experiments
from experiments.harness import find_studies

TOY = '''
from dataclasses import dataclass
from typing import Literal

import xarray as xr
from matplotlib.figure import Figure

from experiments.harness import Found, Study


@dataclass
class Toy(Study):
    """A stone that falls."""

    stage: Literal["fall", "rest", "all"] = "fall"
    height: float = 2.0
    """m."""

    def __post_init__(self):
        if self.height <= 0:
            raise ValueError(f"--height {self.height} m must be positive")


def fall(options, out):
    (out / "run.checkpoint").mkdir()
    result = xr.Dataset({"time": ((), (options.height / 4.905) ** 0.5, {"unit": "s"})})
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([0, 1])
    return Found({"time_s": float(result["time"])}, {"result": result}, {"fall": figure})


Toy.stages = {"fall": fall, "rest": lambda options, out: Found({"time_s": float("nan")})}
'''
COMMAND = """
import sys
import experiments
experiments.__path__.append(sys.argv.pop(1))
from experiments.__main__ import main
main()
"""


@pytest.fixture
def command(tmp_path):
    """The command with one more study, in a folder outside of the package."""
    (tmp_path / "studies" / "toy").mkdir(parents=True)
    (tmp_path / "studies" / "toy" / "__init__.py").touch()
    (tmp_path / "studies" / "toy" / "run.py").write_text(TOY)
    words = [sys.executable, "-c", COMMAND, str(tmp_path / "studies"), "toy"]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": os.getcwd()}

    def run(*options):
        whole = [*words, *map(str, options)]
        return subprocess.run(whole, capture_output=True, text=True, cwd=tmp_path, env=environment)

    return run


def test_a_study_is_added_by_its_folder_alone(command, tmp_path):
    assert "A stone that falls." in command("--help").stdout
    ended = command("--height", 4.905, "--quick")
    assert ended.returncode == 0, ended.stderr
    out = tmp_path / "results" / "toy" / "fall"
    assert {path.name for path in out.iterdir()} == {"summary.json", "result.nc", "fall.png"}
    summary = json.loads((out / "summary.json").read_text())
    assert summary["time_s"] == 1.0 and summary["stage"] == "fall" and summary["quick"]
    assert summary["command"].endswith("toy --height 4.905 --quick") and summary["options"]["height"] == 4.905
    assert {"created", "machine", "version", "commit", "wall_seconds"} <= set(summary)
    attributes = xr.load_dataset(out / "result.nc", engine="h5netcdf").attrs
    assert attributes["commit"] == summary["commit"] and json.loads(attributes["options"]) == summary["options"]
    assert matplotlib.image.imread(out / "fall.png").shape[:2] == (150, 300)  # in the style of all pictures


def test_all_stages_write_into_folders_of_their_own(command, tmp_path):
    assert command("--stage", "all", "--out", tmp_path / "out", "--keep-checkpoint").returncode == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"fall", "rest"}
    assert json.loads((tmp_path / "out" / "rest" / "summary.json").read_text())["time_s"] is None  # no NaN in JSON
    assert (tmp_path / "out" / "fall" / "run.checkpoint").is_dir()


def test_a_bad_option_is_one_line(command):
    ended = command("--height", -1)
    assert ended.returncode != 0 and "--height -1.0 m must be positive" in ended.stderr + ended.stdout


def test_every_stage_of_every_study_can_be_chosen():
    studies = find_studies(experiments)
    assert {"agilkia", "benchmark", "cliff", "hopper"} <= set(studies)
    for name, study in studies.items():
        chosen = get_args(get_type_hints(study)["stage"])
        assert set(study.stages) | {"all"} == set(chosen) | {"all"}, name
