"""Sweeps over processes that are killed at random times, stale claims, and what launchers say."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from inversion import Checkpoint, shares, sweep
from inversion.shares import share_of, share_out

# Each case writes a line when it is computed, so that none can be computed twice unseen.
SWEEP = textwrap.dedent("""
    import sys, time, jax, numpy as np
    from inversion import Checkpoint, shares, sweep
    shares.BEAT = 0.05
    folder, rank, of = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if len(sys.argv) > 4:
        jax.distributed.initialize(f"localhost:{sys.argv[4]}", of, rank)
        assert jax.process_count() == of and len(jax.devices()) == of * len(jax.local_devices())
    def slow(x):
        time.sleep(0.02)
        with open(folder + "/log", "a") as log:
            log.write(f"{int(x)} ")
        return np.sin(x)
    def function(case):
        return {"sine": jax.pure_callback(slow, jax.ShapeDtypeStruct((), np.float32), case["x"])}
    cases = {"x": np.arange(48, dtype=np.float32)}
    table = sweep(function, cases, chunk=2, checkpoint=Checkpoint(folder + "/store", "v1"), share=(rank, of))
    if table is not None:
        np.save(f"{folder}/{rank}.npy", table["sine"].values)
""")
CASES, CHUNKS = 48, 24


def start(folder, rank, of, *port):
    words = [sys.executable, "-c", SWEEP, *map(str, (folder, rank, of, *port))]
    return subprocess.Popen(words, env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])})


def computed(folder):
    return sorted(map(int, (folder / "log").read_text().split()))


@pytest.mark.parametrize("of", [2])
def test_killed_processes_lose_nothing_and_repeat_nothing(tmp_path, of):
    draw = random.Random(of)
    running = [start(tmp_path, rank, of) for rank in range(of)]
    killed = {}
    for rank in draw.sample(range(of), of - 1):
        while len(list(tmp_path.glob("store/*/chunk-*.arrays"))) < 2 + 2 * len(killed):
            time.sleep(0.01)
        time.sleep(draw.uniform(0.0, 0.1))
        running[rank].send_signal(signal.SIGKILL)
        killed[rank] = running[rank].wait()
    again = [start(tmp_path, rank, of) for rank in killed]
    assert all(process.wait() in (0, -signal.SIGKILL) for process in running)
    assert all(process.wait() == 0 for process in again)
    # Nothing is lost, and nothing repeated but the chunk, of two cases, in the hands of each that was killed.
    done, kills = computed(tmp_path), list(killed.values()).count(-signal.SIGKILL)
    assert sorted(set(done)) == list(range(CASES)) and len(done) <= CASES + 2 * kills
    assert len(list(tmp_path.glob("store/*/chunk-*.arrays"))) == CHUNKS
    # One that was started again after the others had ended returns the table too.
    tables = [np.load(path) for path in tmp_path.glob("*.npy")]
    assert tables and all(table.tobytes() == expected() for table in tables)


def expected():
    """The bits of the table, from this process alone."""

    def function(case):
        return {"sine": jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), np.float32), case["x"])}

    return sweep(function, {"x": np.arange(CASES, dtype=np.float32)}, chunk=CASES)["sine"].values.tobytes()


def test_of_two_processes_of_one_program_one_returns_the_table(tmp_path):
    """Under `jax.distributed`, where the devices of both are in `jax.devices()`."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    running = [start(tmp_path, rank, 2, port) for rank in range(2)]
    assert all(process.wait() == 0 for process in running)
    (path,) = tmp_path.glob("*.npy")
    assert computed(tmp_path) == list(range(CASES)) and np.load(path).tobytes() == expected()


def pieces(folder, names, work=lambda: None):
    """Tasks that keep a file each, and count how often they worked."""
    calls = []

    def task(name):
        if not (folder / name).exists():
            work()
            calls.append(name)
            (folder / name).write_text(name)
        return (folder / name).read_text()

    tasks = {name: lambda name=name: task(name) for name in names}
    return tasks, lambda name: (folder / name).exists(), calls


