"""What stands in the way of a result is named, and nothing that was finished is lost or half there."""

import errno
import os
import shutil
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from experiments.data_files import CopyData
from experiments.harness import Found, Study
from inversion import Checkpoint


def fall(options, out):
    kept = Checkpoint(out / "toy_checkpoint", "a fall")
    time = float(kept.get_or("piece", lambda: {"time": np.float64(0.5)})["time"])
    result = xr.Dataset({"time": ((), time, {"units": "s"})})
    return Found({"time_s": time}, {"result": result}, {"picture": Figure(figsize=(2, 1))})


@dataclass
class Toy(Study):
    """A stone that falls."""

    stage: Literal["fall"] = "fall"
    stages: ClassVar = {"fall": fall}


@pytest.mark.parametrize("write", [lambda out: Toy(out=out).run(), lambda out: CopyData(to=out).run()])
def test_a_full_disk_is_told_with_the_file(write, tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError) as refused:
        write(tmp_path)
    assert refused.value.filename.startswith(str(tmp_path)) and refused.value.errno == errno.ENOSPC
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name not in (".lock", "log.txt")]


def test_a_run_killed_at_its_end_leaves_no_half_checkpoint(tmp_path, monkeypatch):
    """It removed the checkpoint file by file, and the next run refused the rest as damaged."""

    class Killed(BaseException):
        pass

    def kill(folder):
        next(path for path in folder.rglob("*") if path.is_file()).unlink()
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", kill)
        with pytest.raises(Killed):
            Toy(out=tmp_path).run()
    assert not (tmp_path / "toy_checkpoint").exists() and list(tmp_path.glob(".part-*"))
    Toy(out=tmp_path).run()
    assert not list(tmp_path.rglob(".part-*"))
