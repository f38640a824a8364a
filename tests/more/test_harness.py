"""The harness of the studies: a study is added by its folder alone, and everything of its run comes with it."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import get_args, get_type_hints

import matplotlib.image
import pytest
import xarray as xr

import experiments
import experiments.heartbeat
from experiments.geometry import surface
from experiments.harness import Found, Study, find_studies, write
from experiments.page import page
from experiments.report import Report, Table, label, shown, tables_of
from experiments.variables import BODY, described, undescribed
from tests.results import assert_described

TOY = '''
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import xarray as xr
from matplotlib.figure import Figure

from experiments.harness import Found, Study
from experiments.report import Report


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
    return Found({"time_s": float(result["time"])}, {"result": result}, {"fall": figure}, report=words)


def words(found):
    return Report("How long does it fall?", [f"It falls for {found['time_s']} s, < 1 h."], limits=["No air."])


Toy.stages = {"fall": fall, "rest": lambda options, out: Found({"time_s": float("nan")})}
'''
# The commands of these tests, one after the other in a process: its imports take as long as all the tests.
COMMANDS = {
    "help": ["--help"],
    "fall": ["--height", "4.905", "--quick", "--ground", "ground.obj"],
    "all": ["--stage", "all", "--out", "out", "--keep-checkpoint"],
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
def ended(folder):
    """How the commands end with one more study, in a folder outside of the package: status, and all they say."""
    (folder / "studies" / "toy").mkdir(parents=True)
    (folder / "studies" / "toy" / "__init__.py").touch()
    (folder / "studies" / "toy" / "run.py").write_text(TOY)
    (folder / "ground.obj").write_text("v 0 0 0")
    words = [sys.executable, "-c", COMMAND, str(folder / "studies"), json.dumps(COMMANDS)]
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": os.getcwd()}
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_study_is_added_by_its_folder_alone(ended, folder):
    assert ended["help"][0] == 0 and "A stone that falls." in ended["help"][1]
    assert ended["fall"][0] == 0, ended["fall"]
    out = folder / "results" / "toy" / "fall"
    assert {path.name for path in out.iterdir()} == {"summary.json", "result.nc", "fall.png", "report.html"}
    summary = json.loads((out / "summary.json").read_text())
    assert summary["time_s"] == 1.0 and summary["stage"] == "fall" and summary["quick"]
    assert "toy --height 4.905 --quick" in summary["command"] and summary["options"]["height"] == 4.905
    result = xr.load_dataset(out / "result.nc", engine="h5netcdf")
    assert_described(summary, result)
    assert summary["inputs"] == {"ground.obj": hashlib.sha256(b"v 0 0 0").hexdigest()}
    assert result["time"].attrs == {"units": "s", "long_name": "time"}
    assert matplotlib.image.imread(out / "fall.png").shape[:2] == (150, 300)  # in the style of all pictures


def test_all_stages_write_into_folders_of_their_own(ended, folder):
    assert ended["all"][0] == 0, ended["all"]
    assert {path.name for path in (folder / "out").iterdir()} == {"fall", "rest"}
    assert json.loads((folder / "out" / "rest" / "summary.json").read_text())["time_s"] is None  # no NaN in JSON
    assert (folder / "out" / "fall" / "run.checkpoint").is_dir()


def test_a_bad_option_is_one_line(ended):
    status, said = ended["bad"]
    assert status != 0 and "--height -1.0 m must be positive" in f"{said}{status}"


@dataclass
class Many(Study):
    """Runs that processes share."""

    stage: str = "many"
    count: int = 3
    command = "many"
    shared_stages = ("many",)


CALLS = []


def many(options, out):
    def task(name):
        CALLS.append(name)
        return name

    made = options.shared({f"run{i}": partial(task, f"run{i}") for i in range(options.count)}, out)
    return made and Found({"made": list(made.values())})


Many.stages = {"many": many, "one": many}


def test_a_stage_is_shared_by_processes(tmp_path, capsys):
    def names():
        return {path.name for path in tmp_path.iterdir()}

    CALLS.clear()
    Many(out=tmp_path, share="1/2").run()  # alone: it does all, its own first, and writes
    assert CALLS == ["run1", "run0", "run2", "run0", "run1", "run2"]
    assert names() == {"summary.json", "report.html", "shared.checkpoint"}
    assert json.loads((tmp_path / "summary.json").read_text())["made"] == ["run0", "run1", "run2"]
    with pytest.raises(ValueError, match=r"stages that can be shared are \['many'\], not 'one'"):
        Many(out=tmp_path, stage="one", share="0/2").run()
    Many(out=tmp_path).run()
    assert "shared.checkpoint" not in names()


def test_what_is_left_to_another_process_is_not_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("experiments.harness.share_out", lambda *_: None)
    Many(out=tmp_path, share="0/2").run()
    assert not (tmp_path / "summary.json").exists()
    assert "the last of the processes that share" in capsys.readouterr().out


def test_every_shared_stage_is_a_stage():
    shared = {
        name: study.shared_stages for name, study in find_studies(experiments).items() if study.shared_stages
    }
    assert {"hopper", "cobbles", "column", "sampling", "foot"} == set(shared)
    for name, stages in shared.items():
        assert set(stages) <= set(find_studies(experiments)[name].stages), name


def test_every_stage_of_every_study_can_be_chosen():
    studies = find_studies(experiments)
    assert {"agilkia", "benchmark", "cliff", "hopper"} <= set(studies)
    for name, study in studies.items():
        chosen = get_args(get_type_hints(study)["stage"])
        assert set(study.stages) | {"all"} == set(chosen) | {"all"}, name


def test_a_report_is_one_file_that_says_all(ended, folder):
    assert ended["fall"][0] == 0, ended["fall"]
    text = (folder / "results" / "toy" / "fall" / "report.html").read_text()
    for said in (
        "How long does it fall?",
        "It falls for 1.0 s, &lt; 1 h.",
        "No air.",
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


def test_a_summary_becomes_tables():
    summary = {"mass_kg": 2.0, "status": "OK", "laws": {"hard": {"e": 0.5}, "soft": {"e": 0.25}}, "rows": [[1, 2]]}
    assert tables_of(summary) == [
        Table("numbers", [{"": "mass, kg", "value": 2.0}, {"": "status", "value": "OK"}]),
        Table("laws", [{"": "hard", "e": 0.5}, {"": "soft", "e": 0.25}]),
        Table("rows", [{"": 1, "1": 1, "2": 2}]),
    ]
    assert label("rebound_speed_m_s") == "rebound speed, m/s" and label("m") == "m"
    cells = {-1.25e-7: "−1.25 × 10^−7", 0.84519: "0.8452", 3: "3", True: "yes", None: "–", float("inf"): "–"}
    assert {value: shown(value) for value in cells} == cells
    assert shown(list(range(7))) == "7 numbers, 0 to 6"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3.881e-27, "m", "0"),
        (3.919e-239, "J", "0"),
        (-3e-300, "N", "0"),
        (2e-9, "m", "2 × 10^−9"),
        (-2e-12, "J", "−2 × 10^−12"),
        (3.881e-27, "kg", "3.881 × 10^−27"),
        (3.881e-27, "", "3.881 × 10^−27"),
        ([0.24, 3e-13, -2e-10], "m", "0.24, 0, 0"),
    ],
)
def test_numbers_below_their_resolution_are_zero(value, unit, text):
    assert shown(value, unit) == text


def test_a_page_finds_the_unit_of_each_number(tmp_path):
    """By the column's heading, the row's own, or a column of units; probabilities and masses have no resolution."""
    rows = [{"": "a", "depth, m": 3e-27, "p": 3e-27}, {"": "b", "depth, m": 0.24, "p": 0.5}]
    tables = [
        Table("columns", rows),
        Table("rows", [{"": "friction, J", "value": 7e-99}]),
        Table("units", [{"": "spin", "simulated": 5e-40, "unit": "rad/s"}]),
        Table("energy at the end, J", [{"": "ground", "J": 6e-50}]),
    ]
    text = page("toy", "", Report(tables=tables), {"penetration_m": [8e-33, 0.1], "mass_kg": 1e-20}, {}, {}, [])
    cells = re.findall(r"<td[^>]*>([^<]*)(?:<sup>([^<]*)</sup>)?</td>", text)
    numbers = ["".join(cell) for cell in cells]
    assert numbers == ["0", "3 × 10−27", "0.24", "0.5", "0", "0", "rad/s", "0", "0, 0.1", "1 × 10−20"]
    assert "below 1e-9 of their unit" in text


def test_vertices_of_a_body_and_its_spin_are_in_its_frame():
    data = xr.Dataset(
        {
            "place": (("time", "axis"), [[0.0, 1.0]]),
            "spin": (("time", "axis"), [[0.0, 1.0]]),
            "corners": (("vertex", "axis"), [[0.0, 1.0]], surface("faces", moves="place")),
            "ground": (("vertex", "axis"), [[0.0, 1.0]], surface("faces")),
        }
    )
    found = described(data, "inertial", frames={"spin": BODY})
    frames = {name: found[name].attrs["frame"] for name in data}
    assert frames == {"place": "inertial", "spin": BODY, "corners": BODY, "ground": "inertial"}


def test_variables_say_what_they_are():
    bare = xr.Dataset({"place": (("time", "axis"), [[0.0, 1.0]]), "contacts": 3, "name": "x"})
    assert undescribed(bare) == [
        *("place has no long_name", "place has no units", "place has no frame"),
        *("contacts has no long_name", "contacts has no units", "name has no long_name"),
    ]
    whole = described(bare, "inertial", {"place": "m"}, {"contacts": "number of contacts"})
    assert undescribed(whole) == [] and "place has no units" in undescribed(described(bare, "inertial"))
    assert whole["place"].attrs == {"long_name": "place", "units": "m", "frame": "inertial"}
    assert whole["contacts"].attrs == {"long_name": "number of contacts", "units": "1"}


def test_a_tree_of_datasets_is_described_in_all_its_groups(tmp_path):
    tree = xr.DataTree.from_dict({"column_0": xr.Dataset({"front": ((), 2.0, {"units": "m"})})})
    write(tmp_path, Found({"rows": [1]}, {"result": tree}), {"commit": "none", "options": {"quick": True}})
    with xr.open_datatree(tmp_path / "result.nc", engine="h5netcdf") as read:
        assert read.attrs == {"commit": "none", "options": '{"quick": true}'}
        assert read["column_0/front"].attrs == {"units": "m", "long_name": "front"}
    assert not tree["column_0/front"].attrs.get("long_name")  # the study's own is as it was


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_silent_command_shows_its_time(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(experiments.heartbeat, "SILENT", 0.0)
    with experiments.heartbeat.heartbeat("difsim toy"):
        while "difsim toy" not in terminal.getvalue():
            time.sleep(0.01)
        sys.stdout.write("a result\n")
    # The line of the time is erased before the result comes; afterwards it may come again, and is erased too.
    assert re.search(r"difsim toy: \d+ s\r\x1b\[Ka result\n", terminal.getvalue())
    assert terminal.getvalue().endswith(("a result\n", "\r\x1b[K"))