def test_a_process_takes_its_share_first_and_then_the_rest(tmp_path):
    tasks, is_done, calls = pieces(tmp_path, "abcdef")
    assert share_out(tasks, is_done, tmp_path / "claims", (1, 3)) == {name: name for name in "abcdef"}
    assert calls == ["b", "e", "c", "f", "a", "d"]
    assert [path.name[:5] for path in (tmp_path / "claims").iterdir()] == ["whole"]
    # The same call again in the same process reads everything.
    assert share_out(tasks, is_done, tmp_path / "claims", (1, 3)) is not None and len(calls) == 6


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(shares, "BEAT", 0.05)
    monkeypatch.setattr(shares, "STALE", 0.3)


def claim(folder, process, host):
    folder.mkdir(exist_ok=True)
    path = folder / "b.claim000"
    path.write_text(json.dumps({"process": process, "host": host, "time": ""}))
    return path


def gone():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize("host", [socket.gethostname(), "elsewhere"])
def test_a_stale_claim_is_taken_over(tmp_path, quick, host):
    """At once where its process is known to be gone, else when it was not renewed for a while."""
    claim(tmp_path / "claims", gone(), host)
    tasks, is_done, calls = pieces(tmp_path, "abc")
    if host == "elsewhere":
        claims = shares.Claims(tmp_path / "claims")
        assert not claims.take("b")
    assert share_out(tasks, is_done, tmp_path / "claims", (0, 1)) is not None
    assert calls == (["a", "b", "c"] if host != "elsewhere" else ["a", "c", "b"])


def test_a_claim_written_in_part_is_taken_over(tmp_path, quick):
    claim(tmp_path / "claims", gone(), "elsewhere").write_text("{")
    tasks, is_done, calls = pieces(tmp_path, "abc")
    assert share_out(tasks, is_done, tmp_path / "claims", (0, 1)) is not None and calls == ["a", "c", "b"]


def test_a_task_of_a_living_process_is_left_to_it(tmp_path, quick):
    path = claim(tmp_path / "claims", 1, "elsewhere")
    other = shares.Claims(tmp_path / "claims")  # renews it, as the process would
    other.mine.add(path)
    tasks, is_done, calls = pieces(tmp_path, "abc")
    assert share_out(tasks, is_done, tmp_path / "claims", (0, 2)) is None and calls == ["a", "c"]
    other.mine.clear()


def test_a_failed_task_gives_its_claim_back(tmp_path):
    def fail():
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        share_out({"a": fail}, lambda name: False, tmp_path, (0, 1))
    assert not list(tmp_path.iterdir())


LAUNCHED = [
    ({"SLURM_PROCID": "3", "SLURM_NTASKS": "16"}, (3, 16)),
    ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, (1, 4)),
    ({"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "10", "SLURM_ARRAY_TASK_MIN": "1"}, (6, 10)),
    (
        {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_PROCID": "2", "SLURM_NTASKS": "4"},
        (6, 12),
    ),
]


@pytest.mark.parametrize(("variables", "share"), LAUNCHED)
def test_launchers_say_the_share(variables, share, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("SLURM_", "OMPI_"))]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert share_of("auto") == share


def test_bad_shares_are_refused(monkeypatch, tmp_path):
    assert share_of("3/16") == (3, 16)
    for text in ("16/16", "3", "-1/2", "a/b", "0/0", "1/2/3"):
        with pytest.raises(ValueError, match="share"):
            share_of(text)
    for name in [name for name in os.environ if name.startswith(("SLURM_", "OMPI_"))]:
        monkeypatch.delenv(name)
    with pytest.raises(ValueError, match="none of SLURM_ARRAY_TASK_ID"):
        share_of("auto")
    with pytest.raises(ValueError, match="give a checkpoint"):
        sweep(lambda case: case, {"x": np.zeros(2)}, share=(0, 2))
    with pytest.raises(ValueError, match="ranks of 2 processes"):
        sweep(lambda case: {"y": case["x"]}, {"x": np.zeros(2)}, checkpoint=Checkpoint(tmp_path, 1), share=(2, 2))
