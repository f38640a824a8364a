"""The harness of the studies: a study is added by its folder alone, and everything of its run comes with it."""

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, get_args, get_type_hints

import matplotlib.image
import pytest
import xarray as xr

import experiments
from experiments.commands import TOOLS, find_studies
from experiments.harness import Found, Study, write
from experiments.report import format_value, label, remedies, tables_of
from experiments.variables import describe, find_undescribed
from inversion.sweeps import compute_parts
from tests.results import assert_described

TOY = '''
from dataclasses import dataclass
from pathlib import Path
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
    ground: Path | None = None
    """A file that is read."""

    def __post_init__(self):
        if self.height <= 0:
            raise ValueError(f"--height {self.height} m must be positive")


def fall(options, out):
    (out / "run.checkpoint").mkdir()
    result = xr.Dataset({"time": ((), (options.height / 4.905) ** 0.5, {"units": "s"})})
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([0, 1])
    return Found({"time_s": float(result["time"])}, {"result": result}, {"fall": figure})


Toy.stages = {"fall": fall, "rest": lambda options, out: Found({"time_s": float("nan")})}
'''
# The commands of these tests, one after the other in a process: its imports take as long as all the tests.
COMMANDS = {
    "help": ["--help"],
    "fall": ["--height", "4.905", "--quick", "--ground", "ground.obj"],
    "all": ["--stage", "all", "--out", "out", "--keep-checkpoint", "--quiet"],
    "bad": ["--height", "-1"],
}
COMMAND = """
import contextlib, io, json, sys, traceback
import experiments
experiments.__path__.append(sys.argv[1])
from experiments.__main__ import main

def run(options):
    sys.argv[1:] = ["toy", *options]
    said, code = io.StringIO(), 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except Exception:
            code = traceback.format_exc()
    return code, said.getvalue()

commands = json.loads(sys.argv[2])
print(json.dumps({name: run(options) for name, options in commands.items()}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def finished_commands(folder):
    """How the commands end with one more study, in a folder outside of the package: status, and all they say."""
    (folder / "studies" / "toy").mkdir(parents=True)
    (folder / "studies" / "toy" / "__init__.py").touch()
    (folder / "studies" / "toy" / "run.py").write_text(TOY)
    (folder / "studies" / "toy" / "report.md.j2").write_text(
        "## How long?\n\nFor {{ time_s }} s.\n{{ tables('time_s') }}"
    )
    (folder / "ground.obj").write_text("v 0 0 0")
    words = [sys.executable, "-c", COMMAND, str(folder / "studies"), json.dumps(COMMANDS)]
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": os.getcwd()}
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_study_is_added_by_its_folder_alone(finished_commands, folder):
    assert finished_commands["help"][0] == 0 and "A stone that falls." in finished_commands["help"][1]
    assert finished_commands["fall"][0] == 0, finished_commands["fall"]
    out = folder / "results" / "toy" / "fall"
    assert {path.name for path in out.iterdir()} == {
        ".lock",
        "summary.json",
        "result.nc",
        "fall.png",
        "report.html",
        "inputs",
        "log.txt",
    }
    assert (out / "log.txt").read_text() == finished_commands["fall"][1]
    assert [path.read_text() for path in (out / "inputs").iterdir()] == ["v 0 0 0"]
    summary = json.loads((out / "summary.json").read_text())
    assert summary["time_s"] == 1.0 and summary["stage"] == "fall" and summary["quick"]
    assert "toy --height 4.905 --quick" in summary["command"] and summary["options"]["height"] == 4.905
    result = xr.load_dataset(out / "result.nc", engine="h5netcdf")
    assert_described(summary, result)
    assert summary["inputs"] == {"ground.obj": hashlib.sha256(b"v 0 0 0").hexdigest()}
    assert result["time"].attrs == {"units": "s", "long_name": "time"}
    assert matplotlib.image.imread(out / "fall.png").shape[:2] == (150, 300)  # in the style of all pictures


def test_help_names_each_command_and_imports_no_library(folder):
    code = """
