"""A folder of results holds what it takes to repeat it, and says what differs."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pytest
import xarray as xr

import experiments
from experiments import rerun
from experiments.commands import Command, find_studies
from experiments.harness import Found, Study
from experiments.rerun import Compare, Rerun, compare

FACTORS = {"of the machine": 1.0}


def fall(options, out):
    height = float(options.ground.read_text()) * FACTORS["of the machine"] * sum(options.speeds)
    result = xr.Dataset({"time": ("case", np.array([height, np.nan, 1.0]), {"units": "s"})})
    return Found({"height_m": height, "search_seconds": np.random.default_rng().random()}, {"result": result})


@dataclass
class Toy(Study):
    """A stone that falls."""

    stage: Literal["fall"] = "fall"
    ground: Path | None = None
    speeds: tuple[float, ...] = (1.0, 2.0)
    stages: ClassVar = {"fall": fall}


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """A folder of results by a ground of 3 m, in a world in which that study is installed."""
    monkeypatch.setattr(rerun, "find_studies", lambda package: {Toy.name(): Command(__name__, "Toy")})
    monkeypatch.setitem(FACTORS, "of the machine", 1.0)
    ground = tmp_path / "ground.txt"
    ground.write_text("3.0")
    Toy(ground=ground, speeds=(1.0, 3.0), out=tmp_path / "out").run()
    return tmp_path / "out"


@pytest.mark.parametrize("fate", ["stays", "is gone", "has changed"])
def test_a_rerun_reads_what_was_read_and_is_bit_equal(ran, fate, capsys):
    ground = ran.parent / "ground.txt"
    if fate != "stays":
        ground.unlink() if fate == "is gone" else ground.write_text("4.0")
    Rerun(folder=ran).run()
    assert "all numbers are the same to the last bit" in capsys.readouterr().out
    again = json.loads((ran.parent / "out-rerun" / "summary.json").read_text())
    assert again["height_m"] == 12.0 and again["options"]["speeds"] == [1.0, 3.0]
    assert compare(ran, ran.parent / "out-rerun") == {}


def test_differences_are_named_to_the_last_bit(ran, monkeypatch, capsys):
    monkeypatch.setitem(FACTORS, "of the machine", 1.0 + 2e-16)
    Rerun(folder=ran, out=ran.parent / "new").run()
    found = compare(ran, ran.parent / "new")
    assert found.keys() == {"summary.json: height_m", "result.nc: time"}
    assert found["summary.json: height_m"] == ("12.0", "12.000000000000004")
    assert found["result.nc: time"] == ("1 of 3 differ, first 12.0", "12.000000000000004")
    Compare(folder=ran, other=ran.parent / "new").run()
    assert capsys.readouterr().out.count("2 entries differ:") == 2


def test_another_input_or_a_missing_file_is_a_difference(ran):
    other = ran.parent / "other"
    ground = ran.parent / "more.txt"
    ground.write_text("3.00")
    Toy(ground=ground, speeds=(1.0, 3.0), out=other).run()
    assert compare(ran, other).keys() == {"summary.json: inputs.0"}
    (other / "result.nc").unlink()
    assert compare(ran, other)["result.nc: time"] == ("float64 (3,)", "nothing")


@pytest.mark.parametrize("name", sorted(find_studies(experiments)))
def test_the_options_of_each_study_survive_their_file(name, tmp_path):
    kind = find_studies(experiments)[name].load()
    needed = {"gravity": {"mesh": Path(__file__)}, "benchmark": {"stage": next(iter(kind.stages))}}
    study = kind(out=tmp_path, **needed.get(name, {}))
    stage = study.stage if study.stage in study.stages else next(iter(study.stages))
    record = json.loads(json.dumps({"study": name, "stage": stage} | study.provenance()))
    again = rerun.restore(record, tmp_path, tmp_path)
    assert vars(again) | {"stage": study.stage} == vars(study)
