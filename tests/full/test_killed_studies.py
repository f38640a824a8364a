"""Studies that are interrupted again and again keep what is finished, and end as if they had not been interrupted.

A study gets one signal of each kind here. This gives it twenty of each, and tells how it went:

    DIFSIM_KILLS=20 python -m pytest tests/full/test_killed_studies.py -k foot -o log_cli=true --log-cli-level=INFO
"""

import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path

import pytest
import xarray

LOG = logging.getLogger(__name__)
SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGKILL
EACH = int(os.environ.get("DIFSIM_KILLS", "1"))
SOONEST = 0.5  # s after the start: before that Python itself starts
WARM = 40.0  # s that a start may run at most: the next one goes on from there
AT_ONCE = 2.0  # s from a signal to the end
# What differs between equal runs; the last one is in seconds.
OF_THE_RUN = {"created", "wall_seconds", "command", "options", "commit", "inputs", "search_seconds"}


class Victim:
    """A study and its folder. **Arguments:** `words` of the command line; `folder`."""

    def __init__(self, words: list[str], folder: Path):
        self.command = [sys.executable, "-m", "experiments", *words, "--out", str(folder)]
        self.folder, self.errors = folder, folder.with_suffix(".errors")
        # The flags of the tests compile sooner and run slower, and a study keeps what is set.
        self.environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}

    def run(self, number: int | None = None, after: float | None = None) -> tuple[int, float, str]:
        """Start it, and send a signal after so many seconds. **Returns:** its status, the seconds from the signal to
        its end, and what it wrote as errors."""
        with self.errors.open("w+") as errors:
            process = subprocess.Popen(
                self.command, stdout=subprocess.DEVNULL, stderr=errors, env=self.environment
            )
            sent = time.monotonic()  # or, without a signal, when it began
            try:
                process.wait(timeout=after)
            except subprocess.TimeoutExpired:
                sent = time.monotonic()
                process.send_signal(number)
            process.wait()
            errors.seek(0)
            return process.returncode, time.monotonic() - sent, errors.read()


def kill(victim: Victim, signals: list[int], longest: float, chosen: random.Random):
    """Interrupt a study by these signals, one a start, at random times up to the `longest` s that a run takes.

    A run that ends before its signal is another whole one: the next begins in an empty folder.

    **Returns:** how often each status came, the longest time from a signal to the end, and the results of whole runs.
    """
    ended, slowest, whole = Counter(), 0.0, []
    signals = signals[::-1]
    while signals:
        status, seconds, told = victim.run(signals[-1], chosen.uniform(SOONEST, longest))
        assert "Traceback" not in told, told
        ended[status] += 1
        LOG.info(
            "status %d, %.1f s after the signal or the start; %d signals are left", status, seconds, len(signals)
        )
        if status == 0:
            longest = min(longest, seconds)
            whole.append(results(victim.folder))
            shutil.rmtree(victim.folder)
            continue
        number = signals.pop()
        assert status == -number, told
        slowest = max(slowest, seconds)
        require_whole_files(victim.folder)
    status, _, told = victim.run()
    assert status == 0, told
    return ended, slowest, [*whole, results(victim.folder)]


def require_whole_files(folder: Path) -> None:
    """Each file under its final name can be read."""
    for path in folder.rglob("*"):
        if not path.is_file() or path.name.startswith(".part-"):
            continue
        content = path.read_bytes()
        if path.suffix == ".arrays":
            assert zipfile.ZipFile(path).testzip() is None, path
        elif path.suffix == ".json":
            json.loads(content)
        elif path.suffix == ".nc":
            xarray.open_datatree(path, engine="h5netcdf").close()
        elif path.suffix == ".png":
            assert content.endswith(b"IEND\xaeB`\x82"), path
        elif path.suffix == ".html":
            assert content.rstrip().endswith(b"</html>"), path


def results(folder: Path) -> dict:
    """What the files of a study say, but for what differs between equal runs."""
    said = {}
    for path in sorted(folder.rglob("*.json")):
        said[path.name] = {k: v for k, v in json.loads(path.read_text()).items() if k not in OF_THE_RUN}
    for path in sorted(folder.rglob("*.nc")):
        with xarray.open_datatree(path, engine="h5netcdf") as tree:
            said[path.name] = {
                f"{node.path}/{name}": values.values.tobytes()
                for node in tree.subtree
                for name, values in node.variables.items()
            }
    return said


@pytest.mark.parametrize(
    "words",
    [
        ["column", "--quick"],
        ["sampling", "--quick", "--cases", "E0", "P0"],
        ["hopper", "--stage", "ensemble", "--quick"],
        ["cobbles", "--stage", "estimate", "--quick"],
        ["foot", "--stage", "throw", "--spacing", "0.03", "--speeds", "1.0", "0.7"],
        ["cliff", "--stage", "inverse", "--quick"],
        ["agilkia", "--quick"],
    ],
    ids=lambda words: words[0],
)
def test_a_study_killed_again_and_again_ends_as_if_not(words, tmp_path):
    status, longest, told = Victim(words, tmp_path / "whole").run()
    assert status == 0, told
    longest = min(longest, WARM)
    expected = results(tmp_path / "whole")
    chosen = random.Random(" ".join(words))
    signals = [*SIGNALS] * EACH
    chosen.shuffle(signals)
    ended, slowest, found = kill(Victim(words, tmp_path / "killed"), signals, longest, chosen)
    ends = f"statuses {dict(ended)}, at most {slowest:.1f} s to the end, {len(found)} whole runs"
    LOG.info("%s: %s", words[0], ends)
    assert slowest < AT_ONCE
    for each in found:
        assert each == expected
    assert not list((tmp_path / "killed").rglob(".part-*"))