import sys
from experiments.__main__ import main
for word in ("--version", "--help", "--cite"):
    sys.argv[1:] = [word]
    main()
print(sorted({"numpy", "jax", "tyro", "difsim", "rich"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, *lines, imported = done.stdout.splitlines()
    assert version.startswith("difsim 0.") and imported == "[]"
    assert "\n".join(lines).endswith(Path("CITATION.cff").read_text(encoding="utf-8").rstrip())
    for name, command in (find_studies(experiments) | TOOLS).items():
        (line,) = (line for line in lines if line.startswith(f"  {name} "))
        assert line.split()[1] == command.load().__doc__.split()[0]


def test_all_stages_write_into_folders_of_their_own(finished_commands, folder):
    assert finished_commands["all"] == [0, ""]
    assert "time, s 0.6386" in (folder / "out" / "fall" / "log.txt").read_text()
    assert {path.name for path in (folder / "out").iterdir()} == {"fall", "rest"}
    assert json.loads((folder / "out" / "rest" / "summary.json").read_text())["time_s"] is None  # no NaN in JSON
    assert (folder / "out" / "fall" / "run.checkpoint").is_dir()


def test_a_bad_option_is_one_line(finished_commands):
    status, said = finished_commands["bad"]
    assert status != 0 and "--height -1.0 m must be positive" in f"{said}{status}"


@dataclass
class Many(Study):
    """Runs that a cluster computes."""

    stage: Literal["many", "one"] = "many"
    cluster_stages = ("many",)
    stages: ClassVar = dict.fromkeys(
        ("many", "one"), lambda options, out: Found({"made": list(compute_parts(TASKS, None, options.executor))})
    )


def test_every_stage_of_every_study_can_be_chosen():
    studies = {name: command.load() for name, command in find_studies(experiments).items()}
    assert {"agilkia", "benchmark", "cliff", "hopper"} <= set(studies)
    for name, study in studies.items():
        chosen = get_args(get_type_hints(study)["stage"])
        assert set(study.stages) | {"all"} == set(chosen) | {"all"}, name


def test_a_report_is_one_file_that_says_all(finished_commands, folder):
    assert finished_commands["fall"][0] == 0, finished_commands["fall"]
    text = (folder / "results" / "toy" / "fall" / "report.html").read_text()
    for said in (
        "<h1>difsim toy, fall</h1>",
        "<h2>How long?</h2>",
        "For 1.0 s.",
        "smoke test",
        "time, s",
        "SHA-256",
        'lang="en"',
    ):
        assert said in text, said
    (picture,) = re.findall(r"<img [^>]*>", text)
    assert 'src="data:image/png;base64,' in picture and re.search(r'alt="[^"]*"', picture)
    assert not re.findall(r'(?:src|href)="(?!data:)', text) and "<script" not in text  # nothing is loaded
    result = (folder / "results" / "toy" / "fall" / "result.nc").read_bytes()
    assert hashlib.sha256(result).hexdigest() in text


def test_variables_say_what_they_are():
    bare = xr.Dataset({"place": (("time", "axis"), [[0.0, 1.0]]), "contacts": 3, "name": "x"})
    assert find_undescribed(bare) == [
        *("place has no long_name", "place has no units", "place has no frame"),
        *("contacts has no long_name", "contacts has no units", "name has no long_name"),
    ]
    whole = describe(bare, "inertial", {"place": "m"}, {"contacts": "number of contacts"})
    assert find_undescribed(whole) == [] and "place has no units" in find_undescribed(describe(bare, "inertial"))
    assert whole["place"].attrs == {"long_name": "place", "units": "m", "frame": "inertial"}
    assert whole["contacts"].attrs == {"long_name": "number of contacts", "units": "1"}


def test_a_tree_of_datasets_is_described_in_all_its_groups(tmp_path):
    tree = xr.DataTree.from_dict({"column_0": xr.Dataset({"front": ((), 2.0, {"units": "m"})})})
    about = {"stage": "many", "commit": "none", "options": {"quick": True}}
    write(tmp_path, Found({}, {"result": tree}), about, Many)
    with xr.open_datatree(tmp_path / "result.nc", engine="h5netcdf") as read:
        assert read.attrs == {"stage": "many", "commit": "none", "options": '{"quick": true}'}
        assert read["column_0/front"].attrs == {"units": "m", "long_name": "front"}
    assert not tree["column_0/front"].attrs.get("long_name")  # the study's own is as it was


TASKS = dict.fromkeys(("run0", "run1"), dict)


def test_a_stage_has_the_executor_of_its_cluster(tmp_path, capsys, monkeypatch):
    given = []

    @contextmanager
    def pool(cluster):
        given.append(cluster)
        with ThreadPoolExecutor(2) as executor:
            yield executor

    monkeypatch.setattr("experiments.harness.open_executor", pool)
    Many(out=tmp_path, cluster="local:2").run()
    assert given == ["local:2"]
    assert json.loads((tmp_path / "summary.json").read_text())["made"] == ["run0", "run1"]
    with pytest.raises(ValueError, match=r"--cluster is for the stages \['many'\], not 'one'"):
        Many(out=tmp_path, stage="one", cluster="local:2").run()


def list_rows(table):
    return [list(table.columns), *table.to_numpy().tolist()]


def test_a_summary_becomes_tables():
    laws = {"hard": {"e": 0.5, "to": {"a": 1, "b": 2}}, "soft": {"e": 0.25, "to": {"a": 3, "b": 4}}}
    tables = tables_of(
        {"mass_kg": 2.0, "status": "OK", "laws": laws, "rows": [[1, 2]], "none": {}, "one": {"k": {"a": 1}}}
    )
    assert {title: list_rows(table) for title, table in tables.items()} == {
        "numbers": [["", "value"], ["mass, kg", "2"], ["status", "OK"]],
        "laws": [["", "e", "to: a", "to: b"], ["hard", "0.5", "1", "2"], ["soft", "0.25", "3", "4"]],
        "rows": [["", "1"], ["1", "1"], ["2", "2"]],
        "one": [["", "a"], ["k", "1"]],
    }
    wide = tables_of({"runs": {"a": dict.fromkeys("rstuvwxyz", 1), "b": dict.fromkeys("rstuvwxyz", 2)}})["runs"]
    assert list_rows(wide)[:2] == [["", "a", "b"], ["r", "1", "2"]]
    assert label("rebound_speed_m_s") == "rebound speed, m/s" and label("m") == "m"
    cells = {-1.25e-7: "−1.25 × 10^−7", 0.84519: "0.8452", 3: "3", True: "yes", None: "–", float("inf"): "–"}
    assert {value: format_value(value) for value in cells} == cells
    assert format_value(list(range(7))) == "7 numbers, 0 to 6"


def test_a_status_comes_with_its_remedy():
    said = remedies({"runs": [{"status": "UNSETTLED"}, {"status": "OK"}], "statuses": {"LEFT": 2, "STEP": 1}})
    assert [each.split(":")[0] for each in said] == ["UNSETTLED", "LEFT"]
    assert all(each.count(": ") == 2 for each in said)  # name, event, remedy


def test_both_ends_of_an_interval_are_in_one_cell():
    row = {"median": 2.0, "lo95": 1.0, "hi95": 3.5, "verdict": "fixed"}
    (frame,) = tables_of({"unknowns": {"speed": row, "mass": row | {"lo95": None, "hi95": None}}}).values()
    assert list(frame.columns) == ["", "median", "95 %", "verdict"]
    assert list(frame["95 %"]) == ["1 to 3.5", "–"]
