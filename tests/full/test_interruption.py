"""Signals end a command with one line, lose nothing that was finished, and the next run goes on from it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

STUDY = '''
from dataclasses import dataclass
from typing import Literal

import jax
import numpy as np

from experiments.harness import Found, Study
from inversion import Checkpoint


def busy(options, out):
    """Ten pieces, after the third of which compiled code would run for hours."""
    kept = Checkpoint(out / "toy_checkpoint", options.seed)
    total = 0.0
    for i in range(10):
        made = []
        def piece():
            made.append(i)
            if i == 3 and not (out / "go").exists():
                (out / "here").touch()
                grow = jax.jit(lambda x: jax.lax.fori_loop(0, 10**12, lambda _, y: y * 1.0000001, x))
                jax.block_until_ready(grow(1.0))
            return {"value": np.sqrt(np.float64(i))}
        total += float(kept.get_or(f"piece-{i}", piece)["value"])
        print("made" if made else "kept", i, flush=True)
    return Found({"total": total})


@dataclass
class Toy(Study):
    """A toy."""

    stage: Literal["busy"] = "busy"
    seed: int = 0
    stages = {"busy": busy}
'''
RUN = "import toys; from experiments import __main__ as m; m.experiments = toys; m.main()"


@pytest.fixture
def command(tmp_path):
    """A function that starts `difsim toy` in a process of its own."""
    folder = tmp_path / "toys" / "toy"
    folder.mkdir(parents=True)
    (folder / "run.py").write_text(STUDY)
    for each in (folder, folder.parent):
        (each / "__init__.py").touch()
    path = os.pathsep.join([str(tmp_path), os.getcwd(), os.environ.get("PYTHONPATH", "")])

    def start():
        return subprocess.Popen(
            [sys.executable, "-c", RUN, "toy", "--out", str(tmp_path / "out")],
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def test_a_signal_in_compiled_code_ends_the_command(command, tmp_path):
    """By each signal in turn; during the first run a second one is refused."""
    out = tmp_path / "out"
    (out / "toy_checkpoint").mkdir(parents=True)
    unfinished = out / "toy_checkpoint" / ".part-0123456789ab-piece-9.arrays"
    unfinished.touch()  # of a process that was killed
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        run = command()
        wait_for(out / "here", run)
        if number == signal.SIGINT:
            _, error = command().communicate(timeout=60)
            assert error.startswith(f"difsim: {out} is in use") and "another --out" in error
        run.send_signal(number)
        said, error = run.communicate(timeout=30)  # the loop would run for hours
        assert run.returncode == -number and not error
        assert said.split("\n")[1:-1] == [f"{'made' if number == signal.SIGINT else 'kept'} {i}" for i in range(3)]
        assert "the same command goes on from what is finished" in said
        (out / "here").unlink()
        assert not unfinished.exists()
    (out / "go").touch()
    said, error = command().communicate(timeout=60)
    assert "kept 2\nmade 3" in said and "kept 3" not in said, error
    assert json.loads((out / "summary.json").read_text())["total"] == sum(i**0.5 for i in range(10))
    assert not list(out.glob("*checkpoint"))
