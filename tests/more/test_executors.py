"""Executors of threads and of a real cluster of two processes, one of which is killed."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Ignore, dynamics, gravity, shape, simulate
from inversion import Checkpoint, Tempered, map_batched, sample, sweep
from inversion.executors import Sent, open_executor
from inversion.prior_runs import PriorRuns
from inversion.sweeps import compute_parts
from tests import toys
from tests.conftest import PROGRAMS

HEIGHTS = {"height": np.linspace(0.5, 2.0, 11)}


def bounce(case):
    """A ball that bounces for so long that its end keeps every rounding."""
    model = dynamics.Bouncer(gravity.Uniform((0, 0, -1.0)), shape.Plane((0, 0, 0), (0, 0, 1)), 0.8)
    start = dynamics.PointState(jnp.stack([0.0, 0.0, case["height"]]))
    run = simulate(model, start, [0.0, 5.0], throw=False, trust=Ignore())
    return {"end": run.last.position, "status": run.status}


def have_equal_bytes(one, other):
    return all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in zip(one, other, strict=True))


@pytest.fixture
def threads():
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("distributed", reason="difsim[cluster] is not there")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(PROGRAMS))
        with open_executor("local:2") as executor:
            yield executor


EXECUTORS = ["threads", "cluster"]


@pytest.mark.parametrize("name", EXECUTORS)
def test_an_executor_gives_the_bits_of_one_process(name, request, tmp_path):
    executor, alone = request.getfixturevalue(name), sweep(bounce, HEIGHTS, chunk=2)
    store = Checkpoint(tmp_path, "bounces")
    found = sweep(bounce, HEIGHTS, chunk=2, checkpoint=store, executor=executor)
    assert have_equal_bytes([found["end"], found["status"]], [alone["end"], alone["status"]])
    assert have_equal_bytes(
        [map_batched(bounce, HEIGHTS, executor=executor)["end"]], [map_batched(bounce, HEIGHTS)["end"]]
    )
    assert len(list(store.folder.glob("chunk-*.arrays"))) == 6
    problem, settings = toys.linear(), {"key": jax.random.PRNGKey(0), "effective_size": 2, "limit": 300}
    one, other = (
        sample(problem, method=Tempered(64, 4), executor=by, **settings).draws for by in (None, executor)
    )
    assert have_equal_bytes(one.values(), other.values())
    runs = [PriorRuns.simulate(problem, jax.random.PRNGKey(1), 40, executor=by) for by in (None, executor)]
    assert have_equal_bytes(*(run.predictions.values() for run in runs)) and len(runs[0].statuses) == 40


def test_a_failed_part_ends_the_work_and_finished_ones_are_kept(tmp_path):
    store, calls = Checkpoint(tmp_path, "parts"), []

    def part(name, fails):
        calls.append(name)
        if name == fails:
            raise ArithmeticError(name)
        time.sleep(0.05)
        return {"x": np.arange(3)}

    def run(fails):
        with ThreadPoolExecutor(1) as executor:
            return compute_parts({n: lambda n=n: part(n, fails) for n in "abcdefgh"}, store, executor)

    with pytest.raises(ArithmeticError, match="b"):
        run("b")
    assert "a" in store and "h" not in calls
    before = list(calls)
    assert list(run(None)) == list("abcdefgh")
    assert "a" not in calls[len(before) :] and "b" in calls[len(before) :]


class Heavy:
    """A function that counts how often it is sent."""

    sent = 0

    def __call__(self, x):
        return {"twice": np.asarray(2 * x)}

    def __reduce__(self):
        Heavy.sent += 1
        return Heavy, ()


def test_a_cluster_gets_a_function_for_all_tasks(cluster):
    """Each of the tasks would hold its fields and shapes, until memory is exhausted."""
    heavy = Sent(Heavy())
    for _ in range(2):
        parts = compute_parts({str(i): partial(heavy, i) for i in range(9)}, executor=cluster)
        assert [part["twice"].item() for part in parts.values()] == list(range(0, 18, 2))
    assert Heavy.sent <= 2  # not 18


def test_a_killed_worker_is_replaced(cluster, tmp_path):
    def slow(x):
        time.sleep(0.1)
        with open(tmp_path / "log", "a") as log:
            log.write(f"{int(x)} ")
        return np.sin(x)

    def function(case):
        return {"sine": jax.pure_callback(slow, jax.ShapeDtypeStruct((), np.float64), case["x"])}

    store, victim = Checkpoint(tmp_path / "store", "v1"), cluster.submit(os.getpid).result()

    def kill():
        while len(list(store.folder.glob("chunk-*.arrays"))) < 3:
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    x = np.arange(40.0)
    found = sweep(function, {"x": x}, chunk=2, checkpoint=store, executor=cluster)
    killer.join()
    assert found["sine"].values.tobytes() == np.sin(x).tobytes()
    assert sorted(set(map(int, (tmp_path / "log").read_text().split()))) == list(range(40))


def test_a_running_scheduler_is_found_by_its_address(cluster):
    address = cluster.submit(worker_address).result()
    with open_executor(address) as executor:
        assert executor.submit(settings).result() == (True, 1)


def worker_address():
    from distributed import get_worker

    return get_worker().scheduler.address


def settings():
    return jax.config.jax_enable_x64, len(jax.local_devices())
